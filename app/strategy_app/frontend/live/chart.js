// A chart of lines over the shared axis: what lies in one pixel is drawn as its mean and its range.

import { number } from "../shared/format.js";
import { niceTicks, tickText } from "../shared/scale.js";
import { fitCanvas } from "../shared/theme.js";

const TOP = 8;
const GAP_BELOW = 20;
const SAMPLED = 2000; // values of a line that its scale is judged by
const TOWERING = 4;

export class Chart {
  constructor(canvas, { height, lines, band = null, fromZero = true }) {
    Object.assign(this, { canvas, height, lines, band, fromZero });
  }

  draw(axis, theme, boundaries) {
    const context = fitCanvas(this.canvas, axis.width, this.height);
    this.plotHeight = this.height - TOP - (this.isLast ? GAP_BELOW : 6);
    context.clearRect(0, 0, axis.width, this.height);
    context.font = `11px ${theme.font}`;
    this.fitY(axis);
    this.drawGrid(context, axis, theme);
    this.drawBoundaries(context, axis, theme, boundaries);
    axis.epochEnds.draw(context, axis, theme, TOP, TOP + this.plotHeight, this.isFirst);
    axis.leftOut.draw(context, axis, theme, TOP, TOP + this.plotHeight, this.isFirst);
    context.save();
    context.beginPath();
    context.rect(axis.left, TOP - 4, axis.width - axis.left - axis.right, this.plotHeight + 6);
    context.clip();
    if (this.band) this.drawBand(context, axis);
    for (const line of this.lines()) this.drawLine(context, axis, line);
    this.drawCursor(context, axis, theme);
    context.restore();
    this.drawPeak(context, axis, theme);
  }

  y(value) {
    return TOP + this.plotHeight * (1 - (value - this.low) / (this.high - this.low));
  }

  // One pause must not flatten everything else: what towers above nearly all is cut, and said.
  fitY(axis) {
    const values = this.sample(axis);
    const [least, most] = [values[0] ?? 0, values.at(-1) ?? 1];
    const usual = values[Math.floor((values.length - 1) * 0.985)] ?? 1;
    this.peak = this.fromZero && most > TOWERING * usual ? most : null;
    const top = this.peak === null ? most : usual * 1.5;
    const pad = (top - least || Math.abs(top) || 1) * 0.08;
    this.low = this.fromZero ? 0 : least - pad;
    this.high = top + pad;
  }

  // Values in view, in order of size. First steps of segments are traced and compiled: left out.
  sample(axis) {
    const { history, first } = axis;
    const stride = Math.max(1, Math.floor((history.length - first) / SAMPLED));
    const values = [];
    for (const line of this.lines()) {
      for (let at = first; at < history.length; at += stride) {
        const value = line.get(at);
        if (Number.isFinite(value) && !(line.skipFirst && history.isFirst(at))) values.push(value);
      }
    }
    return Float64Array.from(values).sort();
  }

  drawGrid(context, axis, theme) {
    const ticks = niceTicks(this.low, this.high, Math.max(2, this.plotHeight / 38));
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const tick of ticks) {
      const y = Math.round(this.y(tick)) + 0.5;
      context.strokeStyle = theme.border;
      context.globalAlpha = 0.7;
      strokeLine(context, axis.left, y, axis.width - axis.right, y);
      context.globalAlpha = 0.8;
      context.fillStyle = theme.text;
      context.fillText(tickText(tick, ticks), axis.left - 6, y);
    }
    context.globalAlpha = 1;
    if (this.isLast) this.drawAxis(context, axis, theme);
  }

  // Above the lines, with a rim of the ground's colour: the peaks themselves go through here.
  drawPeak(context, axis, theme) {
    if (this.peak === null) return;
    const text = `▲ peaks up to ${number(this.peak)}`;
    const [x, y] = [axis.width - axis.right - 4, TOP + 5];
    context.textAlign = "right";
    context.textBaseline = "middle";
    context.strokeStyle = theme.background;
    context.lineWidth = 5;
    context.strokeText(text, x, y);
    context.lineWidth = 1;
    context.fillStyle = theme.text;
    context.fillText(text, x, y);
  }

  drawAxis(context, axis, theme) {
    const ticks = niceTicks(axis.low, axis.high, Math.max(2, axis.width / 110));
    const unit = axis.mode === "time" ? " s" : "";
    context.textAlign = "center";
    context.textBaseline = "top";
    context.fillStyle = theme.text;
    context.globalAlpha = 0.8;
    for (const tick of ticks) {
      context.fillText(tickText(tick, ticks) + unit, axis.x(tick), TOP + this.plotHeight + 5);
    }
    context.globalAlpha = 1;
  }

  drawBoundaries(context, axis, theme, boundaries) {
    context.strokeStyle = theme.text;
    context.globalAlpha = 0.45;
    context.setLineDash([4, 3]);
    for (const boundary of boundaries) {
      const x = Math.round(axis.x(boundary.value(axis.mode))) + 0.5;
      if (x >= axis.left) strokeLine(context, x, 0, x, TOP + this.plotHeight);
    }
    context.setLineDash([]);
    context.globalAlpha = 1;
  }

  // First steps of segments stay out of a line that does not count them: a mark at the top.
  drawLine(context, axis, { get, colour, skipFirst = false, width = 1.5, alpha = 1 }) {
    const { history } = axis;
    const columns = binned(axis, skipFirst ? (at) => (history.isFirst(at) ? NaN : get(at)) : get);
    context.strokeStyle = context.fillStyle = colour;
    context.globalAlpha = 0.22 * alpha;
    for (const { x, low, high, count } of columns) {
      if (count > 1) context.fillRect(x, this.y(high), 1, Math.max(1, this.y(low) - this.y(high)));
    }
    context.globalAlpha = alpha;
    context.lineWidth = width;
    context.lineJoin = "round";
    context.beginPath();
    columns.forEach(({ at, mean, gap }, i) => {
      if (!gap) context.lineTo(at, this.y(mean));
      else context.moveTo(at, this.y(mean));
      if (gap && (columns[i + 1]?.gap ?? true)) context.arc(at, this.y(mean), 1, 0, 7); // alone
    });
    context.stroke();
    context.globalAlpha = 1;
    context.lineWidth = 1;
  }

  drawBand(context, axis) {
    // First steps are traced and compiled: as with lines, the band begins after them.
    const settled = (get) => (at) => (axis.history.isFirst(at) ? NaN : get(at));
    const lows = binned(axis, settled(this.band.low));
    const highs = binned(axis, settled(this.band.high));
    context.fillStyle = this.band.colour;
    context.globalAlpha = 0.25;
    context.beginPath();
    for (let from = 0, to = 1; from < highs.length; from = to++) {
      while (to < highs.length && !highs[to].gap) to++;
      highs.slice(from, to).forEach(({ at, mean }, i) => (i ? context.lineTo(at, this.y(mean)) : context.moveTo(at, this.y(mean))));
      lows.slice(from, to).reverse().forEach(({ at, mean }) => context.lineTo(at, this.y(mean)));
    }
    context.fill();
    context.globalAlpha = 1;
  }

  drawCursor(context, axis, theme) {
    if (axis.cursor === null) return;
    const x = axis.x(axis.value(axis.cursor));
    context.strokeStyle = theme.text;
    context.globalAlpha = 0.6;
    strokeLine(context, x, 0, x, this.height);
    context.globalAlpha = 1;
    for (const { get, colour } of this.lines()) {
      const value = get(axis.cursor);
      if (!Number.isFinite(value)) continue;
      context.fillStyle = colour;
      context.beginPath();
      context.arc(x, this.y(value), 3, 0, 7);
      context.fill();
    }
  }
}

// Per pixel column that has steps: mean, range, and whether a missing value or stretch came before.
function binned(axis, get) {
  const columns = [];
  const { history } = axis;
  let current = null;
  let gap = true;
  for (let at = axis.first; at < history.length; at++) {
    const value = get(at);
    if (!Number.isFinite(value)) {
      gap = true;
      continue;
    }
    gap ||= history.gap[at] > 0;
    const x = axis.x(axis.value(at));
    const pixel = Math.floor(x);
    if (!current || current.x !== pixel) {
      current = { x: pixel, at: x, low: value, high: value, sum: 0, count: 0, mean: value, gap };
      columns.push(current);
    }
    gap = false;
    current.low = Math.min(current.low, value);
    current.high = Math.max(current.high, value);
    current.sum += value;
    current.count += 1;
    current.mean = current.sum / current.count;
    current.at = current.count > 1 ? pixel + 0.5 : x;
  }
  return columns;
}

function strokeLine(context, x1, y1, x2, y2) {
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x2, y2);
  context.stroke();
}
