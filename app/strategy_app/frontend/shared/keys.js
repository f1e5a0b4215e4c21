// The keys of a view: a button and a dialog that list them; `?` opens it.

import { el } from "./dom.js";

const STYLE = `
.keys { color: inherit; background: var(--st-background-color, Canvas); border: 1px solid var(--st-border-color); border-radius: 0.5rem; padding: 1rem 1.25rem; max-width: min(34rem, 92vw); }
.keys::backdrop { background: rgb(0 0 0 / 45%); }
.keys header { display: flex; justify-content: space-between; align-items: center; gap: 2rem; margin-bottom: 0.5rem; }
.keys h2 { font-size: 1rem; margin: 0; }
.keys dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.35rem 1.25rem; margin: 0; }
.keys dt { white-space: nowrap; }
.keys dd { margin: 0; }
.keys kbd { font: inherit; font-size: 0.8rem; border: 1px solid var(--st-border-color); border-bottom-width: 2px; border-radius: 0.25rem; padding: 0 0.4rem; }
.keys button { font: inherit; color: inherit; background: transparent; border: 1px solid var(--st-border-color); border-radius: 0.4rem; padding: 0.2rem 0.7rem; cursor: pointer; }
`;
const TYPED_INTO = "input, textarea, select, [contenteditable='true']";

export class Keys {
  // `rows` are pairs: a list of keys or gestures that do the same, and what they do.
  constructor(title, rows) {
    const close = el("button", { type: "button", text: "Close", on: { click: () => this.dialog.close() } });
    const list = rows.flatMap(([keys, text]) => [el("dt", {}, ...keys.flatMap((key, i) => [i ? " " : "", el("kbd", { text: key })])), el("dd", { text })]);
    this.dialog = el("dialog", { class: "keys", "aria-label": title }, el("style", { text: STYLE }), el("header", {}, el("h2", { text: title }), close), el("dl", {}, ...list));
    this.dialog.addEventListener("click", (event) => event.target === this.dialog && this.dialog.close());
    this.button = el("button", { type: "button", text: "? keys", title: "Keys and gestures (?)", "aria-haspopup": "dialog", on: { click: () => this.open() } });
    this.listen = (event) => this.pressed(event);
    document.addEventListener("keydown", this.listen);
  }

  open() {
    if (!this.dialog.open) this.dialog.showModal();
  }

  // The focus may be anywhere on the page; inside a component it is behind a shadow root.
  pressed(event) {
    const target = event.composedPath()[0];
    if (event.key !== "?" || event.ctrlKey || event.metaKey || event.altKey || !this.dialog.isConnected) return;
    if (target instanceof Element && target.closest(TYPED_INTO)) return;
    event.preventDefault();
    this.open();
  }

  // Called when the view leaves the page.
  close() {
    document.removeEventListener("keydown", this.listen);
  }
}
