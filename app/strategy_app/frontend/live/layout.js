// The live view's elements, in reading order.

import { el } from "../shared/dom.js";

export function chartBlock(name, title, unit) {
  const legend = el("div", { class: "legend", "aria-hidden": "true" });
  const canvas = el("canvas", { class: "chart", dataset: { chart: name } });
  const head = el("div", { class: "chart-head" }, el("h3", {}, title, el("span", { class: "unit", text: unit })), legend);
  return { block: el("section", { class: "chart-block" }, head, canvas), canvas, legend };
}

export function panel(name, title, definition, ...children) {
  const source = el("span", { class: "source" });
  const heading = el("h3", {}, el("span", { text: title, title: definition }), source);
  return { block: el("section", { class: "panel", dataset: { panel: name } }, heading, ...children), source };
}

export function buttonGroup(label, choices, onChoose) {
  const buttons = choices.map(([value, text]) =>
    el("button", { type: "button", text, "aria-pressed": "false", on: { click: () => choose(value) } }),
  );
  const choose = (value) => {
    choices.forEach(([choice], i) => buttons[i].setAttribute("aria-pressed", String(choice === value)));
    onChoose(value);
  };
  return { group: el("div", { class: "buttons", role: "group", "aria-label": label }, ...buttons), choose };
}

export function phaseLegend(phases, colours, names, definitions) {
  return el(
    "div",
    { class: "phases" },
    ...phases.map((phase) => {
      const swatch = el("i");
      swatch.style.background = colours[phase];
      return el("span", { title: definitions[phase], dataset: { phase } }, swatch, names[phase] ?? phase);
    }),
  );
}
