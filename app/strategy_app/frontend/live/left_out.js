// Steps that the charts do not draw: those between sampled ones, and those that are still unread.

import { drawStripes, whatFits } from "../shared/stripes.js";

const UNREAD = "still being read";

export class LeftOut {
  constructor(history) {
    this.history = history;
    this.clear();
  }

  clear() {
    this.stretches = []; // [first, last]: indices of drawn steps with others between them
    this.unread = null; // the same, of what is still unread
    this.drawn = this.all = 0; // steps of the stretches
  }

  // Called once per frame, before any chart draws; `first` is the first step in sight.
  update(first) {
    this.clear();
    const { step, segment, length, ahead } = this.history;
    for (let at = first + 1; at < length; at++) {
      const distance = step[at] - step[at - 1];
      if (at === length - ahead && ahead) this.unread = [at - 1, at];
      else if (distance > 1 && segment[at] === segment[at - 1]) this.add(at, distance);
    }
  }

  add(at, distance) {
    const stretch = this.stretches.at(-1);
    if (stretch?.[1] === at - 1) stretch[1] = at;
    else this.stretches.push([at - 1, at]);
    this.drawn += 1;
    this.all += distance;
  }

  draw(context, axis, theme, top, bottom, isNamed) {
    context.strokeStyle = context.fillStyle = theme.text;
    context.globalAlpha = 0.7;
    context.lineWidth = 2;
    context.setLineDash([2, 3]);
    context.beginPath();
    for (const [from, to] of this.stretches) {
      context.moveTo(axis.x(axis.value(from)), bottom - 1);
      context.lineTo(axis.x(axis.value(to)), bottom - 1);
    }
    context.stroke();
    context.setLineDash([]);
    context.lineWidth = 1;
    if (this.unread) this.drawUnread(context, axis, theme, top, bottom, isNamed);
    context.globalAlpha = 1;
  }

  drawUnread(context, axis, theme, top, bottom, isNamed) {
    const [x1, x2] = this.unread.map((at) => axis.x(axis.value(at)));
    context.globalAlpha = 0.14;
    drawStripes(context, x1, x2, top, bottom);
    if (!isNamed) return;
    context.font = `11px ${theme.font}`;
    context.textBaseline = "middle";
    context.textAlign = "center";
    context.globalAlpha = 0.9;
    context.fillText(whatFits(UNREAD, x2 - x1 - 8), (x1 + x2) / 2, (top + bottom) / 2);
  }
}
