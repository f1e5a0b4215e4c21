// Draws the visible spans: one pass per category, so that the canvas changes colour a few times only.

import { niceTicks, tickText } from "../shared/scale.js";
import { textOn } from "../shared/colour.js";
import { drawEpochEnds } from "./epoch_ends.js";
import { drawFlows } from "./flows.js";
import { drawPath } from "./path.js";
import { drawPredicted, drawPredictedNames } from "./predicted.js";
import { drawRange } from "./range.js";
import { drawDevice, drawTick, replicaText, shortDevice } from "./text.js";
import { drawUnread } from "./unread.js";

const LABEL_FROM_PX = 44;
const CHARACTER_PX = 6.1;
const FADED = 0.12;

export function drawTimeline(context, scene) {
  const { viewport: v, theme } = scene;
  context.clearRect(0, 0, v.width, v.height);
  context.lineWidth = 1;
  drawSteps(context, scene);
  drawEpochEnds(context, scene);
  context.save();
  context.beginPath();
  context.rect(v.left, v.top - 4, v.inner, v.height);
  context.clip();
  if (scene.data) drawSpans(context, scene);
  if (scene.data) drawLinks(context, scene);
  drawUnread(context, scene);
  drawFlows(context, scene);
  drawPath(context, scene);
  drawPredicted(context, scene);
  drawMarked(context, scene);
  context.restore();
  drawRuler(context, scene);
  drawRange(context, scene);
  drawMap(context, scene);
  drawTracks(context, scene);
  drawPredictedNames(context, scene);
  context.globalAlpha = 1;
  context.fillStyle = theme.text;
}

// A collective is drawn as its wait for the last rank and its transfer, if the end of the wait is known.
function drawSpans(context, { viewport: v, data, colours, parts, names, matches, theme }) {
  const { start, duration, row, category, covered, waited, name, count } = data;
  const labels = [];
  const height = v.rowHeight - 2;
  for (let kind = 0; kind < colours.length; kind++) {
    context.fillStyle = colours[kind];
    for (let i = 0; i < count; i++) {
      const isSplit = waited[i] >= 0;
      if (isSplit ? kind !== parts.wait && kind !== parts.transfer : category[i] !== kind) continue;
      const isTransfer = isSplit && kind === parts.transfer;
      const x = v.x(start[i] + (isTransfer ? waited[i] : 0));
      const width = (isTransfer ? duration[i] - waited[i] : isSplit ? waited[i] : duration[i]) / v.perPixel;
      if (isSplit && width <= 0) continue;
      if (x > v.width || x + width < v.left) continue;
      const alpha = (matches && !matches.has(name[i]) ? FADED : 1) * (covered[i] === 255 ? 1 : 0.25 + (0.75 * covered[i]) / 255);
      if (context.globalAlpha !== alpha) context.globalAlpha = alpha;
      context.fillRect(x, v.rowTops[row[i]], Math.max(width - (width > 3 ? 0.6 : 0), 0.7), height);
      if (width > LABEL_FROM_PX && name[i] >= 0) labels.push({ i, from: x, width, kind, isWait: isSplit && !isTransfer });
    }
  }
  drawLabels(context, { v, data, colours, names, labels, theme });
}

function drawLabels(context, { v, data, colours, names, labels, theme }) {
  context.globalAlpha = 1;
  context.font = `${v.rowHeight > 14 ? 11 : 9}px ${theme.font}`;
  context.textAlign = "left";
  context.textBaseline = "middle";
  for (const { i, from, width, kind, isWait } of labels) {
    const x = Math.max(from, v.left);
    const room = from + width - x - 6;
    const [name, op] = data.names[data.name[i]] ?? ["", ""];
    const text = isWait ? "wait" : (names?.[kind] ?? (op || name));
    const fits = Math.floor(room / CHARACTER_PX);
    if (fits < 3) continue;
    context.fillStyle = textOn(colours[kind]);
    context.fillText(text.length > fits ? `${text.slice(0, fits - 1)}…` : text, x + 3, v.rowTops[data.row[i]] + (v.rowHeight - 2) / 2);
  }
}

// Each collective: a line through the starts of its ranks, so that a late one stands out.
function drawLinks(context, { viewport: v, data, theme }) {
  const visible = data.links.filter((ranks) => ranks.some(([, start, end]) => v.x(end) > v.left && v.x(start) < v.width));
  if (visible.length > v.inner / 14) return;
  context.strokeStyle = theme.text;
  context.fillStyle = theme.text;
  context.globalAlpha = 0.65;
  const middle = (row) => v.rowTops[row] + v.rowHeight / 2;
  for (const ranks of visible) {
    const ordered = [...ranks].sort((a, b) => middle(a[0]) - middle(b[0]));
    context.beginPath();
    ordered.forEach(([row, start]) => context.lineTo(v.x(start), middle(row)));
    context.stroke();
    for (const [row, start] of ordered) context.fillRect(v.x(start) - 2, middle(row) - 2, 4, 4);
  }
  context.globalAlpha = 1;
}

function drawMarked(context, { viewport: v, theme, selected, hovered, predicted }) {
  for (const [span, width] of [[hovered, 1], [selected, 2]]) {
    if (!span) continue;
    context.globalAlpha = 1;
    context.strokeStyle = theme.text;
    context.lineWidth = width;
    for (const { start, duration, top } of placesOf(span, v, predicted)) {
      context.strokeRect(v.x(start), top - 0.5, Math.max(duration / v.perPixel, 2), v.rowHeight - 1);
    }
    context.lineWidth = 1;
  }
}

// Where an op is drawn: as measured and as predicted.
function placesOf(span, v, predicted) {
  if (!span.isPredicted) {
    const measured = { ...span, top: v.rowTops[span.row] };
    const i = predicted ? predicted.indexOf(span.row, span.start) : -1;
    return i < 0 ? [measured] : [measured, { ...predicted.span(i), top: v.predictedRowTops[predicted.spans.row[i]] }];
  }
  const own = { ...span, top: v.predictedRowTops[span.row] };
  const { measuredStart: start, measuredDuration: duration, measuredRow: row } = span;
  return row === null ? [own] : [own, { start, duration, top: v.rowTops[row] }];
}

function drawSteps(context, { viewport: v, theme, steps }) {
  const fill = (x1, x2) => context.fillRect(x1, v.top - 4, x2 - x1, v.height - v.top);
  context.font = `11px ${theme.font}`;
  context.textAlign = "left";
  context.textBaseline = "middle";
  let freeFrom = v.left;
  for (let i = 0; i < steps.step.length; i++) {
    const [x1, x2] = [v.x(steps.start[i]), v.x(steps.end[i])];
    if (x2 < v.left || x1 > v.width) continue;
    const from = Math.max(x1, v.left);
    context.globalAlpha = steps.step[i] % 2 ? 0.9 : 0.45;
    context.fillStyle = theme.panel;
    fill(from, Math.min(x2, v.width));
    if (x2 - x1 > 3 && x1 >= v.left) {
      context.globalAlpha = 0.5;
      context.fillStyle = theme.text;
      context.fillRect(x1, v.top - 22, 1, v.height);
    }
    const label = `step ${steps.step[i]}`;
    if (from >= freeFrom && x2 - from > label.length * CHARACTER_PX + 6) {
      context.globalAlpha = 0.9;
      context.fillStyle = theme.text;
      context.fillText(label, from + 4, v.top - 13);
      freeFrom = from + label.length * CHARACTER_PX + 12;
    }
  }
  context.globalAlpha = 1;
}

// Below a millisecond the ticks count from a millisecond that is named at the left.
function drawRuler(context, { viewport: v, theme }) {
  const ticks = niceTicks(v.from, v.to, Math.max(2, v.inner / 130));
  const step = ticks.length > 1 ? ticks[1] - ticks[0] : v.to - v.from;
  const isFine = step < 1e6;
  const base = isFine ? Math.floor(v.from / 1e6) * 1e6 : 0;
  const [scale, unit] = isFine ? (step >= 1e3 ? [1e3, "µs"] : [1, "ns"]) : v.to >= 1e9 ? [1e9, "s"] : [1e6, "ms"];
  context.font = `11px ${theme.font}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillStyle = theme.text;
  const scaled = ticks.map((tick) => (tick - base) / scale);
  scaled.forEach((tick, i) => {
    const x = v.x(ticks[i]);
    if (x < v.left) return;
    drawTick(context, v, x, `${isFine ? "+" : ""}${tickText(tick, scaled)} ${unit}`, 30);
  });
  context.globalAlpha = 1;
  v.base = isFine ? `${(base / 1e9).toFixed(3)} s` : "";
}

// The whole run as a strip: where captures lie, and where the view is.
function drawMap(context, { viewport: v, theme, steps }) {
  const x = (ns) => v.left + (ns / v.length) * v.inner;
  context.fillStyle = theme.panel;
  context.fillRect(v.left, 4, v.inner, 14);
  context.fillStyle = theme.primary;
  context.globalAlpha = 0.6;
  for (let i = 0; i < steps.step.length; i++) {
    context.fillRect(x(steps.start[i]), 5, Math.max(x(steps.end[i]) - x(steps.start[i]), 1), 12);
  }
  context.globalAlpha = 1;
  context.strokeStyle = theme.text;
  const [x1, x2] = [Math.max(x(v.from), v.left), Math.min(x(v.to), v.width - 1)];
  context.lineWidth = 2;
  context.strokeRect(x1, 3, Math.max(x2 - x1, 3), 16);
  context.lineWidth = 1;
}

function drawTracks(context, { viewport: v, theme, tracks, replicaColour }) {
  context.clearRect(0, 0, v.left - 1, v.height);
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.fillStyle = theme.text;
  context.font = `11px ${theme.font}`;
  context.globalAlpha = 0.8;
  context.fillText("whole run", 4, 11);
  context.fillText(v.base, 4, 30);
  tracks.forEach((track, i) => {
    const top = v.trackTops[i];
    const known = track.replica !== null;
    context.globalAlpha = 1;
    if (known) {
      context.fillStyle = replicaColour(track.replica);
      context.fillRect(4, top + 3, 10, 10);
    }
    context.fillStyle = theme.text;
    context.font = `600 12px ${theme.font}`;
    context.fillText(v.isLate(track) ? `${replicaText(track)} late` : replicaText(track), known ? 19 : 4, top + 8, v.left - 24);
    context.font = `11px ${theme.font}`;
    if (!v.isLate(track) || v.left > 200) drawDevice(context, v, shortDevice(track), top, track.num_rows);
  });
  context.globalAlpha = 1;
}
