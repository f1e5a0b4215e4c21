// What is known of a span: in the tooltip in short, below the timeline in full.

import { el } from "../shared/dom.js";
import { joined, number, units } from "../shared/format.js";
import { shortDevice } from "./draw.js";

export function lengthText(ns) {
  if (ns >= 1e9) return `${number(ns / 1e9)} s`;
  if (ns >= 1e6) return `${number(ns / 1e6)} ms`;
  return ns >= 1e3 ? `${number(ns / 1e3)} µs` : `${number(ns)} ns`;
}

// The share arrives as a byte: below half of its unit, something ran all the same.
const busyText = (covered) => (covered * 100 < 1 ? "below 1 %" : `${Math.round(covered * 100)} %`);

export function tooltipLines(span, track, category) {
  if (span.index < 0) {
    return [`Many spans, mostly ${category}`, `${busyText(span.covered)} of ${lengthText(span.duration)} busy`, "Zoom in to see each"];
  }
  return [span.op || span.label, span.op ? span.label : "", `${lengthText(span.duration)} · ${category}`, partsText(span), `${who(track)} · step ${span.step}`].filter(Boolean);
}

const who = (track) => `${track.replica === null ? "shared" : `replica ${track.replica}`} · ${shortDevice(track)}`;

// What a collective consists of; empty if that is unknown, and for other ops.
const partsText = ({ waited, duration }) => (waited >= 0 ? `${lengthText(waited)} wait for the last replica, ${lengthText(duration - waited)} transfer` : "");

// `twins` are the same op in the same step on other tracks.
export function detailsOf(span, track, category, twins) {
  const rows = [
    ["Op", span.op],
    ["Name", span.label],
    ["Duration", lengthText(span.duration)],
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
  const list = el("dl", {}, ...rows.flatMap(([term, value]) => [el("dt", { text: term }), el("dd", { text: value })]));
  if (!twins.length) return el("div", { class: "details" }, list);
  const same = [{ track, span, own: true }, ...twins].sort((a, b) => (a.track.replica ?? 1e9) - (b.track.replica ?? 1e9));
  const body = same.map(({ track: t, span: s, own }) =>
    el(
      "tr",
      { class: own ? "own" : "" },
      el("td", { text: t.replica === null ? "shared" : `replica ${t.replica}` }),
      el("td", { text: lengthText(s.duration) }),
      el("td", { text: `${s.start >= span.start ? "+" : "−"}${lengthText(Math.abs(s.start - span.start))}` }),
    ),
  );
  const head = el("tr", {}, ...["The same op elsewhere", "duration", "starts"].map((text) => el("th", { text, scope: "col" })));
  return el("div", { class: "details" }, list, el("table", {}, el("thead", {}, head), el("tbody", {}, ...body)));
}
