// The tab in TensorBoard: the runs below its log directory, and the report of the one chosen.

import { el, setText } from "../shared/dom.js";
import { labLink } from "./lab_link.js";

const ROUTE = new URL("..", import.meta.url).href; // TensorBoard may serve below a --path_prefix
const REFRESH_MS = 30_000;
const LAB_REFRESH_MS = 5_000; // a lab is started meanwhile, by the command that the tab shows

// TensorBoard calls it in a frame of its own, with an empty body.
export async function render() {
  document.head.append(el("link", { rel: "stylesheet", href: `${ROUTE}tensorboard/style.css` }));
  const list = el("ul", { "aria-label": "Runs" });
  const title = el("h1");
  const lab = labLink();
  const note = el("p", { class: "note", role: "status" });
  const frame = el("iframe", { title: "Report", sandbox: "allow-scripts" });
  const opened = el("header", { hidden: true }, title, lab.node);
  document.body.append(el("nav", {}, list), el("main", {}, opened, note, frame));

  let runs = [];
  let chosen = null;

  const choose = (run) => {
    chosen = run.name;
    setText(title, run.title);
    lab.draw(run.command, null);
    opened.hidden = false;
    // The frame shows the report, or a sentence that says why there is none.
    frame.src = `${ROUTE}report?${query(run.name)}`;
    frame.hidden = false;
    draw();
    findLab();
  };

  const draw = () => {
    list.replaceChildren(
      ...runs.map((run) =>
        el("li", {}, el("button", {
          type: "button",
          "aria-current": run.name === chosen ? "true" : null,
          on: { click: () => choose(run) },
        }, el("b", { text: run.name }), el("small", { text: started(run) }))),
      ),
    );
  };

  const findLab = async () => {
    const run = runs.find((each) => each.name === chosen);
    if (!run) return;
    try {
      const { page } = await (await fetch(`${ROUTE}lab?${query(run.name)}`)).json();
      if (run.name === chosen) lab.draw(run.command, page);
    } catch {
      // TensorBoard does not answer, or the run is gone: refresh() tells.
    }
  };

  const refresh = async () => {
    let found;
    try {
      found = await (await fetch(`${ROUTE}runs`)).json();
    } catch {
      setText(note, "TensorBoard does not answer. The list is as it was when it last did.");
      return;
    }
    const changed = JSON.stringify(found.runs) !== JSON.stringify(runs);
    runs = found.runs;
    setText(note, runs.length ? "" : nothing(found.logdir));
    if (changed) draw();
    if (chosen === null && runs.length) choose(runs[0]);
  };

  frame.hidden = true;
  await refresh();
  setInterval(() => document.hidden || refresh(), REFRESH_MS);
  setInterval(() => document.hidden || findLab(), LAB_REFRESH_MS);
}

function query(name) {
  return `run=${encodeURIComponent(name)}`;
}

function nothing(logdir) {
  const folder = logdir || "LOGDIR";
  return `No run of Strategy Lab is below ${folder}. Record one there: strategy-lab trace -o ${folder}/first train.py`;
}

function started(run) {
  if (run.is_damaged) return "run.json is damaged";
  return new Date(run.created_ms).toLocaleString();
}
