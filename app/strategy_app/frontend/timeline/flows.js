// The links of the selected op to other tracks; those that were waited for stand out.

import { el, table } from "../shared/dom.js";
import { joined, units } from "../shared/format.js";
import { lengthText, replicaText } from "./text.js";

const HEAD = 7;

export function drawFlows(context, { viewport: v, theme, flows = [], flowColour }) {
  const middle = (row) => v.rowTops[row] + v.rowHeight / 2;
  for (const flow of flows) {
    const isAwaited = flow.waited_ns > 0;
    context.strokeStyle = context.fillStyle = isAwaited ? flowColour : theme.text;
    context.globalAlpha = isAwaited ? 1 : 0.8;
    context.lineWidth = isAwaited ? 2.5 : 1.25;
    arrow(context, v.x(flow.from_ns), middle(flow.from_row), v.x(flow.to_ns), middle(flow.to_row));
  }
  context.lineWidth = 1;
  context.globalAlpha = 1;
}

function arrow(context, x1, y1, x2, y2) {
  const bend = Math.max(Math.abs(x2 - x1) / 2, 14);
  context.beginPath();
  context.moveTo(x1, y1);
  context.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2, y2);
  context.stroke();
  context.beginPath();
  context.moveTo(x2, y2);
  context.lineTo(x2 - HEAD, y2 - HEAD / 2);
  context.lineTo(x2 - HEAD, y2 + HEAD / 2);
  context.fill();
  context.fillRect(x1 - 2, y1 - 2, 4, 4);
}

export function flowsOf(flows, trackOf) {
  const name = (row) => replicaText(trackOf(row));
  const head = ["Linked", "from", "to", "bytes", "waited"];
  const body = flows.map((flow) => {
    const cells = [flow.kind, name(flow.from_row), name(flow.to_row), flow.bytes === null ? "size unknown" : joined(units.bytes(flow.bytes)), flow.waited_ns ? lengthText(flow.waited_ns) : "not waited for"];
    return el("tr", { class: flow.waited_ns ? "own" : "" }, ...cells.map((text) => el("td", { text })));
  });
  return table(head, body, { class: "flows" });
}
