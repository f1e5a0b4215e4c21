// The timeline of a run: what is on screen, what the pointer and the keys do to it.

import { el, setText } from "../shared/dom.js";
import { Keys } from "../shared/keys.js";
import { fitCanvas, readTheme } from "../shared/theme.js";
import { Address } from "./address.js";
import { captureWindows, SpanSource } from "./data.js";
import { detailsOf, sameOpTable, setSlack, slackText, tooltipLines } from "./details.js";
import { drawTimeline } from "./draw.js";
import { flowsOf } from "./flows.js";
import { CriticalPath } from "./path.js";
import { KEYS, Pointer } from "./pointer.js";
import { Prediction } from "./predicted.js";
import { RangePanel } from "./range.js";
import { Search } from "./search.js";
import { moved, unreadText, unreadTimes } from "./unread.js";
import { Viewport } from "./viewport.js";

const REFRESH_MS = 3000;
const STALE_ZOOM = 1.6; // fetch again when the detail is coarser than needed by this factor
const MOST_STEPS = 20;
const HOW_TO = "Click an op for its details. Drag to select a range.";

export class TimelineView {
  constructor(host, data) {
    this.host = host;
    this.data = data;
    this.viewport = new Viewport();
    this.scene = { viewport: this.viewport, steps: { step: [], start: [], end: [] }, epochEnds: [], tracks: [], colours: [], unread: [] };
    this.canvas = el("canvas", { tabindex: 0, role: "application", "aria-label": "Timeline of the run. Press ? for its keys." });
    this.tip = el("div", { class: "tip", hidden: "" });
    this.note = el("p", { class: "note", role: "status" });
    this.message = el("p", { class: "quiet", role: "status" });
    this.panel = el("div", { class: "selection", "aria-live": "polite" });
    this.rangePanel = new RangePanel(this);
    this.search = new Search(this);
    this.keys = new Keys("Keys of the timeline", KEYS);
    this.address = new Address();
    this.path = new CriticalPath(this);
    this.scene.search = this.search;
    this.prediction = new Prediction(this);
    this.tools = this.toolbar();
    this.canvas.hidden = this.tools.hidden = !data.hasSpans;
    this.root = el("div", { class: "timeline" }, this.tools, this.note, el("div", { class: "stage" }, this.prediction.head, this.canvas, this.tip), this.message, this.panel, this.rangePanel.root, this.keys.dialog);
    host.replaceChildren(this.root);
    this.pointer = new Pointer(this);
    this.resizes = new ResizeObserver(() => this.changed());
    this.resizes.observe(this.root);
  }

  button(text, label, click) {
    return el("button", { type: "button", text, "aria-label": label, title: label, on: { click } });
  }

  toolbar() {
    const { button } = this;
    this.legend = el("div", { class: "phases" });
    this.where = el("span", { class: "where" });
    return el(
      "div",
      { class: "toolbar" },
      el("div", { class: "buttons", role: "group", "aria-label": "Move the view" },
        button("‹ capture", "Previous capture window ([)", () => this.step(-1)),
        button("capture ›", "Next capture window (])", () => this.step(1)),
        button("−", "Zoom out (S or Down)", () => this.zoom(1.5)),
        button("+", "Zoom in (W or Up)", () => this.zoom(1 / 1.5)),
        button("whole run", "Whole run (Home)", () => this.go(0, this.viewport.length)),
        button("step", "Select the step in the middle (T)", () => this.selectStep((this.viewport.from + this.viewport.to) / 2)),
        this.path.button,
        this.keys.button,
      ),
      this.search.root,
      this.legend,
      this.where,
    );
  }

  show(data, trigger) {
    this.trigger = trigger;
    this.scene.theme = readTheme(this.host);
    this.scene.phaseNames = data.names;
    this.scene.replicaColour = (replica) => data.replicaColours[replica % data.replicaColours.length];
    this.data = data;
    if (data.run !== this.run) {
      this.run = data.run;
      this.root.dataset.run = data.run;
      if (this.version) this.address.read(); // now of another run: nothing in it is about the one before
      this.version = this.pending = this.unread = null;
      this.isWaiting = false;
      this.whole = new Promise((resolve) => (this.allRead = resolve));
      this.select(null);
      this.selectRange(null);
      this.source = new SpanSource(
        data.run,
        (fetched) => this.take(fetched),
        (error) => this.fail(error),
        () => this.describe(),
      );
      this.describe();
    }
    this.redraw();
  }

  async describe() {
    clearTimeout(this.timer);
    const run = this.run;
    if (!this.version) setText(this.message, "Reading the spans…");
    try {
      const described = await this.source.json("timeline", this.version ? {} : this.opening());
      if (run !== this.run) return;
      if (described.version !== this.version) this.layOut(described);
      else setText(this.message, this.advice);
      if (described.running) this.timer = setTimeout(() => this.describe(), REFRESH_MS);
    } catch (error) {
      if (run !== this.run) return;
      this.fail(error);
      // A lab that is away for a moment: what worked once is asked for again.
      if (this.version) this.timer = setTimeout(() => this.describe(), REFRESH_MS);
    }
  }

  // Of a long run the spans where the address opens it come first.
  opening() {
    return { opening: 1, ...(this.address.run === this.run && this.address.place) };
  }

  // The first description is shown at once, a later one together with its spans.
  layOut(described) {
    const { identity, origin } = this.source.described;
    const isFirst = this.version === null || described.identity !== identity || described.origin !== origin;
    this.version = described.version;
    this.source.describes(described);
    this.pending = described;
    if (isFirst) {
      this.select(null);
      Object.assign(this.scene, { data: null, tracks: [] });
    }
    if (!this.scene.data || !described.num_spans) this.useDescription();
    if (!described.num_spans) return;
    if (isFirst) this.begin();
    this.changed(true);
  }

  // Returns whether rows have other numbers now.
  useDescription() {
    const described = this.pending;
    this.pending = null;
    this.path.forget();
    const isMoved = described.num_rows !== this.numRows;
    this.numRows = described.num_rows;
    const isOne = new Set(described.tracks.map(({ worker }) => worker)).size < 2;
    const tracks = described.tracks.map((track) => ({ ...track, isOne }));
    if (this.scene.tracks.length) this.moveSelected(moved(this.scene.tracks, tracks));
    this.unread = described.read ? described : null;
    Object.assign(this.scene, { tracks, steps: described.steps, epochEnds: described.epoch_ends, unread: unreadTimes(described.read, described.steps) });
    this.categories = described.categories;
    this.drawn = described.drawn;
    this.scene.parts = { wait: this.categories.indexOf("wait"), transfer: this.categories.indexOf("transfer") };
    this.scene.colours = this.categories.map((category) => this.data.colours[category] ?? this.data.colours.other);
    this.scene.names = this.categories.map((category) => this.data.names[category]);
    this.windows = captureWindows(described.steps);
    this.viewport.length = described.length_ns;
    this.viewport.setTracks(described.tracks, described.late);
    this.root.dataset.spans = String(described.num_spans);
    this.advice = described.read ? unreadText(described) : described.num_spans ? HOW_TO : described.no_capture;
    setText(this.message, this.advice);
    this.canvas.hidden = this.tools.hidden = !described.num_spans;
    this.drawLegend();
    if (!described.read) this.allRead();
    return isMoved;
  }

  // What is selected by row or track, on the rows and tracks of another description.
  moveSelected({ track, row }) {
    const { selected, hovered, range, flows } = this.scene;
    if (selected && !selected.isPredicted) selected.row = row(selected.row);
    for (const flow of flows ?? []) Object.assign(flow, { from_row: row(flow.from_row), to_row: row(flow.to_row) });
    for (const chosen of [range, this.pointer.drag]) if (chosen?.tracks) chosen.tracks = chosen.tracks.map(track);
    if (hovered) this.hover(null);
  }

  // Where the address says; else at the worst captured step, or at the newest capture.
  begin() {
    const { address } = this;
    const isOwn = address.run === this.run;
    if (isOwn && address.view) this.go(...address.view);
    else if (isOwn && address.step !== null) this.openStep(address.step) || this.step(0);
    else if (!this.goToStep(this.source.described.opens_at)) this.step(0);
    if (!isOwn) return this.prediction.remove();
    this.prediction.begin(address, !address.view);
    return this.selectAddressed(address);
  }

  // The op and the range that the address names by rows and tracks, once these have their numbers.
  async selectAddressed({ op, range }) {
    const { run, scene } = this;
    if (!op && !range) return;
    this.isWaiting = true; // until then the address keeps them
    await this.whole;
    if (run !== this.run) return;
    this.isWaiting = false;
    this.wantedOp = scene.selected ? null : op; // not after what the viewer has selected meanwhile
    if (scene.data) this.findWanted();
    if (!range || scene.range) return;
    const tracks = range.tracks?.filter((track) => track < scene.tracks.length) ?? [];
    this.selectRange({ ...range, tracks: tracks.length ? tracks : null });
  }

  // Show a step from a chart; the nearest captured one if it was not captured itself.
  openStep(wanted) {
    const { step, start, end } = this.scene.steps;
    if (!step.length) return false;
    const i = step.reduce((best, number, at) => (Math.abs(number - wanted) <= Math.abs(step[best] - wanted) ? at : best), 0);
    setText(this.note, step[i] === wanted ? "" : `Step ${wanted} was not captured. This is step ${step[i]}, the nearest captured one.`);
    this.goToStep(step[i]);
    this.selectRange({ from: start[i], to: end[i], tracks: null });
    return true;
  }

  goToStep(wanted) {
    const { step, start, end } = this.scene.steps;
    const i = step.indexOf(wanted);
    if (i < 0) return false;
    const margin = (end[i] - start[i]) * 0.15;
    this.go(start[i] - margin, end[i] + margin);
    return true;
  }

  drawLegend() {
    this.legend.replaceChildren(
      ...this.drawn.map((category) => {
        const swatch = el("i");
        swatch.style.background = this.data.colours[category] ?? this.data.colours.other;
        return el("span", {}, swatch, this.data.names[category] ?? category);
      }),
    );
  }

  fail(error) {
    setText(this.message, error.message);
    this.redraw();
  }

  take(fetched) {
    const isMoved = this.pending && this.useDescription();
    this.scene.data = fetched;
    this.scene.matches = this.search.matches(fetched.names);
    this.root.dataset.rectangles = String(fetched.count);
    setText(this.message, this.advice);
    this.findWanted();
    if (isMoved) this.prediction.refresh();
    this.path.follow();
    this.redraw();
    if (this.unread && this.unread !== this.described) this.describe();
    this.described = this.unread;
  }

  // The op that the address names, if it is among what was fetched.
  findWanted() {
    if (!this.wantedOp) return;
    const { data } = this.scene;
    const [row, start] = this.wantedOp;
    this.wantedOp = null;
    for (let i = 0; i < data.count; i++) {
      if (data.row[i] === row && data.start[i] === start && data.index[i] >= 0) return this.select(this.span(i));
    }
  }

  // The view has moved: draw what is there, and ask for what is missing.
  changed(force = false) {
    const v = this.viewport;
    const width = this.root.clientWidth;
    const hasWorkers = this.scene.tracks.some((track) => !track.isOne);
    v.left = width < 560 ? 84 : hasWorkers ? 224 : 150;
    v.width = width;
    const { data } = this.scene;
    const wanted = (v.to - v.from) * 3;
    const covers = data && v.from >= data.from && v.to <= data.to && data.to - data.from < wanted * STALE_ZOOM;
    if (this.version && (force || !covers)) this.source.want(v.from, v.to, v.inner);
    if (this.version) this.path.follow();
    this.prediction.layOut();
    this.redraw();
  }

  go(from, to) {
    this.viewport.show(from, to);
    this.changed();
  }

  zoom(factor, at) {
    this.viewport.zoom(factor, at);
    this.changed();
  }

  pan(ns) {
    this.viewport.pan(ns);
    this.changed();
  }

  // To the next capture window (by: -1, 1), or to the newest (0).
  step(by) {
    if (!this.windows?.length) return this.go(0, this.viewport.length);
    const middle = (this.viewport.from + this.viewport.to) / 2;
    let target = this.windows.at(-1);
    if (by > 0) target = this.windows.find(({ start }) => start > middle) ?? target;
    if (by < 0) target = this.windows.findLast(({ end }) => end < middle) ?? this.windows[0];
    // Where every step is captured, a window is the whole run: its last steps are enough to begin with.
    const length = (target.end - target.start) / (target.lastStep - target.firstStep + 1);
    const start = Math.max(target.start, target.end - length * MOST_STEPS);
    const margin = (target.end - start) * 0.02;
    return this.go(start - margin, target.end + margin);
  }

  // The span under a point of the canvas, as plain values; null if it is empty.
  spanAt(x, y) {
    const { viewport: v, scene } = this;
    const i = scene.data ? v.spanAt(x, y, v.rowTops, scene.data) : -1;
    return i < 0 ? null : this.span(i);
  }

  span(i) {
    const { data } = this.scene;
    const [label, op] = data.names[data.name[i]] ?? ["", ""];
    const { start, duration, index, row, category, covered, waited, name, step } = data;
    return { start: start[i], duration: duration[i], waited: waited[i], index: index[i], row: row[i], category: category[i], covered: covered[i] / 255, name: name[i], step: step[i], label, op };
  }

  // What Enter takes where the pointer shows nothing: the span in the middle of the first track.
  middleSpan() {
    const v = this.viewport;
    return this.spanAt(v.left + v.inner / 2, Math.min(...v.rowTops) + 1);
  }

  trackOf(span) {
    return this.scene.tracks.find((track) => span.row >= track.first_row && span.row < track.first_row + track.num_rows);
  }

  categoryOf(span) {
    const category = this.categories[span.category];
    return this.data.names[category] ?? category;
  }

  hover(span, x, y) {
    this.scene.hovered = span;
    this.tip.hidden = !span;
    if (span) {
      const lines = span.isPredicted ? this.prediction.tooltipLines(span) : tooltipLines(span, this.trackOf(span), this.categoryOf(span));
      this.tip.replaceChildren(...lines.map((text) => el("div", { text })));
      this.tip.style.left = `${Math.min(x + 14, this.viewport.width - 280)}px`;
      this.tip.style.top = `${y + 16}px`;
    }
    this.redraw();
  }

  // Draw a range that is still being dragged.
  mark(range) {
    this.scene.range = range;
    this.root.dataset.range = range ? `${range.from}-${range.to}` : "";
    this.redraw();
  }

  selectRange(range) {
    if (!range) setText(this.note, "");
    this.mark(range);
    this.rangePanel.show(range);
  }

  selectTimeOf(span) {
    if (span && span.index >= 0) this.selectRange({ from: Math.round(span.start), to: Math.round(span.start + span.duration), tracks: null });
  }

  // The captured step at a time, or the one before it.
  selectStep(at) {
    const { start, end } = this.scene.steps;
    const i = Math.max(start.findLastIndex((begin) => begin <= at), 0);
    if (i < start.length) this.selectRange({ from: start[i], to: end[i], tracks: null });
  }

  zoomToSelected() {
    const { range, selected } = this.scene;
    const [from, to] = range ? [range.from, range.to] : selected ? [selected.start, selected.start + selected.duration] : [];
    if (from === undefined) return;
    const margin = (to - from) * 0.05;
    this.go(from - margin, to + margin);
  }

  openOverview(step) {
    this.trigger?.("step", step);
  }

  // The edge of a span of the row that is nearest to a time; null if none is within `slack`.
  edgesNear(at, row, slack) {
    const { data } = this.scene;
    let best = null;
    for (let i = 0; data && row >= 0 && i < data.count; i++) {
      if (data.row[i] !== row || data.index[i] < 0) continue;
      for (const edge of [data.start[i], data.start[i] + data.duration[i]]) {
        if (Math.abs(edge - at) <= Math.min(slack, best === null ? slack : Math.abs(best - at))) best = edge;
      }
    }
    return best;
  }

  select(span) {
    if (span?.isPredicted) {
      this.wantedOp = span.measuredRow === null ? null : [span.measuredRow, span.spanStart];
      return this.scene.data ? this.findWanted() : undefined;
    }
    if (span && span.index < 0) {
      this.zoom(0.25, span.start + span.duration / 2);
      return undefined;
    }
    this.scene.selected = span;
    this.root.dataset.selected = span ? span.label : "";
    this.root.dataset.flows = "";
    this.scene.flows = [];
    this.panel.replaceChildren(...(span ? [detailsOf(span, this.trackOf(span), this.categoryOf(span))] : []));
    if (span) {
      this.showLinks(span);
      this.showSlack(span);
    }
    this.redraw();
    return undefined;
  }

  // The selected op on other tracks, and its links to them: arrows, and a table.
  async showLinks(span) {
    await this.whole;
    if (this.scene.selected !== span) return;
    const at = { row: span.row, start: Math.round(span.start) };
    try {
      const [copies, flows] = await Promise.all([this.source.json("same_op", at), this.source.json("flows", at)]);
      if (this.scene.selected !== span) return;
      const trackOf = (row) => this.trackOf({ row });
      if (copies.length > 1) this.panel.firstChild.append(sameOpTable(copies, span, trackOf));
      if (flows.length) this.panel.append(flowsOf(flows, trackOf));
      this.scene.flows = flows;
      this.scene.flowColour = this.data.phaseColours.wait;
      this.root.dataset.flows = flows.length ? String(flows.length) : "";
      this.redraw();
    } catch (error) {
      this.fail(error);
    }
  }

  // How much later the selected op could end; a reason if the graph of the step does not say.
  async showSlack(span) {
    const details = this.panel.firstChild;
    await this.whole;
    if (this.scene.selected !== span) return;
    let text;
    try {
      const answer = await this.source.json("slack", { row: span.row, start: Math.round(span.start) });
      text = answer.reason ? `not known. ${answer.reason}` : slackText(answer);
    } catch (error) {
      text = `not known. ${error.message}`;
    }
    if (this.scene.selected === span) setSlack(details, text);
  }

  // Drawn once per frame. Settled is a view that shows what was asked for, with all its spans.
  redraw() {
    this.root.dataset.settled = "";
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      if (!this.root.isConnected || !this.scene.tracks.length) return;
      const v = this.viewport;
      drawTimeline(fitCanvas(this.canvas, v.width, v.height), this.scene);
      if (!this.isWaiting) this.address.write(v, this.scene);
      this.root.dataset.drawn = this.scene.data ? "yes" : "";
      this.root.dataset.from = String(Math.round(v.from));
      this.root.dataset.to = String(Math.round(v.to));
      this.root.dataset.settled = this.scene.data && !this.source.busy && !this.unread ? "yes" : "";
      this.root.dispatchEvent(new CustomEvent("strategy-lab:drawn"));
    });
  }

  close() {
    this.run = null; // ignores an answer that arrives later
    clearTimeout(this.timer);
    this.address.close();
    this.keys.close();
    this.resizes.disconnect();
    cancelAnimationFrame(this.frame);
  }
}
