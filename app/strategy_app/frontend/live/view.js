// The live view: takes the run's messages, keeps their history, draws at most once per frame.

import { el, setSentence, setText } from "../shared/dom.js";
import { joined, number, units } from "../shared/format.js";
import { readTheme } from "../shared/theme.js";
import { Axis } from "./axis.js";
import { Breakdown, heightOf } from "./breakdown.js";
import { Charts } from "./charts.js";
import { collectivesTable } from "./collectives.js";
import { EpochEnds } from "./epoch_ends.js";
import { Feed } from "./feed.js";
import { History, mean } from "./history.js";
import { panel, phaseLegend } from "./layout.js";
import { Machines } from "./machines.js";
import { boundaryLabel, isTrouble, sentence } from "./news.js";
import { Processes } from "./processes.js";
import { Status } from "./status.js";
import { Tiles } from "./tiles.js";

const AVERAGED = 20; // steps behind the numbers that move with the run
const MAX_NEWS_SHOWN = 60;
const SAID_EVERY_MS = 1000;
const CLOCK_EVERY_MS = 500;
const BETWEEN_EPOCHS = "between-epochs"; // what the run does
const AWAITED = "data-first-step-awaited"; // of the page: without a step there is no cause to leave room for
const AFTER_TRACED = "Available after the second step: a configuration's first step is traced and compiled.";
const ENDED_TRACING = "Not available: the run ended before its second step.";
const NO_TIMESTAMPS = "This run has no timestamps: turn them on in the capture settings.";
const IMPORTED = "imported"; // the strategy of a profile that another program recorded
const NO_STEPS = "This profile has no steps.";
const NOT_TOLD = "The workload's own train_step pulls and pushes during the step, so its parts are not known separately.";
const LEADER_ONLY = "Captured in full on the first worker only: TensorFlow's profiler can crash the others.";

export class LiveView {
  constructor(host, data) {
    this.host = host;
    this.history = new History(data.phases);
    this.epochEnds = new EpochEnds();
    this.axis = new Axis(this.history, this.epochEnds);
    this.root = el("div", { class: "live" });
    host.replaceChildren(this.root);
    this.build(data);
    this.resizes = new ResizeObserver(() => this.redraw());
    this.resizes.observe(this.root);
    // Times in the status grow while nothing arrives.
    this.clock = setInterval(() => this.passTime(), CLOCK_EVERY_MS);
  }

  build(data) {
    this.data = data;
    const { phases, phaseColours, definitions, labels } = data;
    this.status = new Status();
    this.tiles = new Tiles(definitions)
      .add("loop_time", labels.loop_time, { large: true })
      .add("loop_throughput", labels.loop_throughput)
      .add("step_time", labels.step_time, { stays: true })
      .add("loss", labels.loss)
      .add("progress", labels.progress)
      .add("slowest", labels.slowest)
      .add("traffic", labels.traffic)
      .add("busbw", labels.busbw);
    this.processes = new Processes((worker) => this.trigger?.("kill", worker), definitions);
    this.charts = new Charts(this.history, this.axis, { replicas: data.replicaColours, series: data.seriesColour, band: data.bandColour }, (replica) => this.labelOf(replica, this.processOf(replica)), () => this.redraw(), (step) => this.trigger?.("step", step));
    this.marksBars = this.bars("phases", "Time of the step", definitions.marks);
    this.captureBars = this.bars("capture", "Latest full capture", definitions["capture window"]);
    this.servedBars = this.bars("served", "Each worker's step", definitions.served_step, data.servedParts, data.servedColours);
    this.marksBars.block.insertBefore(phaseLegend(phases, phaseColours, data.phaseNames, definitions), this.marksBars.canvas);
    const saidOf = Object.fromEntries(data.servedParts.map((part) => [part, definitions.served_step]));
    this.servedBars.block.insertBefore(phaseLegend(data.servedParts, data.servedColours, data.phaseNames, saidOf), this.servedBars.canvas);
    this.machines = new Machines(definitions["CPU cores in use"]);
    this.traffic = el("div");
    this.trafficPanel = panel("collectives", "Collectives of the latest capture", definitions.collective, this.traffic);
    this.newsList = el("ol", { class: "news", tabindex: 0, "aria-label": "What happened" });
    // Several processes come before the charts; one is a panel among others.
    this.above = el("div", { class: "slot" }, this.processes.root);
    this.beside = el("div", { class: "slot" });
    this.causeRoom = el("div", { class: "cause-room", hidden: "" }); // with that of the page
    this.root.replaceChildren(
      this.causeRoom,
      this.status.root,
      (this.columns = el(
        "div",
        { class: "columns", hidden: "" },
        el("div", { class: "main" }, this.tiles.root, this.above, this.charts.root),
        el(
          "div",
          { class: "side" },
          this.marksBars.block,
          this.servedBars.block,
          this.captureBars.block,
          this.machines.block,
          this.trafficPanel.block,
          this.beside,
          panel("news", "What happened", null, this.newsList).block,
        ),
      )),
    );
  }

  bars(name, title, definition, phases = this.data.phases, colours = this.data.phaseColours) {
    const canvas = el("canvas", { role: "img", "aria-label": title });
    const hint = el("p", { class: "quiet" });
    const made = panel(name, title, definition, canvas, hint);
    const bars = new Breakdown(canvas, phases, colours, this.data.phaseNames, (text) => {
      canvas.title = text ?? "";
    });
    return { ...made, canvas, hint, bars, phases };
  }

  // Called on every rerun of the page; only another run resets the view.
  show(data, trigger) {
    this.data = data;
    this.trigger = trigger;
    this.theme = readTheme(this.host);
    if (data.run !== this.run) {
      this.feed?.close();
      this.run = data.run;
      this.root.dataset.run = data.run;
      this.root.toggleAttribute("data-over", data.isOver); // until the run's own status has come
      this.forget();
      this.feed = new Feed(data.run, {
        onMessage: (message) => this.take(message),
        onState: (state) => this.connection(state),
      });
    }
    this.redraw();
  }

  forget() {
    this.history.clear();
    this.epochEnds.clear();
    this.axis.cursor = null;
    this.boundaries = [];
    this.segment = null;
    this.workers = new Map(); // the process of each replica, by segment
    this.steps = new Map(); // the last step of each process
    this.processes.forget();
    this.group = null;
    this.resources = null;
    this.served = {};
    this.numbers = null; // computed by the server, as for every other page
    this.tiles.clear();
    this.capture = null;
    this.newsList.replaceChildren();
    this.shownCapture = undefined;
    this.failure = null;
  }

  connection(state) {
    this.root.dataset.connection = state;
    this.status.connection(state);
  }

  take(message) {
    if (message.reset) this.forget();
    this.state = message.status;
    this.toldAt = performance.now();
    this.history.dropAhead();
    for (const news of message.news) this.takeNews(news);
    for (const row of message.steps) {
      const [worker, step, segment, , , , examples] = row;
      this.steps.set(worker, step);
      if (this.segment?.segment === segment) this.segment.examples = Math.max(this.segment.examples ?? 0, examples ?? 0);
      this.history.add(row, this.workers.get(segment) ?? []);
    }
    this.history.setAhead(message.ahead);
    this.group = message.group ?? this.group;
    this.resources = message.resources ?? this.resources;
    this.served = message.served ?? this.served;
    this.numbers = message.numbers ?? this.numbers;
    this.status.drawLag(message.behind_ms);
    this.redraw();
  }

  takeNews(news) {
    if (news.kind === "segment") {
      this.segment = news;
      this.workers.set(news.segment, news.workers);
      this.boundaries.push({
        label: boundaryLabel(news),
        segment: news.segment,
        value: (mode) => (mode === "time" ? news.at_ms / 1000 : news.first_step),
      });
    }
    if (news.kind === "epoch") this.epochEnds.add(news);
    // A profile without steps has a window all the same.
    if (news.kind === "window" && news.replicas && news.num_steps) this.capture = news;
    const text = sentence(news);
    if (!text || (news.kind === "exited" && this.failure && text.endsWith(this.failure))) return;
    const time = el("time", { text: joined(units.seconds(Math.max(0, news.at_ms / 1000))) });
    const said = el("span");
    setSentence(said, text);
    if (news.kind === "failed") [this.failure, this.failureSaid] = [text, said]; // its worker's end says the same once more
    this.newsList.prepend(el("li", { class: isTrouble(news) ? "trouble" : "" }, time, said));
    while (this.newsList.children.length > MAX_NEWS_SHOWN) this.newsList.lastChild.remove();
  }

  redraw() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.draw();
    });
  }

  draw() {
    if (!this.root.isConnected) return;
    const last = this.history.length - 1;
    this.drawStatus();
    this.drawTiles(last);
    this.drawProcesses();
    const isEmpty = last < 0;
    // Another screen from the first step on: it comes at once, and nothing of the one before moves into it.
    if (isEmpty !== this.isEmpty) this.root.append(this.causeRoom, this.status.root, this.columns);
    this.isEmpty = isEmpty;
    document.body.toggleAttribute(AWAITED, isEmpty && Boolean(this.state));
    this.causeRoom.hidden = isEmpty || this.data.isOver;
    this.columns.hidden = !this.state || (isEmpty && !this.newsList.children.length);
    this.followEpochEnd(last);
    this.charts.setEmpty(isEmpty, this.isOver);
    this.tiles.root.hidden = isEmpty;
    if (!isEmpty) this.charts.draw(this.theme, this.boundaries, this.numbers?.slowest ?? null, this.isOver);
    this.marksBars.block.hidden = this.captureBars.block.hidden = this.trafficPanel.block.hidden = this.hasServers || isEmpty;
    // Only the lab's own training loop tells the parts of such a step.
    this.servedBars.block.hidden = !this.hasServers || isEmpty || this.segment?.is_of_lab === false;
    this.drawBars(this.axis.cursor ?? this.history.settled());
    this.drawServed();
    this.drawCapture();
    this.root.dataset.step = last < 0 ? "" : String(this.history.step[last]);
    this.root.dataset.status = this.state?.state ?? "";
    this.root.dataset.segments = String(this.boundaries.length);
    this.root.dispatchEvent(new CustomEvent("strategy-lab:drawn", { detail: last < 0 ? null : this.history.step[last] }));
  }

  passTime() {
    if (this.isBetweenEpochs) this.redraw();
    else if (this.state?.doing) this.drawStatus();
  }

  get isBetweenEpochs() {
    return this.state?.doing?.state === BETWEEN_EPOCHS;
  }

  // The end of an epoch that lasts, after the last step.
  followEpochEnd(last) {
    const lasts = this.isBetweenEpochs ? this.state.doing.for_ms + performance.now() - this.toldAt : 0;
    this.epochEnds.setCurrent(lasts && last >= 0 ? this.history.start[last] + this.history.wall[last] : null, lasts);
  }

  drawStatus() {
    const isSaid = this.data.isOver && !this.group?.loss?.length && Boolean(this.failure && this.state?.message?.includes(this.failure));
    if (isSaid) setText(this.failureSaid, "The run failed.");
    this.status.draw(this.state, this.segment, this.group, performance.now() - this.toldAt, isSaid);
  }

  drawTiles(last) {
    const { history, tiles } = this;
    for (const [name, [value, unit, note]] of Object.entries(this.numbers?.numbers ?? {})) tiles.set(name, [value, unit], note);
    const total = this.state?.steps;
    const done = last < 0 ? null : history.step[last] + 1;
    tiles.set("progress", [units.count(done)[0], total && done ? `of ${units.count(total)[0]}` : ""]);
    tiles.hideMissing(this.isOver && Boolean(this.numbers));
  }

  get isOver() {
    return this.state !== undefined && this.state.state !== "running";
  }

  get isImported() {
    return this.segment?.strategy === IMPORTED;
  }

  get isCluster() {
    return (this.segment?.num_workers ?? 1) > 1;
  }

  get hasServers() {
    return this.segment?.has_servers ?? false;
  }

  processOf(replica) {
    return this.segment?.workers[replica] ?? 0;
  }

  // Processes are numbered over the whole run: the worker 1 of a cluster may be its third.
  titleOf(process) {
    return this.group?.processes.find(({ worker }) => worker === process)?.title ?? `worker ${process}`;
  }

  hostOf(process) {
    return this.group?.processes.find(({ worker }) => worker === process)?.host ?? null;
  }

  drawProcesses() {
    const { group, steps, resources, served, isOver } = this;
    this.machines.draw(resources?.machines ?? [], (worker) => this.hostOf(worker), isOver);
    const place = this.processes.isOne(group) ? this.beside : this.above;
    if (this.processes.root.parentNode !== place) place.append(this.processes.root);
    this.processes.draw(group, { steps, resources: isOver ? null : resources, served, isOver, canKill: this.data.canKill && !isOver });
  }

  drawBars(at) {
    const { history, marksBars: bars } = this;
    const single = this.axis.cursor !== null;
    const isTraced = at >= 0 && !single && history.isFirst(at);
    const present = at < 0 || isTraced ? [] : history.present(at);
    // Only the lab's own training loop has timestamps in its graph.
    if (this.segment?.is_of_lab === false && !present.length) bars.block.hidden = true;
    setText(bars.source, !present.length ? "" : single ? `step ${history.step[at]}, marks` : `last ${AVERAGED} steps, marks`);
    bars.canvas.hidden = !present.length;
    setText(bars.hint, present.length ? "" : at < 0 || isTraced ? (this.isOver ? ENDED_TRACING : AFTER_TRACED) : NO_TIMESTAMPS);
    bars.hint.style.minHeight = this.isOver ? "" : `${heightOf(this.segment?.num_replicas ?? 0)}px`;
    if (!present.length) return;
    const part = (replica, phase) => {
      const get = (i) => history.replicas[replica][phase][i];
      return single ? get(at) : mean(history.recent(get, at, AVERAGED));
    };
    const rows = present.map((replica) => ({
      replica,
      label: this.labelOf(replica, this.processOf(replica)),
      parts: this.data.phases.map((_, phase) => part(replica, phase)),
    }));
    this.drawRows(bars, rows);
  }

  // Workers of parameter servers share no step: of each the mean over its own newest ones.
  drawServed() {
    if (!this.hasServers) return;
    const bars = this.servedBars;
    const served = Object.entries(this.served).filter(([, { parts }]) => parts);
    bars.canvas.hidden = !served.length;
    setText(bars.source, served.length ? `each one's last ${AVERAGED} steps, timestamps` : "");
    const isDone = Object.keys(this.served).length > 0;
    setText(bars.hint, served.length ? "" : isDone ? NOT_TOLD : "Available after the first step.");
    if (!served.length) return;
    this.drawRows(bars, served.map(([worker, { parts }]) => ({ replica: worker - 1, label: this.titleOf(Number(worker)), parts })));
  }

  drawCapture() {
    const { capture, captureBars: bars, isOver } = this;
    bars.canvas.hidden = !capture;
    const isWhole = ["finished", "stopped"].includes(this.state?.state);
    const none = this.isImported ? NO_STEPS : isWhole ? "This run has no full capture." : isOver ? "The run ended before it reported a full capture." : "Available after the first capture window.";
    const isPart = capture && this.isCluster && capture.replicas.length < this.segment.num_replicas;
    const isMarked = capture && capture.replicas.some(({ source }) => source === "marks");
    const hint = isMarked ? `${LEADER_ONLY} The times of the others are from in-graph timestamps.` : isPart ? LEADER_ONLY : "";
    setText(bars.hint, capture ? hint : none);
    if (capture) {
      const lastStep = capture.first_step + capture.num_steps - 1;
      setText(bars.source, `steps ${capture.first_step}–${lastStep}, measured`);
      this.drawRows(bars, capture.replicas.map((row) => ({
        replica: row.replica,
        label: this.labelOf(row.replica, row.worker),
        parts: this.data.phases.map((phase) => row[`${phase}_ms`]),
      })));
    } else setText(bars.source, "");
    const current = capture ?? none;
    if (this.shownCapture === current) return;
    this.shownCapture = current;
    const waiting = el("p", { class: "quiet", text: isOver ? none : "Bytes and speed are available after the first capture window." });
    this.traffic.replaceChildren(capture ? collectivesTable(capture.collectives, this.data.definitions) : waiting);
  }

  labelOf(replica, worker) {
    return this.isCluster ? `${this.titleOf(worker)} / replica ${replica}` : `replica ${replica}`;
  }

  drawRows({ bars, canvas, block, phases }, rows) {
    const delay = phases.indexOf("delay");
    const inLegend = block.querySelector('[data-phase="delay"]');
    if (inLegend) inLegend.hidden = !rows.some(({ parts }) => parts[delay] > 0);
    const scale = Math.max(...rows.map(({ parts }) => parts.reduce((sum, ms) => sum + (ms || 0), 0)));
    const colours = this.data.replicaColours;
    bars.draw(rows, scale, block.clientWidth - 2, this.theme, (replica) => colours[replica % colours.length]);
    // Read aloud on demand: once a second is often enough for what is not seen.
    if (performance.now() - (canvas.saidAt ?? -SAID_EVERY_MS) < SAID_EVERY_MS) return;
    canvas.saidAt = performance.now();
    const said = rows.map(({ label, parts }) => `${label}: ${parts.flatMap((ms, i) => (phases[i] === "delay" && !ms ? [] : [`${bars.nameOf(i)} ${number(ms)} ms`])).join(", ")}`);
    canvas.setAttribute("aria-label", said.join("; "));
  }

  close() {
    this.charts.keys.close();
    this.feed?.close();
    document.body.removeAttribute(AWAITED);
    this.resizes.disconnect();
    clearInterval(this.clock);
    cancelAnimationFrame(this.frame);
  }
}
