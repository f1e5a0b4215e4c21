// What is known of a span: in the tooltip in short, below the timeline in full.

import { el, setText, table } from "../shared/dom.js";
import { joined, number, units } from "../shared/format.js";
import { lengthText, replicaText, trackText } from "./text.js";

// The share arrives as a byte: below half of its unit, something ran all the same.
const busyText = (covered) => (covered * 100 < 1 ? "below 1 %" : `${Math.round(covered * 100)} %`);

export function tooltipLines(span, track, category) {
  if (span.index < 0) {
    return [`Many spans, mostly ${category}`, `${busyText(span.covered)} of ${lengthText(span.duration)} busy`, "Zoom in to see each"];
  }
  return [span.op || span.label, span.op ? span.label : "", `${lengthText(span.duration)} · ${category}`, partsText(span), `${trackText(track)} · step ${span.step}`].filter(Boolean);
}

// What a collective consists of; empty if that is unknown, and for other ops.
function partsText({ waited, duration }) {
  if (waited < 0) return "";
  const wait = waited ? `${lengthText(waited)} wait for the last replica` : "entered last";
  return `${wait}, ${lengthText(duration - waited)} transfer`;
}

export function detailsOf(span, track, category) {
  const rows = [
    ["Op", span.op],
    ["Name", span.label],
    ["Duration", lengthText(span.duration)],
    ["Slack", "…"],
    ["Category", category],
    ...(span.waited >= 0 ? [["Consists of", partsText(span)]] : []),
    ["Replica", track.replica === null ? "serves all" : String(track.replica)],
    ["Device", track.device],
    ["Process", track.title],
    ["Step", String(span.step)],
    ["Starts at", joined(units.seconds(span.start / 1e9)) + ` (${number(span.start / 1e6, 9)} ms into the run)`],
    ["Clock", track.clock],
    ["Source", track.is_marked ? "in-graph timestamps: this worker was not captured" : "full capture"],
  ];
  const list = el("dl", {}, ...rows.flatMap(([term, value]) => [el("dt", { text: term }), el("dd", { text: value, class: term.toLowerCase() })]));
  return el("div", { class: "details" }, list);
}

// The row is there at once, and filled in when the answer about the op comes.
export function setSlack(details, text) {
  setText(details.querySelector("dd.slack"), text);
}

export function slackText({ sentence, replay_error: error }) {
  return error === null ? sentence : `${sentence} (replay error of the captured steps: ${number(error * 100)} %)`;
}

// `copies` are the selected span and the same op on other tracks, in the same step.
export function sameOpTable(copies, span, trackOf) {
  const body = copies.map(({ row, start_ns: start, duration_ns: duration, waited_ns: waited }) => {
    const cells = [
      replicaText(trackOf(row)),
      lengthText(duration),
      `${start >= span.start ? "+" : "−"}${lengthText(Math.abs(start - span.start))}`,
      partsText({ waited, duration }),
    ];
    return el("tr", { class: row === span.row ? "own" : "" }, ...cells.map((text) => el("td", { text })));
  });
  const head = ["The same op on each replica", "duration", "starts", ""];
  return table(head, body);
}
