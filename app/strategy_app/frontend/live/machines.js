// The CPU cores of each machine: used by the run, by other programs, by other virtual machines, free.

import { el, setText } from "../shared/dom.js";
import { panel } from "./layout.js";

const PARTS = [
  ["run", "this run", "run_cores"],
  ["other", "other programs", "other_cores"],
  ["stolen", "other virtual machines", "stolen_cores"],
];
const SHOWN_FROM = 0.05; // cores; less rounds to 0.0
const NOT_YET = "Available for runs that the lab started, two seconds after their start.";

export class Machines {
  constructor(definition) {
    this.rows = el("div");
    this.hint = el("p", { class: "quiet" });
    Object.assign(this, panel("machines", "CPU cores in use", definition, this.rows, this.hint));
    this.cards = new Map();
  }

  // `hostOf` gives the host's name of a process, or null. Shown before the first sample, too, so
  // that nothing below it moves then.
  draw(machines, hostOf, isOver) {
    this.block.hidden = isOver && !machines.length;
    setText(this.source, isOver ? "last sample" : "");
    setText(this.hint, machines.length ? "" : NOT_YET);
    const keys = machines.map(({ worker }) => worker);
    if (keys.join() !== [...this.cards.keys()].join()) {
      this.cards = new Map(keys.map((key) => [key, makeRow()]));
      this.rows.replaceChildren(...[...this.cards.values()].map(({ root }) => root));
    }
    for (const machine of machines) drawRow(this.cards.get(machine.worker), machine, machines.length > 1 ? hostOf(machine.worker) : null);
  }
}

function makeRow() {
  const parts = Object.fromEntries(PARTS.map(([name]) => [name, el("i", { dataset: { part: name } })]));
  const text = el("span");
  const bar = el("div", { class: "cores", "aria-hidden": "true" }, ...Object.values(parts));
  return { root: el("div", { class: "machine" }, bar, text), parts, text };
}

function drawRow({ parts, text }, machine, host) {
  const said = [];
  for (const [name, label, field] of PARTS) {
    const cores = machine[field];
    parts[name].style.width = `${(100 * Math.min(cores / machine.num_cores, 1)).toFixed(1)}%`;
    if (name === "run" || cores >= SHOWN_FROM) said.push(`${cores.toFixed(1)} ${label}`);
  }
  setText(text, `${host ? `${host}: ` : ""}${said.join(", ")}; ${machine.num_cores} in all`);
}
