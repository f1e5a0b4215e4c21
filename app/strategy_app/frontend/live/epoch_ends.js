// The ends of epochs of Keras's fit, hatched on the charts: no step runs meanwhile.

import { drawStripes, whatFits } from "../shared/stripes.js";

export class EpochEnds {
  constructor() {
    this.clear();
  }

  clear() {
    this.ends = []; // { begin, end, text }: times in s since the run's begin
    this.steps = new Set(); // the last step of each epoch
    this.current = null; // the one that lasts
    this.isOneUnnamed = false; // whether one in sight is too narrow for its name
  }

  add({ step, begin_ms, wall_ms, text }) {
    this.steps.add(step);
    this.ends.push({ begin: begin_ms / 1000, end: (begin_ms + wall_ms) / 1000, text });
  }

  // `beganMs` is since the run's begin; null if no epoch ends at present.
  setCurrent(beganMs, lastsMs) {
    const isNone = beganMs === null || !Number.isFinite(beganMs);
    this.current = isNone ? null : { begin: beganMs / 1000, end: (beganMs + lastsMs) / 1000, text: "between epochs" };
  }

  draw(context, axis, theme, top, bottom, isNamed) {
    if (isNamed) this.isOneUnnamed = false;
    if (axis.mode !== "time") return;
    context.font = `11px ${theme.font}`;
    context.textBaseline = "middle";
    context.textAlign = "center";
    context.strokeStyle = context.fillStyle = theme.text;
    for (const { begin, end, text } of this.current ? [...this.ends, this.current] : this.ends) {
      const [x1, x2] = [Math.max(axis.x(begin), axis.left), Math.min(axis.x(end), axis.width - axis.right)];
      if (x2 - x1 < 1) continue;
      context.globalAlpha = 0.14;
      drawStripes(context, x1, x2, top, bottom);
      context.globalAlpha = 0.9;
      if (!isNamed) continue;
      const name = whatFits(text, x2 - x1 - 8);
      this.isOneUnnamed ||= !name;
      context.fillText(name, (x1 + x2) / 2, (top + bottom) / 2);
    }
    context.globalAlpha = 1;
  }
}
