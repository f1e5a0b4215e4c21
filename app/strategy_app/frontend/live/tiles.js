// The numbers on top: the time of the loop largest, each with its unit and, on hover or focus, its definition.

import { el, setText } from "../shared/dom.js";
import { MISSING } from "../shared/format.js";

export class Tiles {
  constructor(definitions) {
    this.definitions = definitions;
    this.parts = new Map();
    this.root = el("div", { class: "tiles" });
  }

  add(name, label, { large = false, stays = large } = {}) {
    const value = el("span", { class: "value" });
    const unit = el("span", { class: "unit" });
    const note = el("div", { class: "note" });
    const definition = this.definitions[name];
    const tile = el(
      "div",
      { class: large ? "tile large" : "tile", tabindex: definition ? 0 : null, dataset: { tile: name } },
      el("div", { class: "label", text: label }),
      el("div", { class: "number" }, value, unit),
      note,
      definition ? el("div", { class: "definition", role: "tooltip", text: definition }) : null,
    );
    this.parts.set(name, { tile, value, unit, note, stays });
    this.root.append(tile);
    this.set(name, [MISSING, ""]);
    return this;
  }

  clear() {
    for (const name of this.parts.keys()) this.set(name, [MISSING, ""]);
  }

  set(name, [value, unit], note = "") {
    const part = this.parts.get(name);
    if (!part) return; // a key number that the live view has no tile for
    setText(part.value, value);
    setText(part.unit, unit);
    setText(part.note, note);
  }

  // A run that is over gets no more numbers.
  hideMissing(isOver) {
    for (const { tile, value, stays } of this.parts.values()) tile.hidden = isOver && !stays && value.textContent === MISSING;
  }
}
