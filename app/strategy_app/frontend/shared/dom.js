// Elements made of text: nothing here ever parses markup, so a run's text stays text.

export function el(tag, options = {}, ...children) {
  const node = document.createElement(tag);
  const { class: className, text, on, dataset, ...attributes } = options;
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  Object.assign(node.dataset, dataset ?? {});
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null && value !== false) node.setAttribute(name, value);
  }
  for (const [name, handler] of Object.entries(on ?? {})) node.addEventListener(name, handler);
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/** A table of rows below its columns: what each is called, or that as `text` with a `title`. */
export function table(columns, rows, { caption, ...options } = {}) {
  const head = columns.map((column) => el("th", { scope: "col", ...(column.text === undefined ? { text: column } : column) }));
  const title = caption && el("caption", { text: caption });
  return el("table", options, title, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows));
}

export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** A sentence whose names between backticks are code. */
export function setSentence(node, text) {
  if (node.dataset.sentence === text) return;
  node.dataset.sentence = text;
  const parts = text.split("`");
  if (parts.length % 2 === 0) node.replaceChildren(text);
  else node.replaceChildren(...parts.map((part, place) => (place % 2 ? el("code", { text: part }) : part)));
}
