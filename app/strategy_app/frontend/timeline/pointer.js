// Pointer and keys on the timeline's canvas: drag selects, Shift and drag or a finger pans.

const WHEEL_ZOOM = 1.0015;
const CLICK_PX = 4;
const EDGE_PX = 5;
const SNAP_PX = 6;
const MAP_HEIGHT = 20;
const MIDDLE_BUTTON = 1;

export const KEYS = [
  [["Drag"], "Select a range of time on the tracks it crosses; its edges can be moved"],
  [["Drag in the ruler"], "Select a range of time on all tracks"],
  [["Click"], "Select an op; in the ruler, the step there"],
  [["Shift+Drag"], "Pan; also the middle button, or one finger"],
  [["Wheel"], "Zoom where the pointer is; with Shift, pan"],
  [["W", "S", "↑", "↓"], "Zoom in and out"],
  [["A", "D", "←", "→"], "Pan"],
  [["[", "]"], "Previous and next capture window"],
  [["Home"], "Whole run"],
  [["Enter"], "Select the op under the pointer, or the one in the middle"],
  [["M"], "Select the time of that op, on all tracks"],
  [["T"], "Select the step in the middle"],
  [["C"], "Show or hide the critical path of the step in the middle"],
  [["F"], "Zoom to what is selected"],
  [["N", "P"], "Next and previous search result"],
  [["Esc"], "Clear the selected range, then the selected op"],
  [["?"], "This list"],
];

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
    on("pointercancel", () => (this.drag = null));
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
    if (event.button !== 0 && event.button !== MIDDLE_BUTTON) return;
    event.preventDefault();
    this.canvas.focus({ preventScroll: true });
    this.canvas.setPointerCapture(event.pointerId);
    const { offsetX: x, offsetY: y } = event;
    const edge = this.edgeAt(x, y);
    this.drag = { kind: this.kindOf(event, edge), x, fromX: x, fromY: y, hasMoved: false };
    if (this.drag.kind === "edge") Object.assign(this.drag, { anchor: edge.other, tracks: this.view.scene.range.tracks });
    if (this.drag.kind === "select") this.drag.anchor = this.snapped(x, y);
    if (this.drag.kind === "map") this.jump(x);
  }

  kindOf(event, edge) {
    if (event.offsetY < MAP_HEIGHT) return "map";
    if (event.shiftKey || event.button === MIDDLE_BUTTON || event.pointerType === "touch") return "pan";
    return edge ? "edge" : "select";
  }

  move(event) {
    const { view, drag } = this;
    const { offsetX: x, offsetY: y } = event;
    if (!drag) {
      this.canvas.style.cursor = this.edgeAt(x, y) ? "ew-resize" : "";
      view.hover(view.prediction.spanAt(x, y) ?? view.spanAt(x, y), x, y);
      return;
    }
    drag.hasMoved ||= Math.abs(x - drag.fromX) >= CLICK_PX;
    if (drag.hasMoved && view.scene.hovered) view.hover(null);
    if (drag.kind === "map") this.jump(x);
    else if (drag.kind === "pan") view.pan((drag.x - x) * view.viewport.perPixel);
    else if (drag.hasMoved) view.mark({ ...ordered(drag.anchor, this.snapped(x, y)), tracks: drag.tracks ?? this.tracksBetween(drag.fromY, y) });
    drag.x = x;
  }

  up(event) {
    const { drag, view } = this;
    this.drag = null;
    if (!drag || drag.kind === "map") return;
    if (drag.hasMoved) {
      if (drag.kind !== "pan") view.selectRange(view.scene.range);
    } else if (event.offsetY < view.viewport.top) view.selectStep(view.viewport.ns(event.offsetX));
    else this.click(view.prediction.spanAt(event.offsetX, event.offsetY) ?? view.spanAt(event.offsetX, event.offsetY));
  }

  click(span) {
    if (!span) this.view.selectRange(null);
    this.view.select(span);
  }

  // The edge of the selected range under the pointer, by the edge that stays.
  edgeAt(x, y) {
    const { range, viewport } = this.view.scene;
    if (!range || y < MAP_HEIGHT) return null;
    if (Math.abs(viewport.x(range.from) - x) <= EDGE_PX) return { other: range.to };
    if (Math.abs(viewport.x(range.to) - x) <= EDGE_PX) return { other: range.from };
    return null;
  }

  // A time; that of a span's edge if one is near, so that distances between ops are exact.
  snapped(x, y) {
    const { viewport } = this.view;
    const at = viewport.ns(Math.max(x, viewport.left));
    const near = this.view.edgesNear(at, viewport.rowAt(y), SNAP_PX * viewport.perPixel);
    return near ?? at;
  }

  // The tracks that a drag crosses; null, for all of them, if it began in the ruler.
  tracksBetween(y1, y2) {
    const { viewport, scene } = this.view;
    if (y1 < viewport.top) return null;
    const [low, high] = y1 < y2 ? [y1, y2] : [y2, y1];
    const crossed = scene.tracks.map((_, i) => i).filter((i) => viewport.trackTops[i] <= high && viewport.trackEnd(i) > low);
    return crossed.length === scene.tracks.length || !crossed.length ? null : crossed;
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
    const current = () => view.scene.hovered ?? view.middleSpan();
    const actions = {
      ArrowLeft: () => view.pan(-span * 0.15),
      ArrowRight: () => view.pan(span * 0.15),
      ArrowUp: () => view.zoom(1 / 1.3),
      ArrowDown: () => view.zoom(1.3),
      Home: () => view.go(0, view.viewport.length),
      Escape: () => (view.scene.range ? view.selectRange(null) : view.select(null)),
      Enter: () => view.select(current()),
      "[": () => view.step(-1),
      "]": () => view.step(1),
      m: () => view.selectTimeOf(view.scene.selected ?? current()),
      t: () => view.selectStep((view.viewport.from + view.viewport.to) / 2),
      c: () => view.path.toggle(),
      f: () => view.zoomToSelected(),
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

const ordered = (a, b) => ({ from: Math.round(Math.min(a, b)), to: Math.round(Math.max(a, b)) });
