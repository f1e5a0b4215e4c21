// Search by op or name: what matches stays bright, and its spans can be gone through in time.

import { el, setText } from "../shared/dom.js";
import { fixed } from "../shared/format.js";

const WAIT_MS = 150;

export class Search {
  constructor(view) {
    this.view = view;
    this.hits = [];
    this.at = -1;
    this.input = el("input", { type: "search", placeholder: "Find an op or a name", "aria-label": "Find an op or a name", on: { input: () => this.typed(), keydown: (event) => this.key(event) } });
    this.count = el("span", { class: "count", role: "status" });
    this.root = el("div", { class: "search" }, this.input, this.count);
  }

  get text() {
    return this.input.value.trim().toLowerCase();
  }

  // Numbers of the names that match; null without a search text.
  matches(names) {
    if (!this.text) return null;
    const numbers = new Set();
    for (const [number, pair] of Object.entries(names)) {
      if (pair.some((part) => part.toLowerCase().includes(this.text))) numbers.add(Number(number));
    }
    return numbers;
  }

  seek(text) {
    this.input.value = text;
    this.run();
  }

  typed() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.run(), WAIT_MS);
  }

  async run() {
    const text = this.text;
    this.view.scene.matches = this.matches(this.view.scene.data?.names ?? {});
    this.view.redraw();
    [this.hits, this.at] = [[], -1];
    setText(this.count, text && this.view.unread ? "once all spans are read" : "");
    if (!text) return undefined;
    try {
      const { count, spans } = await this.view.source.json("search", { text });
      if (text !== this.text) return undefined;
      this.hits = spans;
      setText(this.count, `${fixed(count, 0)} found${count ? " · N next, P previous" : ""}`);
    } catch (error) {
      this.view.fail(error);
    }
    return undefined;
  }

  key(event) {
    if (event.key !== "Enter") return;
    event.preventDefault();
    this.go(event.shiftKey ? -1 : 1);
  }

  // To the next or previous hit, at a width in which it can be seen.
  go(by) {
    if (!this.hits.length) return;
    const { viewport } = this.view;
    if (this.at < 0) {
      const after = this.hits.findIndex(([, , start]) => start >= viewport.from);
      this.at = by > 0 ? Math.max(after, 0) : (after < 0 ? this.hits.length : after) - 1;
    } else this.at += by;
    this.at = (this.at + this.hits.length) % this.hits.length;
    const [, , start, duration] = this.hits[this.at];
    const half = Math.max(duration * 10, Math.min((viewport.to - viewport.from) / 2, duration * 200), 20_000);
    this.view.go(start + duration / 2 - half, start + duration / 2 + half);
    setText(this.count, `${this.at + 1} of ${fixed(this.hits.length, 0)}`);
  }
}
