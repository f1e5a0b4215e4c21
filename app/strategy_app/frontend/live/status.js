// The state of the run as a chip and, after an error, as a sentence.

import { el, setText } from "../shared/dom.js";
import { joined, units } from "../shared/format.js";

const WORDS = {
  starting: "Starting",
  compiling: "Compiling",
  running: "Running",
  "between-epochs": "Between epochs",
  changing: "Changing",
  stopping: "Stopping",
  lost: "Process lost",
  finished: "Finished",
  stopped: "Stopped",
  failed: "Failed",
  incomplete: "Incomplete",
};
const CONNECTION = {
  lost: "Connection to the lab lost; reconnecting.",
  gone: "This run is no longer in the runs folder.",
  forbidden: "The lab was restarted. Open the address that it printed.",
};
const KEPT = "Everything recorded until then is kept.";
const LOST = `${KEPT} Press Run again, or allow restarts under “Process failures” of a new run: it goes on from its last checkpoint then.`;
const ADVICE = {
  failed: `${KEPT} Change what the message names, then run again.`,
  incomplete: "What was recorded can be read. Run it again, or continue it from its last saved state if there is one.",
  stopped: KEPT,
};
const SHOWN_BEHIND_MS = 500;
const SHOWN_AFTER_MS = 1000; // shorter states need no clock

export class Status {
  constructor() {
    Object.assign(this, { state: "waiting", isOver: false, isConnected: true });
    this.chip = el("span", { class: "chip", role: "status" });
    this.what = el("span", { class: "what" });
    this.banner = el("div", { class: "banner", role: "alert", tabindex: 0, hidden: "" });
    this.doing = el("span", { class: "doing" });
    this.link = el("span", { class: "connection" });
    this.lag = el("span", { class: "lag" });
    this.root = el("header", {}, el("div", { class: "line" }, this.chip, this.what, this.doing, this.lag, this.link), this.banner);
  }

  connection(state) {
    setText(this.link, CONNECTION[state] ?? "");
    this.isConnected = !(state in CONNECTION);
    this.drawChip();
  }

  // Without a connection it is unknown whether the run still runs.
  drawChip() {
    const isKnown = this.isConnected || this.isOver;
    this.chip.dataset.state = isKnown ? this.state : "waiting";
    setText(this.chip, isKnown ? (WORDS[this.state] ?? "Waiting") : "Not connected");
    this.doing.hidden = !isKnown;
  }

  // `waitedMs` is how long ago the status came. If `isSaid`, the page says above why the run failed.
  draw(status, segment, group, waitedMs, isSaid) {
    const doing = status?.doing;
    const state = (this.state = doing?.state ?? status?.state ?? "waiting");
    this.isOver = Boolean(status) && status.state !== "running";
    this.drawChip();
    setText(this.what, segment ? this.describe(status, segment) : "");
    setText(this.doing, doing ? sentence(doing, waitedMs) : "");
    this.chip.toggleAttribute("data-late", Boolean(doing) && isLate(doing, waitedMs));
    const text = isSaid ? "" : (status?.message ?? "");
    this.banner.hidden = !text || status.state === "running";
    const hasBegun = segment || state !== "incomplete";
    const advice = group?.loss?.length ? LOST : hasBegun && ADVICE[state];
    setText(this.banner, [asSentence(text), advice].filter(Boolean).join(" "));
    this.banner.dataset.state = state;
  }

  // What of a run is still unread while its newest steps are drawn.
  drawLag(behindMs) {
    const isShown = behindMs > SHOWN_BEHIND_MS;
    setText(this.lag, isShown ? `The newest steps are shown; ${seconds(behindMs)} before them are still being read.` : "");
  }

  describe(status, segment) {
    const { strategy, num_replicas, size, global_batch_size, examples, cross_device_ops } = segment;
    const batch = global_batch_size ?? examples; // of the largest step so far, if the segment opened without a size
    return [status.workload, strategy, size, batch ? `global batch ${batch}` : null, num_replicas > 1 && cross_device_ops !== "none" ? cross_device_ops : null]
      .filter(Boolean)
      .join(" · ");
  }
}

// An error's own words may end without a full stop.
const asSentence = (text) => (/[\p{L}\p{N})"']$/u.test(text) ? `${text}.` : text);

// What the run is doing, for how long, and how old its last step is once the next one is overdue. The end of
// an epoch has several parts: the age of the last step is that of all, not of the one that the text names.
function sentence(doing, waitedMs) {
  const { state, text, for_ms, expected_ms } = doing;
  const parts = [text];
  const lasts = for_ms === null ? 0 : for_ms + waitedMs;
  if (state !== "lost" && state !== "between-epochs" && lasts > SHOWN_AFTER_MS) {
    const usual = expected_ms ? `; an earlier run took ${seconds(expected_ms)}` : "";
    parts.push(`${seconds(lasts)} so far${usual}.`);
  }
  if (isLate(doing, waitedMs)) parts.push(`The last step ended ${seconds(doing.step_age_ms + waitedMs)} ago.`);
  return parts.filter(Boolean).join(" ");
}

function isLate({ state, step_age_ms, late_after_ms }, waitedMs) {
  const age = step_age_ms === null ? 0 : step_age_ms + waitedMs;
  return age > (state === "between-epochs" ? SHOWN_AFTER_MS : late_after_ms);
}

function seconds(ms) {
  const whole = Math.max(1, Math.round(ms / 1000));
  return whole < 60 ? `${whole} s` : joined(units.seconds(whole));
}
