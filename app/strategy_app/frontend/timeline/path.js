// The critical path of a step: bars below its ops, thin lines where the next one has not begun.

const BAR = 3;
const GAPS = new Set(["launch gap", "late start"]);

export function drawPath(context, { viewport: v, theme, path }) {
  if (!path?.length) return;
  const foot = (row) => v.rowTops[row] + v.rowHeight - 2;
  context.fillStyle = context.strokeStyle = theme.text;
  let last = null;
  for (const { row, from_ns: from, to_ns: to, kind } of path) {
    if (row === null) continue;
    const isGap = GAPS.has(kind);
    const [x1, x2, y] = [v.x(from), v.x(to), foot(row)];
    context.globalAlpha = 0.9;
    if (isGap || (last && last.row !== row)) {
      context.beginPath();
      context.setLineDash([3, 3]);
      context.moveTo(x1, last ? foot(last.row) : y);
      context.lineTo(isGap ? x2 : x1, y);
      context.stroke();
      context.setLineDash([]);
    }
    if (!isGap) context.fillRect(x1, y - BAR / 2, Math.max(x2 - x1, 1.5), BAR);
    last = { row };
  }
  context.globalAlpha = 1;
}

// Fetches the path of one step at a time; what was fetched is kept.
export class CriticalPath {
  constructor(view) {
    this.view = view;
    this.isShown = false;
    this.known = new Map();
    this.button = view.button("critical path", "Show the critical path of the step in the middle (C)", () => this.toggle());
    this.button.setAttribute("aria-pressed", "false");
  }

  toggle() {
    this.isShown = !this.isShown;
    this.button.setAttribute("aria-pressed", String(this.isShown));
    if (!this.isShown) this.draw([]);
    this.view.note.textContent = "";
    this.follow();
  }

  // Another run, or one that has grown.
  forget() {
    this.known.clear();
    this.draw([]);
  }

  // The path of the step in the middle of the view, if there is one.
  follow() {
    const { scene, viewport } = this.view;
    if (!this.isShown || !scene.steps.step.length || this.view.unread) return;
    const middle = (viewport.from + viewport.to) / 2;
    const i = Math.max(scene.steps.start.findLastIndex((begin) => begin <= middle), 0);
    const step = scene.steps.step[i];
    if (this.step === step && this.known.has(step)) return;
    this.step = step;
    if (this.known.has(step)) this.draw(this.known.get(step));
    else this.fetch(step);
  }

  async fetch(step) {
    const { view } = this;
    const { run } = view;
    this.known.set(step, []);
    try {
      const path = await view.source.json("critical_path", { step });
      if (view.run !== run) return;
      this.known.set(step, path);
    } catch (error) {
      if (view.run === run && this.isShown) view.note.textContent = error.message;
    }
    if (this.isShown && this.step === step) this.draw(this.known.get(step));
  }

  draw(path) {
    this.view.scene.path = path;
    this.view.root.dataset.path = path.length ? String(path.length) : "";
    if (!this.isShown) this.step = null;
    this.view.redraw();
  }
}
