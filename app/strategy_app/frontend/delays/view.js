// One slider per replica. Moves are collected until the hand rests, and are sent together.
//
// Streamlit's own slider sends each move, and each one that is sent is a change of the run, which
// then traces its step again.

import { el, setText } from "../shared/dom.js";

const REST_MS = 600; // longer than the pauses of a person who presses a key again and again

export class Delays {
  constructor(host) {
    this.root = el("div", { class: "delays" });
    host.replaceChildren(this.root);
    this.rows = new Map(); // by place
    this.moved = new Map(); // the viewer's values, by place, until the server has heard of them
    this.sentAt = 0;
    this.isHeld = false;
    this.release = () => {
      this.isHeld = false;
      this.rest();
    };
    for (const name of ["pointerup", "pointercancel"]) window.addEventListener(name, this.release);
  }

  // `data.heard` is the time of the last moves that the server knows: `data.rows` include them.
  show(data, _trigger, setState) {
    [this.data, this.setState] = [data, setState];
    if (this.sentAt && data.heard >= this.sentAt && !this.timer) this.forget();
    const places = data.rows.map(({ place }) => place);
    if (String(places) !== String([...this.rows.keys()])) {
      this.rows = new Map(places.map((place) => [place, this.row(place)]));
      this.root.replaceChildren(...[...this.rows.values()].map(({ block }) => block));
    }
    for (const row of data.rows) this.fill(row);
  }

  row(place) {
    const id = `delay-${place.replace("/", "-")}`;
    const label = el("label", { for: id });
    const input = el("input", { id, type: "range", min: 0, step: this.data.step });
    const output = el("output", { for: id });
    input.addEventListener("input", () => this.move(place));
    input.addEventListener("pointerdown", () => (this.isHeld = true));
    for (const key of ["keydown", "keyup"]) input.addEventListener(key, () => this.timer && this.rest());
    return { block: el("div", { class: "delay" }, label, input, output), label, input, output };
  }

  fill({ place, label, ms }) {
    const row = this.rows.get(place);
    const current = this.moved.get(place) ?? ms;
    setText(row.label, label);
    row.input.max = String(Math.max(this.data.max, current));
    if (row.input.value !== String(current)) row.input.value = String(current);
    setText(row.output, `${current} ms`);
    row.block.classList.toggle("moved", this.moved.has(place));
  }

  move(place) {
    const { input } = this.rows.get(place);
    this.moved.set(place, Number(input.value));
    this.fill(this.data.rows.find((row) => row.place === place));
    this.rest();
  }

  rest() {
    clearTimeout(this.timer);
    this.timer = null;
    if (this.moved.size) this.timer = setTimeout(() => this.send(), REST_MS);
  }

  // Kept as state, with its time: one that arrives twice, or late, is known as such.
  send() {
    this.timer = null;
    if (this.isHeld) return;
    const isUnheard = this.sentAt > this.data.heard;
    if (!isUnheard && this.data.rows.every(({ place, ms }) => (this.moved.get(place) ?? ms) === ms)) {
      this.forget();
      for (const row of this.data.rows) this.fill(row);
      return;
    }
    this.sentAt = Math.max(Date.now(), this.sentAt + 1, this.data.heard + 1);
    this.setState("moved", { at: this.sentAt, ms: Object.fromEntries(this.moved) });
  }

  forget() {
    this.moved.clear();
  }

  close() {
    clearTimeout(this.timer);
    for (const name of ["pointerup", "pointercancel"]) window.removeEventListener(name, this.release);
  }
}
