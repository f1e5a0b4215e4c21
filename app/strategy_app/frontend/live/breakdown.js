// The phases of each replica's step: one stacked bar per replica, all on one scale.

import { joined, units } from "../shared/format.js";
import { textOn } from "../shared/colour.js";
import { fitCanvas } from "../shared/theme.js";

const ROW = 24;
const LABEL = 74; // at least

const rowOf = (count) => (count > 8 ? 16 : ROW);
export const heightOf = (count) => count * rowOf(count);

export class Breakdown {
  constructor(canvas, phases, colours, names, onHover) {
    Object.assign(this, { canvas, phases, colours, names, bars: [] });
    canvas.addEventListener("pointermove", (event) => onHover(this.textAt(event)));
    canvas.addEventListener("pointerleave", () => onHover(null));
  }

  // rows: [{ replica, label, parts: [ms per phase] }]; `scale` ms fill the width.
  draw(rows, scale, width, theme, replicaColour) {
    const row = rowOf(rows.length);
    const context = fitCanvas(this.canvas, width, heightOf(Math.max(rows.length, 1)));
    context.clearRect(0, 0, width, heightOf(rows.length));
    context.textBaseline = "middle";
    this.bars = [];
    context.font = `12px ${theme.font}`;
    const left = Math.max(LABEL, ...rows.map(({ label }) => context.measureText(label).width + 24));
    rows.forEach(({ label, replica, parts }, index) => {
      const middle = index * row + row / 2;
      context.font = `12px ${theme.font}`;
      context.textAlign = "left";
      context.fillStyle = replicaColour(replica);
      context.fillRect(0, middle - 5, 10, 10);
      context.fillStyle = theme.text;
      context.fillText(label, 16, middle, left - 18);
      this.drawBar(context, { label, parts, middle, row, scale, width, left, theme });
    });
  }

  drawBar(context, { label, parts, middle, row, scale, width, left, theme }) {
    let x = left;
    const perMs = (width - left) / (scale || 1);
    context.textAlign = "center";
    context.font = `600 12px ${theme.font}`;
    parts.forEach((ms, phase) => {
      if (!(ms > 0)) return;
      const length = ms * perMs;
      context.fillStyle = this.colours[this.phases[phase]];
      context.fillRect(x, middle - row / 2 + 2, Math.max(length - 0.5, 0.5), row - 4);
      this.bars.push({ x, length, top: middle - row / 2, row, text: `${label}: ${this.nameOf(phase)} ${joined(units.ms(ms))}` });
      const text = joined(units.ms(ms));
      if (row === ROW && length > context.measureText(text).width + 6) {
        context.fillStyle = textOn(this.colours[this.phases[phase]]);
        context.fillText(text, x + length / 2, middle);
      }
      x += length;
    });
  }

  nameOf(phase) {
    return this.names[this.phases[phase]] ?? this.phases[phase];
  }

  textAt({ offsetX, offsetY }) {
    const bar = this.bars.find(
      ({ x, length, top, row }) => offsetX >= x && offsetX < x + length && offsetY >= top && offsetY < top + row,
    );
    return bar ? bar.text : null;
  }
}
