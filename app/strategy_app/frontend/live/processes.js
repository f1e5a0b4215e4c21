// The processes of a run: role and progress of each, and a button that kills one to see the effect.

import { el, setText } from "../shared/dom.js";
import { joined, units } from "../shared/format.js";

const AGAIN_AFTER_MS = 10_000;
const MANY = 6; // more processes get smaller cards
const SURE_FOR_MS = 6000; // a second click within this time kills
const STATES = {
  starting: "starting",
  running: "running",
  done: "done",
  lost: "lost",
  ended: "ended",
  replaced: "left",
  arriving: "getting ready",
  keeping: "waiting, state kept",
  silent: "no further event",
};
const GETTING_READY = "It imports TensorFlow, then connects to the other processes.";
const SERVES = "It serves the others.";

export class Processes {
  // `definitions` are the hover texts of the glossary.
  constructor(onKill, definitions) {
    Object.assign(this, { onKill, definitions });
    this.cards = new Map();
    this.story = el("ol", { class: "story", hidden: "" });
    this.grid = el("div", { class: "process-grid" });
    this.count = el("span", { class: "source" });
    this.arrival = el("p", { class: "arrival", role: "status", hidden: "" });
    this.name = el("span", { text: "Processes", title: definitions.worker });
    const heading = el("h3", {}, this.name, this.count);
    this.root = el("section", { class: "panel processes", dataset: { panel: "processes" }, hidden: "" }, heading, this.story, this.arrival, this.grid);
  }

  forget() {
    this.order = undefined;
    this.cards.clear();
    this.grid.replaceChildren();
  }

  isOne(group) {
    return group?.processes?.length === 1 && !group.arriving?.length;
  }

  draw(group, { steps, resources, served, isOver, canKill }) {
    const { processes = [], arriving = [], loss = [] } = group ?? {};
    const isCluster = !this.isOne(group);
    // What one process uses is known while it runs; its end is in the banner.
    this.root.hidden = isCluster ? !processes.length && !arriving.length : isOver;
    if (this.root.hidden) return;
    this.drawStory(loss);
    this.drawArrival(processes, isOver ? [] : arriving);
    const rows = [...processes, ...(isOver ? [] : arriving.map((row) => ({ ...row, state: "arriving" })))];
    this.arrange(rows);
    const titles = new Map(rows.map(({ worker, title }) => [worker, title]));
    for (const row of rows) {
      const isSilent = isOver && ["starting", "running"].includes(row.state);
      const isKeeping = row.state === "running" && arriving.length > 0;
      const state = isSilent ? "silent" : isKeeping ? "keeping" : row.state;
      const step = state === "arriving" ? undefined : steps.get(row.worker);
      this.drawCard({ ...row, state, culprit: titles.get(row.follows) }, { step, done: served[row.worker]?.steps, uses: usesOf(resources, row.worker), canKill: isCluster && canKill && state === "running" });
    }
    this.root.classList.toggle("many", rows.length > MANY);
    const running = rows.filter(({ state }) => state === "running").length;
    setText(this.name, isCluster ? "Processes" : "Process");
    setText(this.count, !isCluster ? "" : isOver ? `${processes.length}` : `${running} of ${processes.length} running`);
    this.root.dataset.states = rows.map(({ state }) => state).join(" ");
  }

  drawStory(sentences) {
    this.story.hidden = !sentences.length;
    const said = JSON.stringify(sentences);
    if (this.story.dataset.said === said) return;
    this.story.dataset.said = said;
    this.story.replaceChildren(...sentences.map((text) => el("li", { text })));
  }

  drawArrival(processes, arriving) {
    this.arrival.hidden = !arriving.length;
    const fresh = arriving.length === 1 ? "A new process is" : `${arriving.length} new processes are`;
    const text = `${fresh} starting from a checkpoint. Until the first step is done, training pauses and the old ${processes.length === 1 ? "process keeps" : "processes keep"} the state.`;
    setText(this.arrival, arriving.length ? text : "");
  }

  // One card per process, in order; a card is kept as long as its process is shown.
  arrange(rows) {
    const keys = rows.map(keyOf);
    if (keys.join() === this.order) return;
    this.order = keys.join();
    for (const key of this.cards.keys()) if (!keys.includes(key)) this.cards.delete(key);
    for (const row of rows) if (!this.cards.has(keyOf(row))) this.cards.set(keyOf(row), this.makeCard(row));
    this.grid.replaceChildren(...keys.map((key) => this.cards.get(key).root));
  }

  makeCard({ worker, title }) {
    const state = el("span", { class: "state" });
    const facts = el("div", { class: "facts" });
    const words = el("div", { class: "words" });
    const kill = el("button", { type: "button", class: "kill", text: "Kill", "aria-label": `Kill ${title}` });
    kill.addEventListener("click", () => this.press(kill, worker, title));
    const root = el("article", { class: "process", dataset: { process: String(worker) } }, el("div", { class: "head" }, el("strong", { text: capital(title), title: this.definitions[title.replace(/ \d+$/, "")] ?? "" }), state, kill), facts, words);
    return { root, state, facts, words, kill };
  }

  drawCard(row, { step, done, uses, canKill }) {
    const card = this.cards.get(keyOf(row));
    card.root.dataset.state = row.state;
    const isAt = row.state === "running" && step !== undefined;
    const isLed = row.state === "ended" && row.culprit;
    setText(card.state, isAt ? `running, step ${step}` : isLed ? `ended: ${row.culprit} was lost` : STATES[row.state]);
    const facts = [
      row.pid ? `pid ${row.pid}` : null,
      done ? `${done} ${done === 1 ? "step" : "steps"} done` : null,
      ...uses,
      row.address,
      row.host,
      row.generation ? `generation ${row.generation}` : null,
    ];
    setText(card.facts, facts.filter(Boolean).join(" · "));
    setText(card.words, wordsOf(row, step));
    card.words.tabIndex = card.words.textContent ? 0 : -1; // long words scroll
    card.kill.hidden = !canKill;
  }

  press(button, worker, title) {
    if (button.dataset.sure) {
      delete button.dataset.sure;
      button.disabled = true;
      setText(button, "Killed");
      this.onKill(worker);
      // The process still runs after a while, so the button works again.
      setTimeout(() => {
        button.disabled = false;
        setText(button, "Kill");
      }, AGAIN_AFTER_MS);
      return;
    }
    button.dataset.sure = "asked";
    setText(button, `Really kill ${title}?`);
    const relax = () => {
      if (button.disabled) return;
      delete button.dataset.sure;
      setText(button, "Kill");
    };
    setTimeout(relax, SURE_FOR_MS);
  }
}

// CPU cores, memory and network of a process, as far as they were sampled.
function usesOf(resources, worker) {
  const { cores, memory, network } = resources ?? {};
  const [used, bytes, rate] = [cores?.[worker], memory?.[worker], network?.[worker]];
  const perSecond = (value) => `${joined(units.bytes(value))}/s`;
  return [
    used === undefined ? null : `${used.toFixed(1)} cores`,
    bytes === undefined ? null : joined(units.bytes(bytes)),
    rate === undefined ? null : `sends ${perSecond(rate.sent)}, receives ${perSecond(rate.received)}`,
  ];
}

const keyOf = ({ worker, generation, state }) => `${worker}-${generation}-${state === "arriving"}`;
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

function wordsOf({ state, title, message }, step) {
  if (state === "starting" || state === "arriving") return GETTING_READY;
  if (state === "running") return step === undefined && title.startsWith("parameter server") ? SERVES : "";
  return message?.replace(`${capital(title)}: `, "") ?? "";
}
