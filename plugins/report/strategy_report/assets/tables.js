// Every table sorts by any column and copies as tab-separated text, which spreadsheets take. On a
// phone, a table with many columns is a list, in which each value has its column's title beside it.
"use strict";
(() => {
  const key = (cell) => cell.dataset.value ?? cell.textContent;

  function compare(a, b) {
    const x = Number(a), y = Number(b);
    if (a !== "" && b !== "" && !Number.isNaN(x) && !Number.isNaN(y)) return x - y;
    if (a === "" || b === "") return a === b ? 0 : a === "" ? 1 : -1;
    return a.localeCompare(b, undefined, { numeric: true });
  }

  function sort(table, column) {
    const heads = table.tHead.rows[0].cells;
    const down = heads[column].getAttribute("aria-sort") !== "descending";
    for (const head of heads) head.removeAttribute("aria-sort");
    heads[column].setAttribute("aria-sort", down ? "descending" : "ascending");
    const body = table.tBodies[0];
    const rows = [...body.rows];
    rows.sort((a, b) => compare(key(a.cells[column]), key(b.cells[column])) * (down ? -1 : 1));
    body.append(...rows);
  }

  async function copy(table, button) {
    const lines = [...table.rows].map((row) => [...row.cells].map((cell) =>
      (cell.dataset.value || cell.textContent).trim().replace(/\s+/g, " ")).join("\t"));
    const text = lines.join("\n");
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.createElement("textarea"); // a file:// page may have no clipboard
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy table"; }, 1500);
  }

  const FEW = 3; // columns that fit a phone

  function stack(table) {
    const titles = [...table.tHead.rows[0].cells].map((head) => head.textContent.trim());
    // A matrix is read across its rows: it scrolls.
    if (titles.length <= FEW || table.querySelector("td.heat")) return;
    table.classList.add("stacks");
    for (const row of table.tBodies[0].rows) {
      [...row.cells].forEach((cell, column) => { cell.dataset.label = titles[column] ?? ""; });
    }
  }

  document.addEventListener("DOMContentLoaded", () => {
    for (const table of document.querySelectorAll("table.data")) {
      stack(table);
      [...table.tHead.rows[0].cells].forEach((head, column) => {
        if (!head.textContent) return;
        const button = document.createElement("button");
        button.className = "sort";
        button.append(...head.childNodes);
        button.addEventListener("click", () => sort(table, column));
        head.append(button);
      });
      const button = document.createElement("button");
      button.className = "copy";
      button.textContent = "Copy table";
      button.addEventListener("click", () => copy(table, button));
      table.parentElement.after(button);
    }
  });
})();
