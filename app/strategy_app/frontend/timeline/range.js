// The selected range: its edges and length on the canvas, what it consists of below the timeline.

import { el, table } from "../shared/dom.js";
import { fixed, joined, number, units } from "../shared/format.js";
import { lengthText, trackText } from "./text.js";

const GROUPINGS = [
  ["op", "each op"],
  ["type", "by type"],
];
const SELF = "Without the time in which the same thread ran other spans inside of it";

export function drawRange(context, { viewport: v, theme, range, tracks }) {
  if (!range) return;
  const [x1, x2] = [v.x(range.from), v.x(range.to)];
  const [left, right] = [Math.max(x1, v.left), Math.min(x2, v.width)];
  const chosen = range.tracks ?? tracks.map((_, i) => i);
  context.fillStyle = theme.primary;
  if (right > left) {
    context.globalAlpha = 0.16;
    for (const i of chosen) context.fillRect(left, v.trackTops[i] - 4, right - left, v.trackEnd(i) - v.trackTops[i] + 8);
    context.globalAlpha = 0.9;
    context.fillRect(left, v.top - 6, right - left, 2);
  }
  context.globalAlpha = 1;
  for (const x of [x1, x2]) if (x >= v.left && x <= v.width) context.fillRect(x - 0.5, v.top - 12, 1.5, v.height - v.top + 12);
  if (right > left) drawLength(context, v, theme, (left + right) / 2, lengthText(range.to - range.from));
}

function drawLength(context, v, theme, middle, text) {
  context.font = `600 12px ${theme.font}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  const half = context.measureText(text).width / 2 + 6;
  const x = Math.min(Math.max(middle, v.left + half), v.width - half);
  context.fillStyle = theme.primary;
  context.beginPath();
  context.roundRect(x - half, v.top - 23, half * 2, 18, 4);
  context.fill();
  context.fillStyle = theme.background;
  context.fillText(text, x, v.top - 13.5);
}

export class RangePanel {
  constructor(view) {
    this.view = view;
    this.by = "op";
    this.root = el("section", { class: "range", "aria-label": "Selected range" });
  }

  // The newest request wins. `range` is null without a selection.
  async show(range) {
    this.range = range;
    this.root.hidden = !range;
    if (!range) return this.root.replaceChildren();
    await this.view.whole;
    if (this.range !== range) return undefined;
    const query = { from: range.from, to: range.to, by: this.by, ...(range.tracks && { tracks: range.tracks.join(",") }) };
    try {
      const selection = await this.view.source.json("selection", query);
      if (this.range === range) this.draw(range, selection);
    } catch (error) {
      if (this.range === range) this.root.replaceChildren(el("p", { class: "quiet", text: error.message }));
    }
    return undefined;
  }

  draw(range, selection) {
    this.root.dataset.ops = String(selection.num_ops);
    this.root.replaceChildren(this.head(range, selection), this.ops(selection), el("div", { class: "tables" }, this.phases(selection), this.moved(selection)));
  }

  head(range, selection) {
    const { view } = this;
    const [first, last] = selection.steps;
    const steps = first === undefined ? "no captured step" : first === last ? `step ${first}` : `steps ${first} to ${last}`;
    const uncaptured = range.to - range.from - selection.captured_ns;
    const button = (text, title, click) => el("button", { type: "button", text, title, on: { click } });
    const part = range.tracks && `${range.tracks.length} of ${view.scene.tracks.length} tracks`;
    const rest = first !== undefined && uncaptured > 1000 && `${lengthText(selection.captured_ns)} of it in captured steps`;
    const facts = [steps, `${fixed(selection.num_ops, 0)} ops`, part, rest].filter(Boolean).join(" · ");
    return el(
      "header",
      {},
      el("h3", {}, `${lengthText(range.to - range.from)} selected`, el("span", { class: "count", text: facts })),
      el("div", { class: "buttons", role: "group", "aria-label": "Selected range" },
        button("Zoom to it", "F", () => view.zoomToSelected()),
        range.tracks ? button("All tracks", "The same time on all tracks", () => view.selectRange({ ...range, tracks: null })) : null,
        first === undefined ? null : button(`Step ${first} in its run`, "Shows this step on the chart of step times", () => view.openOverview(first)),
        button("Clear", "Esc", () => view.selectRange(null)),
      ),
    );
  }

  phases({ replicas }) {
    const { phaseColours, names } = this.view.data;
    const known = replicas.filter(({ phases_ns: lengths }) => lengths);
    if (!known.length) return null;
    const phases = this.view.data.phases.filter((phase) => phase !== "delay" || known.some(({ phases_ns: lengths }) => lengths.delay));
    const head = ["Replica", "", ...phases.map((phase) => names[phase] ?? phase), "ops"];
    const body = known.map(({ replica, phases_ns: lengths, num_ops: ops }) => {
      const whole = phases.reduce((sum, phase) => sum + lengths[phase], 0) || 1;
      const bar = el("div", { class: "bar", "aria-hidden": "true" }, ...phases.map((phase) => coloured(phaseColours[phase], lengths[phase] / whole)));
      const cells = phases.map((phase) => el("td", {}, lengthText(lengths[phase]), el("small", { text: shareText(lengths[phase] / whole) })));
      return el("tr", {}, el("th", { scope: "row", text: String(replica) }), el("td", {}, bar), ...cells, el("td", { text: fixed(ops, 0) }));
    });
    return table(head, body, { class: "phase-table", caption: "Phases in the captured steps" });
  }

  moved({ moved }) {
    if (!moved.length) return null;
    const head = ["Begun here", "count", "bytes"];
    const body = moved.map(({ kind, count, bytes }) => el("tr", {}, el("th", { scope: "row", text: kind }), el("td", { text: fixed(count, 0) }), el("td", { text: bytes === null ? "size unknown" : joined(units.bytes(bytes)) })));
    return table(head, body, { caption: "Collectives and sends" });
  }

  ops({ ops, num_op_rows: rows }) {
    if (!ops.length) return null;
    const { view } = this;
    const isEach = this.by === "op";
    const head = ["Op type", ...(isEach ? ["Name"] : []), "Device", "Count", { text: "Self time", title: SELF }, "Total", "Share"];
    const find = (text) => (text ? el("button", { type: "button", class: "find", text, title: "Find it on the timeline", on: { click: () => view.search.seek(text) } }) : "");
    const largest = ops[0].share || 1;
    const body = ops.map(({ op, name, track, count, self_ns: self, total_ns: total, share }) =>
      el(
        "tr",
        {},
        el("td", {}, find(op || (isEach ? "" : "other"))),
        isEach ? el("td", { class: "name" }, find(name)) : null,
        el("td", { text: trackText(view.scene.tracks[track]) }),
        ...[fixed(count, 0), lengthText(self), lengthText(total)].map((text) => el("td", { class: "number", text })),
        el("td", { class: "number" }, el("div", { class: "bar", "aria-hidden": "true" }, coloured(view.scene.theme.primary, share / largest)), shareText(share)),
      ),
    );
    const choose = GROUPINGS.map(([by, text]) => el("button", { type: "button", text, "aria-pressed": String(by === this.by), on: { click: () => this.regroup(by) } }));
    const left = rows > ops.length ? `the ${ops.length} largest of ${fixed(rows, 0)}` : "";
    return el(
      "div",
      { class: "ops" },
      el("header", {}, el("h4", {}, "Ops by self time", el("span", { class: "count", text: left })), el("div", { class: "buttons", role: "group", "aria-label": "Group ops" }, ...choose)),
      el("div", { class: "scrolled", tabindex: 0, role: "region", "aria-label": "Ops by self time" }, table(head, body)),
    );
  }

  regroup(by) {
    this.by = by;
    this.show(this.range);
  }
}
const shareText = (share) => `${number(share * 100, share < 0.1 ? 2 : 3)} %`;

function coloured(colour, share) {
  const part = el("i");
  part.style.background = colour;
  part.style.width = `${Math.max(share, 0) * 100}%`;
  return part;
}
