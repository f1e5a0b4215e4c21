// The state of the run as a chip and, after an error, as a sentence.

import { el, setText } from "../shared/dom.js";

const WORDS = {
  running: "Running",
  finished: "Finished",
  stopped: "Stopped",
  failed: "Failed",
  incomplete: "Incomplete",
};
const GETTING_READY = "The worker is starting; then the first step is traced and compiled.";
const GATHERING = "The processes import TensorFlow and connect; then the first step is traced and compiled.";
const CONNECTION = {
  lost: "Connection to the lab lost; reconnecting.",
  gone: "This run is no longer in the runs folder.",
  forbidden: "The lab was restarted. Open the address that it printed.",
};
const KEPT = "Everything recorded until then is kept.";
const ADVICE = {
  failed: `${KEPT} Change what the message names, then run again.`,
  incomplete: "The recorded part can be read. Start a new run to continue.",
};

export class Status {
  constructor() {
    this.chip = el("span", { class: "chip", role: "status" });
    this.what = el("span", { class: "what" });
    this.banner = el("div", { class: "banner", role: "alert", hidden: "" });
    this.doing = el("span", { class: "doing" });
    this.headline = el("p", { class: "headline", hidden: "" });
    this.link = el("span", { class: "connection" });
    this.root = el("header", {}, el("div", { class: "line" }, this.chip, this.what, this.doing, this.link), this.banner, this.headline);
  }

  connection(state) {
    setText(this.link, CONNECTION[state] ?? "");
  }

  draw(status, segment, hasSteps, group, headline) {
    const state = status?.state ?? "waiting";
    const starting = state === "running" && !hasSteps;
    const changing = state === "running" && group?.arriving?.length > 0;
    this.chip.dataset.state = starting || changing ? "starting" : state;
    setText(this.chip, starting ? "Starting" : changing ? "Changing" : (WORDS[state] ?? "Waiting"));
    setText(this.what, segment ? this.describe(status, segment) : starting ? (group?.processes?.length > 1 ? GATHERING : GETTING_READY) : "");
    this.headline.hidden = !headline;
    setText(this.headline, headline ?? "");
    setText(this.doing, segment ? (status?.doing ?? "") : "");
    const text = status?.message ?? "";
    this.banner.hidden = !text || state === "running";
    const advice = group?.loss?.length ? KEPT : ADVICE[state];
    setText(this.banner, [text, advice].filter(Boolean).join(" "));
    this.banner.dataset.state = state;
  }

  describe(status, segment) {
    const { strategy, num_replicas, size, global_batch_size, cross_device_ops } = segment;
    return [status.workload, strategy, size, `global batch ${global_batch_size}`, num_replicas > 1 && cross_device_ops !== "none" ? cross_device_ops : null]
      .filter(Boolean)
      .join(" · ");
  }
}
