// Light or dark: the reader's system, until they choose. Printing is always light.
"use strict";
const Theme = (() => {
  const root = document.documentElement;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const listeners = [];
  let chosen = null;
  let printing = false;

  function apply() {
    const name = printing ? "light" : chosen ?? (dark.matches ? "dark" : "light");
    if (root.dataset.theme === name) return;
    root.dataset.theme = name;
    for (const listener of listeners) listener();
  }

  function setPrinting(value) {
    printing = value;
    apply();
  }

  const colour = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();
  dark.addEventListener("change", apply);
  window.addEventListener("beforeprint", () => setPrinting(true));
  window.addEventListener("afterprint", () => setPrinting(false));
  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    button.hidden = false;
    button.addEventListener("click", () => {
      chosen = root.dataset.theme === "dark" ? "light" : "dark";
      apply();
    });
  });
  apply();
  return { colour, onChange: (listener) => listeners.push(listener) };
})();
