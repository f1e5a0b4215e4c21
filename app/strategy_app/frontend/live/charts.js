// The charts of the live view, above one another on one axis, under one cursor.

import { el, setText } from "../shared/dom.js";
import { joined, units } from "../shared/format.js";
import { Keys } from "../shared/keys.js";
import { Chart } from "./chart.js";
import { buttonGroup, chartBlock } from "./layout.js";

const ROOM_FOR_TEXT = 70; // px
const ROOM_FOR_NUMBER = 20;
const FEW_REPLICAS = 4; // with more replicas, the lines become a band
const SPANS = [
  [30, "30 s"],
  [120, "2 min"],
  [Infinity, "All"],
];
const KEYS = [
  [["←", "→"], "move the cursor by a step"],
  [["Page Up", "Page Down"], "move it by 50 steps"],
  [["Home", "End"], "first and last step"],
  [["Enter", "Click"], "show the step there on the timeline"],
  [["Esc"], "remove the cursor"],
];
const MODES = [
  ["time", "time"],
  ["step", "step"],
];

export class Charts {
  constructor(history, axis, colours, nameOf, redraw, openStep) {
    Object.assign(this, { history, axis, colours, nameOf, redraw, openStep, odd: null });
    this.stack = el("div", {
      class: "stack",
      tabindex: 0,
      role: "group",
      "aria-label": "Charts of the run. Press ? for their keys.",
    });
    this.readout = el("div", { class: "sr-only", "aria-live": "polite" });
    this.labels = el("div", { class: "boundaries", "aria-hidden": "true" });
    this.charts = this.make();
    this.charts[0].chart.isFirst = true;
    const span = buttonGroup("Time shown", SPANS, (seconds) => this.change(() => (axis.span = seconds)));
    const mode = buttonGroup("Horizontal axis", MODES, (value) => this.change(() => (axis.mode = value)));
    span.choose(Infinity);
    mode.choose("time");
    this.where = el("span", { class: "where" });
    this.stack.append(this.labels, ...this.charts.map(({ block }) => block));
    this.keys = new Keys("Keys of the charts", KEYS);
    this.controls = el("div", { class: "controls" }, span.group, mode.group, this.where, this.keys.button);
    this.empty = el("p", { class: "quiet", hidden: "", text: "This run recorded no step." });
    this.root = el("div", {}, this.controls, this.empty, this.stack, this.readout, this.keys.dialog);
    this.listen();
  }

  // Without a step there are no charts; of a run that is over, a sentence says so.
  setEmpty(isEmpty, isOver) {
    this.controls.hidden = this.stack.hidden = isEmpty;
    this.empty.hidden = !isEmpty || !isOver;
  }

  make() {
    const { history } = this;
    const single = (get, options = {}) => () => [{ get, colour: this.colours.series, ...options }];
    const plain = [
      ["wall", "Step time", "ms", { height: 130, lines: single((at) => history.wall[at], { skipFirst: true, text: (v) => joined(units.ms(v)) }) }],
      ["replicas", "Time to gradients of each replica", "ms", { height: 150, lines: () => this.replicaLines(), band: this.band() }],
      ["loss", "Loss", "", { height: 130, fromZero: false, lines: single((at) => history.loss[at], { width: 2, text: (v) => joined(units.loss(v)) }) }],
      ["throughput", "Throughput, over 10 steps", "examples/s", { height: 120, lines: single((at) => history.throughput[at], { skipFirst: true, text: (v) => joined(units.rate(v)) }) }],
    ];
    return plain.map(([name, title, unit, options]) => {
      const made = chartBlock(name, title, unit);
      return { ...made, chart: new Chart(made.canvas, options) };
    });
  }

  band() {
    const { history } = this;
    const many = (get) => (at) => (history.numReplicas > FEW_REPLICAS ? get(at) : NaN);
    return { low: many((at) => history.low[at]), high: many((at) => history.high[at]), colour: this.colours.band };
  }

  // A few replicas: a line each. Many: the middle one over the band. The odd one out on top, always.
  replicaLines() {
    const { history } = this;
    const odd = this.odd;
    const line = (replica, options) => ({
      label: this.nameOf(replica),
      replica,
      get: (at) => history.own(replica, at),
      colour: this.colours.replicas[replica % this.colours.replicas.length],
      skipFirst: true,
      text: (v) => joined(units.ms(v)),
      ...options,
    });
    const rest =
      history.numReplicas > FEW_REPLICAS
        ? [{ label: "median (band: middle 80 %)", get: (at) => history.middle[at], colour: this.colours.band, skipFirst: true, text: (v) => joined(units.ms(v)) }]
        : Array.from({ length: history.numReplicas }, (_, replica) => replica)
            .filter((replica) => replica !== odd)
            .map((replica) => line(replica, { alpha: 0.85 }));
    return odd === null ? rest : [...rest, line(odd, { width: 2.5 })];
  }

  listen() {
    this.stack.addEventListener("pointermove", (event) => {
      const box = this.charts[0].canvas.getBoundingClientRect();
      this.change(() => (this.axis.cursor = this.axis.at(event.clientX - box.left)));
    });
    // A finger places the cursor by a tap.
    this.stack.addEventListener("click", (event) => event.pointerType !== "touch" && this.openAtCursor());
    this.stack.addEventListener("pointerleave", () => this.change(() => (this.axis.cursor = null)));
    this.stack.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -50, PageDown: 50, Home: -1e9, End: 1e9 }[event.key];
      if (by) this.axis.moveCursor(by);
      else if (event.key === "Escape") this.axis.cursor = null;
      else if (event.key === "Enter") this.openAtCursor();
      else return;
      event.preventDefault();
      this.change(() => {});
      setText(this.readout, this.spoken());
    });
  }

  openAtCursor() {
    const step = this.axis.cursor === null ? NaN : this.history.step[this.axis.cursor];
    if (Number.isFinite(step)) this.openStep(step);
  }

  change(how) {
    how();
    this.redraw();
  }

  // `slowest` is the replica that the others wait for, as the server found it; null if no replica is late.
  draw(theme, boundaries, slowest, isOver) {
    const width = this.stack.clientWidth;
    this.odd = slowest;
    this.axis.update(width);
    const at = this.axis.cursor ?? this.history.settled();
    // Of a run that goes on, values may come yet: only who has no replicas' times is known from its first step.
    const hasNone = ({ chart, canvas }) => (canvas.dataset.chart === "replicas" ? this.history.numReplicas === 0 : isOver && !chart.sample(this.axis).length);
    for (const made of this.charts) made.block.hidden = hasNone(made);
    const shown = this.charts.filter(({ block }) => !block.hidden);
    for (const { chart, legend } of shown) {
      chart.isLast = chart === shown.at(-1).chart;
      chart.draw(this.axis, theme, boundaries);
      this.drawLegend(legend, chart, at);
    }
    this.drawLabels(boundaries);
    const text = () => `${this.position(at)} · a click shows it on the timeline`;
    setText(this.where, this.axis.cursor === null ? this.aboutAxis() : text());
  }

  aboutAxis() {
    const hatched = this.axis.epochEnds.isOneUnnamed ? "hatched: ends of epochs, without steps" : "";
    return [this.leftOut(), this.sampled(), hatched].filter(Boolean).join(" · ");
  }

  // What part of the steps is drawn where not all of them are.
  sampled() {
    const { drawn, all } = this.axis.leftOut;
    return drawn ? `dotted: ${units.count(drawn)[0]} of ${units.count(all)[0]} steps drawn` : "";
  }

  // What the time axis does not show.
  leftOut() {
    const { axis, history } = this;
    if (!axis.leavesOut) return "";
    if (axis.first === 1) return `without the first step, ${joined(units.ms(history.wall[0]))}`;
    const length = joined(units.seconds((history.start[axis.first] - history.start[0]) / 1000));
    return `without the first ${length}, in which few steps were done`;
  }

  position(at) {
    return `step ${this.history.step[at]} at ${joined(units.seconds(this.history.start[at] / 1000))}`;
  }

  drawLegend(legend, chart, at) {
    // The odd one out is drawn last, above the others, but listed at its place.
    const items = chart
      .lines()
      .toSorted((one, other) => (one.replica ?? -1) - (other.replica ?? -1))
      .filter(({ label, get }) => !label || at < 0 || Number.isFinite(get(at)))
      .map(({ label, get, colour, text }) => ({ label: label ?? "", value: at < 0 ? "" : text(get(at)), colour }));
    const said = JSON.stringify(items);
    if (legend.dataset.said === said) return;
    legend.dataset.said = said;
    legend.replaceChildren(
      ...items.map(({ label, value, colour }) => {
        const swatch = el("i");
        swatch.style.background = colour;
        return el("span", {}, swatch, label, el("b", { text: value }));
      }),
    );
  }

  // The boundaries' labels on a line of their own; each ends where the next begins, and is the
  // segment's number if its text needs more room.
  drawLabels(boundaries) {
    const { axis } = this;
    const labels = boundaries.map(({ label, segment, value }) => ({ label, segment, x: Math.max(axis.x(value(axis.mode)), axis.left) }));
    const said = JSON.stringify(labels);
    if (this.labels.dataset.said === said) return;
    this.labels.dataset.said = said;
    this.labels.replaceChildren(
      ...labels.map(({ label, segment, x }, index) => {
        const room = (labels[index + 1]?.x ?? axis.width) - x - 2;
        const text = room >= ROOM_FOR_TEXT ? label : room >= ROOM_FOR_NUMBER ? segment : "";
        const node = el("span", { text, title: label });
        node.style.left = `${x}px`;
        node.style.maxWidth = `${Math.max(room, 0)}px`;
        return node;
      }),
    );
  }

  spoken() {
    const at = this.axis.cursor;
    if (at === null) return "";
    const values = this.charts.flatMap(({ chart }) => chart.lines().map(({ label, get, text }) => `${label ?? ""} ${text(get(at))}`));
    return `${this.position(at)}: ${values.join(", ")}`;
  }
}
