// A step as it would be with an edit: rows below the measured ones, on the same axis of time.

import { textOn } from "../shared/colour.js";
import { el, setText } from "../shared/dom.js";
import { fixed, number } from "../shared/format.js";
import { niceTicks, tickText } from "../shared/scale.js";
import { drawDevice, drawTick, lengthText, replicaText, shortDevice } from "./text.js";

const RULER = 22;
const SPACE = 14;
const MARGIN = 0.1;
const STRIPE = 6;
const LABEL_FROM_PX = 44;
const CHARACTER_PX = 6.1;
const FADED = 0.12;
const ROOM_FOR_ENDS = 160; // the lengths of both steps beside each other

export function drawPredicted(context, scene) {
  const { viewport: v, theme, predicted } = scene;
  if (!predicted) return;
  const [top, bottom] = [v.predictedTop, v.height];
  context.globalAlpha = 1;
  context.fillStyle = theme.background;
  context.fillRect(v.left, top, v.inner, bottom - top);
  const [from, measured, to] = [0, predicted.measured_ns, predicted.predicted_ns].map((ns) => v.x(predicted.start_ns + ns));
  context.fillStyle = theme.panel;
  context.fillRect(from, top + RULER, Math.max(measured, to) - from, bottom - top);
  drawBars(context, scene);
  drawEnd(context, v, theme, to, lengthText(predicted.predicted_ns));
  const hasRoom = Math.abs(measured - to) > ROOM_FOR_ENDS;
  if (Math.abs(measured - to) > 2) drawEnd(context, v, theme, measured, hasRoom ? `measured ${lengthText(predicted.measured_ns)}` : "", [3, 4]);
  drawStepRuler(context, v, theme, predicted);
}

// The colours of the measured rows below stripes of the ground.
function drawBars(context, { viewport: v, theme, predicted, search, phaseNames }) {
  const { texts, colours, spans } = predicted;
  const { start_ns: start, duration_ns: duration, row, category, op, name } = spans;
  const height = v.rowHeight - 2;
  const stripes = stripesOf(context, theme);
  const labels = [];
  for (let i = 0; i < row.length; i++) {
    const [x, width] = [v.x(start[i]), Math.max(duration[i] / v.perPixel, 0.7)];
    if (x > v.width || x + width < v.left) continue;
    const y = v.predictedRowTops[row[i]];
    const isMatch = [op[i], name[i]].some((code) => texts[code].toLowerCase().includes(search.text));
    context.globalAlpha = isMatch ? 1 : FADED;
    context.fillStyle = colours[category[i]];
    context.fillRect(x, y, width, height);
    if (width > 3) {
      context.fillStyle = stripes;
      context.fillRect(x + 1, y + 1, width - 2, height - 2);
    }
    const phase = texts[category[i]];
    const text = phase === "wait" ? "wait" : (phaseNames[phase] ?? (texts[op[i]] || texts[name[i]]));
    const room = Math.floor((Math.min(x + width, v.width) - Math.max(x, v.left) - 6) / CHARACTER_PX);
    if (width > LABEL_FROM_PX && room > 2) labels.push([text.length > room ? `${text.slice(0, room - 1)}…` : text, Math.max(x, v.left) + 3, y, colours[category[i]]]);
  }
  context.globalAlpha = 1;
  context.font = `${v.rowHeight > 14 ? 11 : 9}px ${theme.font}`;
  context.textAlign = "left";
  context.textBaseline = "middle";
  for (const [text, x, y, colour] of labels) {
    context.fillStyle = colour; // without stripes, to be read
    context.fillRect(x - 3, y, context.measureText(text).width + 6, height);
    context.fillStyle = textOn(colour);
    context.fillText(text, x, y + height / 2);
  }
}

function stripesOf(context, theme) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = STRIPE;
  const draw = tile.getContext("2d");
  draw.strokeStyle = theme.background;
  draw.globalAlpha = 0.6;
  draw.lineWidth = 2;
  for (const shift of [-STRIPE, 0, STRIPE]) {
    draw.beginPath();
    draw.moveTo(shift, STRIPE);
    draw.lineTo(shift + STRIPE, 0);
    draw.stroke();
  }
  return context.createPattern(tile, "repeat");
}

function drawEnd(context, v, theme, x, text, dash = []) {
  context.strokeStyle = context.fillStyle = theme.text;
  context.globalAlpha = 0.8;
  context.setLineDash(dash);
  context.beginPath();
  context.moveTo(x, v.predictedTop + RULER);
  context.lineTo(x, v.height);
  context.stroke();
  context.setLineDash([]);
  context.font = `600 11px ${theme.font}`;
  context.textAlign = "left";
  context.textBaseline = "middle";
  const width = context.measureText(text).width;
  const at = x + 4 + width > v.width ? x - 4 - width : x + 4;
  context.globalAlpha = 1;
  context.fillText(text, at, v.height - SPACE / 2);
}

// From the step's start: 0 is where both the measured and the predicted step begin.
function drawStepRuler(context, v, theme, { start_ns: start, measured_ns: measured, predicted_ns: predicted }) {
  const last = Math.max(measured, predicted);
  const ticks = niceTicks(Math.max(v.from - start, 0), Math.min(v.to - start, last), Math.max(2, v.inner / 130));
  const isFine = ticks.length > 1 && ticks[1] - ticks[0] < 1e4;
  const scaled = ticks.map((tick) => tick / (isFine ? 1e3 : 1e6));
  context.font = `11px ${theme.font}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillStyle = theme.text;
  ticks.forEach((tick, i) => {
    const x = v.x(start + tick);
    if (tick < 0 || tick > last || x < v.left) return;
    const text = `${tickText(scaled[i], scaled)} ${isFine ? "µs" : "ms"}`;
    drawTick(context, v, x, text, v.predictedTop + 8);
  });
  context.globalAlpha = 1;
}

export function drawPredictedNames(context, { viewport: v, theme, predicted, tracks, replicaColour }) {
  if (!predicted) return;
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.font = `11px ${theme.font}`;
  context.fillStyle = theme.text;
  context.globalAlpha = 0.8;
  context.fillText(`step ${predicted.step}, from 0`, 4, v.predictedTop + 8, v.left - 8);
  predicted.tracks.forEach((track, i) => {
    const top = v.predictedTrackTops[i];
    const isKnown = track.replica !== null;
    context.globalAlpha = 1;
    if (isKnown) {
      context.strokeStyle = replicaColour(track.replica);
      context.lineWidth = 2;
      context.strokeRect(5, top + 4, 8, 8);
      context.lineWidth = 1;
    }
    context.fillStyle = theme.text;
    context.font = `italic 600 12px ${theme.font}`;
    context.fillText(replicaText(track), isKnown ? 19 : 4, top + 8, v.left - 24);
    context.font = `italic 11px ${theme.font}`;
    const measured = tracks[track.track];
    const hasDevice = measured && !measured.isOne && track.num_rows * v.rowHeight > 26;
    const device = hasDevice ? `, ${shortDevice(measured)}` : "";
    drawDevice(context, v, `predicted${device}`, top, track.num_rows);
  });
  context.globalAlpha = 1;
}

// Fetches the rows of the edit that the address names, and keeps them until they are removed.
export class Prediction {
  constructor(view) {
    this.view = view;
    this.text = null;
    this.sentence = el("span", { class: "sentence", role: "status" });
    this.drawn = el("span", { class: "quiet" });
    const remove = el("button", { type: "button", text: "Remove the predicted rows", on: { click: () => this.remove() } });
    this.head = el("div", { class: "predicted" }, this.sentence, this.drawn, remove);
    this.head.hidden = true;
  }

  // What the address says of this run; the rows of another run go.
  begin({ edit, segment }, doMove) {
    this.text = edit;
    this.view.scene.edit = edit;
    this.segment = segment ?? this.view.scene.steps.segment?.at(-1) ?? 0;
    this.begun = doMove ? this.place : null;
    this.show(null);
    if (edit !== null) this.fetch();
  }

  get place() {
    const { from, to } = this.view.viewport;
    return `${from}-${to}`;
  }

  // The measured rows have changed.
  refresh() {
    if (this.text === null) return;
    this.show(null);
    this.fetch();
  }

  remove() {
    this.text = null;
    this.view.scene.edit = null;
    this.show(null);
    this.view.redraw();
  }

  // The newest request wins. Its rows are those of all spans.
  async fetch() {
    const { view, text } = this;
    const { run } = view;
    const request = (this.request = {});
    const isNewest = () => view.run === run && this.text === text && this.request === request;
    this.head.hidden = false;
    this.head.classList.add("bare");
    setText(this.sentence, "Replaying the step with this edit…");
    setText(this.drawn, "");
    try {
      await view.whole;
      if (!isNewest()) return;
      const prediction = await view.source.json("predicted", { segment: this.segment, edit: text });
      if (!isNewest()) return;
      this.show(prepared(prediction, view.data.colours));
      const isElsewhere = this.begun !== this.place; // the viewer has gone there
      this.begun = null;
      if (isElsewhere) return;
      // The canvas grows when it is drawn: only then is there something to scroll to.
      view.root.addEventListener("strategy-lab:drawn", () => this.head.scrollIntoView({ block: "center" }), { once: true });
      this.go();
    } catch (error) {
      if (isNewest()) setText(this.sentence, error.message);
    }
  }

  // To the whole step, the measured one and the predicted one.
  go() {
    const { start_ns: start, measured_ns: measured, predicted_ns: predicted } = this.view.scene.predicted;
    const length = Math.max(measured, predicted);
    this.view.go(start - length * MARGIN * 0.5, start + length * (1 + MARGIN));
  }

  show(predicted) {
    const { view } = this;
    this.head.hidden = !predicted;
    if (!predicted && !view.scene.predicted) return;
    view.scene.predicted = predicted;
    view.scene.hovered = null;
    this.head.classList.toggle("bare", !predicted);
    if (predicted) {
      setText(this.sentence, predicted.sentence);
      const { step, measured_ns: measured, predicted_ns: length } = predicted;
      setText(this.drawn, `Drawn: step ${step}, ${lengthText(length)} when replayed with this edit, ${lengthText(measured)} measured.`);
    }
    view.root.dataset.predicted = predicted ? String(predicted.spans.row.length) : "";
    view.changed();
  }

  // Room below the measured rows: for the sentence, which wraps on a narrow page, and the rows.
  layOut() {
    const { viewport, scene } = this.view;
    const { predicted } = scene;
    if (predicted) this.head.style.top = `${viewport.measuredHeight}px`;
    else this.head.style.top = "";
    viewport.setPredicted(predicted?.tracks, this.head.offsetHeight, RULER, SPACE);
  }

  // The predicted op under a point, as plain values; null if there is none.
  spanAt(x, y) {
    const { viewport: v, predicted } = this.view.scene;
    if (!predicted) return null;
    const { row, start_ns: start, duration_ns: duration } = predicted.spans;
    const i = v.spanAt(x, y, v.predictedRowTops, { row, start, duration });
    return i < 0 ? null : predicted.span(i);
  }

  tooltipLines(span) {
    const track = this.view.scene.predicted.tracks.findLast((each) => span.row >= each.first_row);
    const away = span.start - span.measuredStart;
    const moved = Math.abs(away) < 500 ? "starts as measured" : `starts ${lengthText(Math.abs(away))} ${away < 0 ? "earlier" : "later"}`;
    return [
      span.op || span.label,
      span.op && span.label !== span.op ? span.label : "",
      `predicted: ${lengthText(span.duration)} from ${fromZero(span.offset)}`,
      `measured: ${lengthText(span.measuredDuration)} from ${fromZero(span.measuredOffset)}`,
      `${moved} · ${this.view.data.names[span.category] ?? span.category}`,
      `${replicaText(track)} · step ${this.view.scene.predicted.step}`,
    ].filter(Boolean);
  }
}

const fromZero = (ns) => (Math.abs(ns) < 1e4 ? `${fixed(ns / 1e3, 1)} µs` : `${number(ns / 1e6, 5)} ms`);

function prepared(prediction, colours) {
  const { spans, texts } = prediction;
  prediction.colours = texts.map((text) => colours[text] ?? colours.other);
  let first = 0;
  for (const track of prediction.tracks) {
    track.first_row = first;
    first += track.num_rows;
  }
  // The predicted op of a measured one; -1 if there is none.
  prediction.indexOf = (row, start) => spans.row.findIndex((_, i) => spans.measured_row[i] === row && spans.span_start_ns[i] === start);
  prediction.span = (i) => ({
    isPredicted: true,
    row: spans.row[i],
    start: spans.start_ns[i],
    duration: spans.duration_ns[i],
    offset: spans.start_ns[i] - prediction.start_ns,
    measuredStart: spans.measured_start_ns[i],
    measuredDuration: spans.measured_duration_ns[i],
    measuredOffset: spans.measured_start_ns[i] - prediction.start_ns,
    measuredRow: spans.measured_row[i],
    spanStart: spans.span_start_ns[i], // of the whole collective, if the bar is a part of one
    category: texts[spans.category[i]],
    op: texts[spans.op[i]],
    label: texts[spans.name[i]],
  });
  return prediction;
}
