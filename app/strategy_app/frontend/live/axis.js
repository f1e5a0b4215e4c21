// The one horizontal axis and the one cursor that all charts share.

import { LeftOut } from "./left_out.js";

const LONG_FIRST_STEP = 0.2; // share of the time axis
const MOST = 0.5; // the same, of a stretch without a step

export class Axis {
  constructor(history, epochEnds) {
    Object.assign(this, { history, epochEnds, leftOut: new LeftOut(history) });
    this.mode = "time"; // or "step"
    this.span = Infinity; // seconds shown, counted back from the newest step; Infinity: all
    this.cursor = null; // index into the history
    this.left = 58;
    this.right = 10;
    this.width = 0;
    this.low = 0;
    this.high = 1;
  }

  value(at) {
    return this.mode === "time" ? this.history.start[at] / 1000 : this.history.step[at];
  }

  // Fit to the data; called once per frame, before any chart draws.
  update(width) {
    this.width = width;
    const last = this.history.length - 1;
    if (last < 0) return;
    this.high = this.value(last);
    if (this.mode === "time" && this.epochEnds.current) this.high = Math.max(this.high, this.epochEnds.current.end);
    this.first = this.firstToShow(last);
    if (Number.isFinite(this.span)) {
      const since = this.history.start[last] - this.span * 1000;
      this.first = this.indexFrom((at) => this.history.start[at], since);
    }
    this.leftOut.update(this.first);
    this.low = this.value(this.first);
    if (!(this.high > this.low)) this.high = this.low + 1;
  }

  // Without the first step of the run if it would take much of the time axis: it traces and compiles.
  // Nor does one later stretch without a step take most of the axis: it then begins after it. The end
  // of an epoch is part of the run's usual course, and what is still unread will be drawn.
  firstToShow(last) {
    if (this.mode !== "time") return 0;
    const { start, gap, step, length, ahead } = this.history;
    let first = last > 1 && start[1] - start[0] > LONG_FIRST_STEP * (start[last] - start[0]) ? 1 : 0;
    for (let at = first + 1; at < last; at++) {
      const isUsual = this.epochEnds.steps.has(step[at - 1]) || at === length - ahead;
      if (gap[at] > MOST * (start[last] - start[first]) && !isUsual) first = at;
    }
    return first;
  }

  get leavesOut() {
    return !Number.isFinite(this.span) && this.history.length > 0 && this.first > 0;
  }

  // First index whose value is at least `target` (values rise).
  indexFrom(valueOf, target) {
    let [low, high] = [0, this.history.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (valueOf(middle) < target) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  x(value) {
    const inner = this.width - this.left - this.right;
    return this.left + ((value - this.low) / (this.high - this.low)) * inner;
  }

  // Index of the step nearest to a horizontal position.
  at(x) {
    if (!this.history.length) return null;
    const inner = this.width - this.left - this.right;
    const target = this.low + ((x - this.left) / inner) * (this.high - this.low);
    const after = this.indexFrom((at) => this.value(at), target);
    if (after > this.first && target - this.value(after - 1) < this.value(after) - target) return after - 1;
    return after;
  }

  moveCursor(by) {
    const last = this.history.length - 1;
    if (last < 0) return;
    const from = this.cursor ?? (by < 0 ? last + 1 : this.first - 1);
    this.cursor = Math.min(Math.max(from + by, this.first), last);
  }
}
