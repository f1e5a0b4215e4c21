// Pointer and keys on the timeline's canvas.

const WHEEL_ZOOM = 1.0015;
const CLICK_PX = 4;
const MAP_HEIGHT = 20;

export class Pointer {
  constructor(view) {
    this.view = view;
    this.canvas = view.canvas;
    this.drag = null;
    const on = (name, handler, options) => this.canvas.addEventListener(name, handler.bind(this), options);
    on("wheel", this.wheel, { passive: false });
    on("pointerdown", this.down);
    on("pointermove", this.move);
    on("pointerup", this.up);
    on("pointerleave", () => this.view.hover(null));
    on("keydown", this.key);
  }

  wheel(event) {
    event.preventDefault();
    const { viewport } = this.view;
    const sideways = event.shiftKey ? event.deltaY : event.deltaX;
    if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY)) this.view.pan(sideways * viewport.perPixel);
    else this.view.zoom(WHEEL_ZOOM ** event.deltaY, viewport.ns(event.offsetX));
  }

  down(event) {
    if (event.button !== 0) return;
    this.canvas.focus({ preventScroll: true });
    this.canvas.setPointerCapture(event.pointerId);
    this.drag = { x: event.offsetX, from: event.offsetX, onMap: event.offsetY < MAP_HEIGHT };
    if (this.drag.onMap) this.jump(event.offsetX);
  }

  move(event) {
    const { view, drag } = this;
    if (!drag) {
      view.hover(view.spanAt(event.offsetX, event.offsetY), event.offsetX, event.offsetY);
      return;
    }
    if (drag.onMap) this.jump(event.offsetX);
    else view.pan((drag.x - event.offsetX) * view.viewport.perPixel);
    drag.x = event.offsetX;
  }

  up(event) {
    const { drag, view } = this;
    this.drag = null;
    if (drag && !drag.onMap && Math.abs(event.offsetX - drag.from) < CLICK_PX) {
      view.select(view.spanAt(event.offsetX, event.offsetY));
    }
  }

  jump(x) {
    const { viewport } = this.view;
    const middle = ((x - viewport.left) / viewport.inner) * viewport.length;
    const half = (viewport.to - viewport.from) / 2;
    this.view.go(middle - half, middle + half);
  }

  key(event) {
    const { view } = this;
    const span = view.viewport.to - view.viewport.from;
    const actions = {
      ArrowLeft: () => view.pan(-span * 0.15),
      ArrowRight: () => view.pan(span * 0.15),
      ArrowUp: () => view.zoom(1 / 1.3),
      ArrowDown: () => view.zoom(1.3),
      Home: () => view.go(0, view.viewport.length),
      Escape: () => view.select(null),
      Enter: () => view.select(view.scene.hovered ?? view.middleSpan()),
      "[": () => view.step(-1),
      "]": () => view.step(1),
      n: () => view.search.go(1),
      p: () => view.search.go(-1),
    };
    Object.assign(actions, { a: actions.ArrowLeft, d: actions.ArrowRight, w: actions.ArrowUp, s: actions.ArrowDown });
    const action = actions[event.key] ?? actions[event.key.toLowerCase()];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
  }
}
