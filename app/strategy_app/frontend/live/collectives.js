// What the collectives of the newest full capture moved, and how fast.

import { el, table } from "../shared/dom.js";
import { joined, number, units } from "../shared/format.js";

const GROUP = ["group", (row) => joined(units.count(row.group_size))];
const COLUMNS = [
  ["collective", (row) => row.op],
  ["per step", (row) => trimmed(row.per_step)],
  GROUP, // left out if all collectives have the same group: the column is narrow
  ["bytes/step", (row) => joined(units.bytes(row.bytes)), "traffic"],
  ["transfer", (row) => joined(units.ms(row.transfer_ms)), "transfer"],
  ["algbw", (row) => joined(units.bandwidth(row.algbw_gbps)), "algbw"],
  ["busbw", (row) => joined(units.bandwidth(row.busbw_gbps)), "busbw"],
];

const trimmed = (value) => (Number.isInteger(value) ? String(value) : number(value));

export function collectivesTable(rows, definitions) {
  if (!rows.length) return el("p", { class: "quiet", text: "No collective in this capture: nothing was exchanged between replicas." });
  const groups = new Set(rows.map((row) => row.group_size));
  const columns = COLUMNS.filter((column) => column !== GROUP || groups.size > 1);
  const head = columns.map(([text, , definition]) => ({ text, title: definitions[definition] }));
  const body = rows.map((row) => el("tr", {}, ...columns.map(([, text]) => el("td", { text: text(row) }))));
  return table(head, body, { tabindex: 0 });
}
