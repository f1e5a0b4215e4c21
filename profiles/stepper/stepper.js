// Steps through a recorded trace of tf.distribute contexts. Everything from the recording is put on
// the page as text, never as markup.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("recording").textContent);
  const main = document.getElementById("stepper");
  const entries = new Map(data.trace.entries.map((entry) => [entry.seq, entry]));
  const beats = makeBeats();
  const lanes = makeLanes();
  let here = Math.max(0, Math.min(beats.length - 1, startStep()));

  const view = build();
  show(here);

  // --- what happened, beat by beat ---------------------------------------------------------

  function makeBeats() {
    const list = [];
    for (const entry of data.trace.entries) {
      list.push({ seq: entry.seq, kind: "enter", entry });
      if (entry.end_seq !== null && (entry.switch || entry.value_out || entry.error || entry.call === "merge_call")) {
        list.push({ seq: entry.end_seq, kind: "leave", entry });
      }
    }
    for (const line of data.trace.printed) {
      list.push({ seq: line.seq, kind: "print", text: line.text, entry: entries.get(line.parent) });
    }
    return list.sort((a, b) => a.seq - b.seq);
  }

  function makeLanes() {
    const replicas = new Set();
    for (const entry of data.trace.entries) if (entry.replica !== null) replicas.add(entry.replica);
    return ["cross", ...[...replicas].sort((a, b) => a - b)];
  }

  function laneOf(entry) {
    return entry && entry.replica !== null ? lanes.indexOf(entry.replica) : 0;
  }

  function colourOf(entry) {
    if (!entry) return "var(--default)";
    if (entry.context === "replica" && entry.replica !== null) {
      return data.colours[entry.replica % data.colours.length];
    }
    return { "cross-replica": "var(--cross)", update: "var(--update)" }[entry.context] || "var(--default)";
  }

  function contextName(entry) {
    if (!entry) return "default context";
    const who = entry.replica === null ? "" : ` ${entry.replica}`;
    return entry.context === "update" ? `update context, replica${who}` : `${entry.context}${who} context`;
  }

  // --- the page ------------------------------------------------------------------------------

  function element(tag, properties = {}, ...children) {
    const node = document.createElement(tag);
    for (const [key, value] of Object.entries(properties)) {
      if (key === "class") node.className = value;
      else if (key === "style") node.style.setProperty("--c", value);
      else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
      else node.setAttribute(key, value);
    }
    node.append(...children.filter((child) => child !== null));
    return node;
  }

  function build() {
    const slider = element("input", {
      type: "range", min: 0, max: Math.max(0, beats.length - 1), "aria-label": "Step",
      oninput: () => show(Number(slider.value)),
    });
    const count = element("span", { class: "count" });
    const now = element("div", { class: "now", "aria-live": "polite" });
    const ribbon = element("div", { class: "ribbon", role: "group", "aria-label": "Contexts over time" });
    const bars = beats.map((beat, index) => {
      const bar = element("button", {
        class: "beat", tabindex: -1, title: sentence(beat), "aria-label": sentence(beat), onclick: () => show(index),
      });
      bar.style.background = colourOf(beat.entry);
      return bar;
    });
    ribbon.append(...bars);
    const code = buildCode();
    const lanesPanel = buildLanes();
    const rules = buildRules();
    const values = element("div");
    const output = element("pre");
    const devices = element("div");
    main.append(
      element("h1", {}, data.title),
      element("p", { class: "about" }, data.text),
      data.error ? buildError() : "",
      element("div", { class: "controls" },
        element("button", { onclick: () => show(0), "aria-label": "First step", title: "Home" }, "|◀"),
        element("button", { onclick: () => show(here - 1), "aria-label": "Step back", title: "Left arrow" }, "◀ Back"),
        element("button", { onclick: () => show(here + 1), "aria-label": "Next step", title: "Right arrow" }, "Next ▶"),
        element("button", { onclick: () => show(beats.length - 1), "aria-label": "Last step", title: "End" }, "▶|"),
        slider, count),
      now, ribbon,
      element("div", { class: "grid" },
        element("section", { class: "panel code", "aria-label": "Code" }, element("h2", {}, "Program"), element("pre", {}, ...code)),
        element("section", { class: "panel", "aria-label": "Contexts" }, lanesPanel.node),
        element("section", { class: "panel side", "aria-label": "Values" },
          element("div", {}, element("h2", {}, "Values that travel"), values),
          element("div", {}, element("h2", {}, "Devices"), devices),
          element("div", {}, element("h2", {}, "Printed so far"), output))),
      rules.node,
    );
    document.addEventListener("keydown", onKey);
    return { slider, count, now, bars, code, boxes: lanesPanel.boxes, rules: rules.rows, values, output, devices };
  }

  function buildCode() {
    return data.source.replace(/\n$/, "").split("\n").map((line, index) =>
      element("div", {}, element("span", { class: "number" }, String(index + 1)), element("span", {}, line || " ")));
  }

  function buildLanes() {
    const node = element("div", { class: "lanes" });
    node.style.gridTemplateColumns = `repeat(${lanes.length}, minmax(90px, 1fr))`;
    lanes.forEach((lane, index) => {
      const colour = lane === "cross" ? "var(--cross)" : data.colours[lane % data.colours.length];
      node.append(element("div", { class: "lane", style: colour }, index ? `Replica ${lane}` : "Cross-replica"));
    });
    const boxes = beats.map((beat, index) => {
      const lane = laneOf(beat.entry);
      const kind = beat.kind === "leave" ? "leave" : beat.kind === "print" ? "call" : beat.entry.switch ? "" : "call";
      const failed = beat.kind === "leave" && beat.entry.error ? "failed" : "";
      const box = element("button", { class: `box ${kind} ${failed}`, style: colourOf(beat.entry), tabindex: -1, onclick: () => show(index) }, label(beat));
      lanes.forEach((_, column) => node.append(column === lane ? box : element("div", { class: "cell" })));
      return box;
    });
    return { node, boxes };
  }

  function buildRules() {
    const rows = data.rules.map((rule) => element("tr", {},
      element("td", {}, rule.calls.join(", ")), element("td", {}, rule.context),
      element("td", {}, rule.takes || "nothing"), element("td", {}, rule.gives)));
    const head = element("tr", {}, ...["Call", "Context", "Takes", "Gives"].map((name) => element("th", {}, name)));
    const node = element("section", { class: "panel rules", "aria-label": "Locality rules" },
      element("h2", {}, "Locality: which values a call takes and gives"),
      element("p", { class: "muted" }, "T its own value on each replica (PerReplica); M the same on every replica (Mirrored); V(v) a copy on each device of variable v; N a copy on each non-slot device."),
      element("table", {}, head, ...rows));
    return { node, rows };
  }

  function buildError() {
    const explained = data.error.explanation;
    const box = element("section", { class: "error", role: "alert" },
      element("h2", {}, `Error${data.error.line ? ` in line ${data.error.line}` : ""}`),
      element("p", {}, element("b", {}, `${data.error.type}: `), data.error.message));
    if (explained) {
      box.append(
        element("p", {}, element("b", {}, "What it means: "), explained.meaning),
        element("p", {}, element("b", {}, "Instead: "), explained.instead),
        element("p", { class: "muted" }, `Where everybody was: ${explained.whereabouts.join("; ")}`));
    }
    return box;
  }

  function label(beat) {
    if (beat.kind === "print") return `“${beat.text}”`;
    if (beat.kind === "leave") return beat.entry.error ? `✕ ${beat.entry.call}` : `↩ ${beat.entry.call}`;
    return beat.entry.call;
  }

  function sentence(beat) {
    if (beat.kind === "print") return `prints “${beat.text}”`;
    const where = contextName(beat.entry);
    if (beat.kind === "leave") return beat.entry.error ? `${beat.entry.call} fails in ${where}` : `${beat.entry.call} returns to its caller`;
    return beat.entry.switch ? `${beat.entry.call}: control enters ${where}` : `${beat.entry.call} is called in ${where}`;
  }

  // --- one step ------------------------------------------------------------------------------

  function show(index) {
    if (!beats.length) {
      view.now.textContent = "Nothing crossed a context. Call strategy.run, reduce or scope, and record again.";
      view.count.textContent = "0 steps";
      return;
    }
    here = Math.max(0, Math.min(beats.length - 1, index));
    const beat = beats[here];
    view.slider.value = String(here);
    view.slider.setAttribute("aria-valuetext", sentence(beat));
    view.count.textContent = `step ${here + 1} of ${beats.length}`;
    const phase = beat.entry && beat.entry.phase === "tracing" ? "while the tf.function is traced; its later steps switch nothing" : "";
    view.now.replaceChildren(sentence(beat), element("small", {}, phase));
    mark(view.bars);
    mark(view.boxes);
    reveal(view.boxes[here]);
    showLine(beat);
    showValues(beat);
    showDevices(beat);
    view.rules.forEach((row, index) => row.classList.toggle("lit", Boolean(beat.entry) && beat.kind !== "print" && data.rules[index].calls.includes(beat.entry.call)));
    view.output.textContent = beats.slice(0, here + 1).filter((b) => b.kind === "print").map((b) => b.text).join("\n") || "nothing yet";
    rememberStep();
  }

  // The address names the step, so that it can be sent to somebody: inside the lab, the lab's own.
  function rememberStep() {
    try {
      const outer = window.parent;
      if (outer === window) {
        history.replaceState(null, "", `#step=${here + 1}`);
      } else {
        const address = new URL(outer.location.href);
        address.searchParams.set("step", String(here + 1));
        outer.history.replaceState(outer.history.state, "", address);
      }
    } catch { /* the page around this one is not ours: no address to change */ }
  }

  function mark(nodes) {
    nodes.forEach((node, index) => {
      node.classList.toggle("done", index < here);
      node.classList.toggle("here", index === here);
    });
  }

  function reveal(node) {
    const panel = node.closest(".panel");
    const inside = node.offsetTop - panel.offsetTop;
    if (inside < panel.scrollTop + 40 || inside > panel.scrollTop + panel.clientHeight - 60) panel.scrollTop = inside - panel.clientHeight / 2;
  }

  function showLine(beat) {
    const line = beat.entry && beat.entry.source.file === data.file ? beat.entry.source.line : null;
    view.code.forEach((node, index) => {
      node.classList.toggle("lit", index + 1 === line);
      node.classList.toggle("wrong", index + 1 === line && Boolean(beat.entry.error));
    });
    const lit = line ? view.code[line - 1] : null;
    if (lit) reveal(lit);
  }

  function showValues(beat) {
    const values = beat.kind === "enter" ? beat.entry.values_in : beat.kind === "leave" && beat.entry.value_out ? [["result", beat.entry.value_out]] : [];
    const error = beat.kind === "leave" && beat.entry.error ? [element("p", { class: "box failed" }, beat.entry.error)] : [];
    view.values.replaceChildren(...error, ...(values.length ? values.map(([name, value]) => describe(name, value)) : [element("p", { class: "muted" }, "none at this step")]));
  }

  function describe(name, value) {
    const box = element("div", { class: "value" }, element("b", {}, name), " ",
      element("span", { class: "chip" }, value.kind), !value.locality ? null : element("span", { class: "chip", title: "Locality: T a tensor of one replica, M mirrored, V(v) laid out like variable v" }, value.locality),
      value.name ? element("span", { class: "muted" }, value.name) : null, value.text ? element("span", { class: "muted" }, value.text) : null);
    if (value.components.length) {
      box.append(element("table", {}, ...value.components.map((part) => element("tr", {},
        element("td", {}, part.replica === null ? "" : `replica ${part.replica}`),
        element("td", { class: "number" }, part.value === null ? element("span", { class: "muted" }, part.reason || "not recorded") : JSON.stringify(part.value)),
        element("td", { class: "muted" }, `${part.dtype}${part.shape ? ` [${part.shape.join(", ")}]` : ""}`),
        element("td", {}, shortDevice(part.device))))));
    }
    for (const [inner, item] of value.items) box.append(describe(`${name}.${inner}`, item));
    return box;
  }

  function shortDevice(device) {
    return device.replace(/^.*\/device:/, "") || "";
  }

  function held(value, found) {
    for (const part of value.components) if (part.device) found.add(shortDevice(part.device));
    for (const [, item] of value.items) held(item, found);
    return found;
  }

  function showDevices(beat) {
    const values = beat.kind === "enter" ? beat.entry.values_in.map(([, value]) => value) : beat.kind === "leave" && beat.entry.value_out ? [beat.entry.value_out] : [];
    const holding = new Set();
    for (const value of values) held(value, holding);
    view.devices.replaceChildren(...data.devices.map((device, replica) => {
      const name = shortDevice(device);
      return element("div", { class: `device ${holding.has(name) ? "holds" : ""}`, style: data.colours[replica % data.colours.length] },
        name, element("span", { class: "muted" }, holding.has(name) ? "holds a value of this step" : `replica ${replica}`));
    }));
  }

  // --- moving --------------------------------------------------------------------------------

  function onKey(event) {
    const moves = { ArrowRight: here + 1, ArrowDown: here + 1, " ": here + 1, ArrowLeft: here - 1, ArrowUp: here - 1, Home: 0, End: beats.length - 1 };
    if (!(event.key in moves) || event.target.tagName === "TEXTAREA" || (event.key === " " && event.target.tagName === "BUTTON")) return;
    event.preventDefault();
    show(moves[event.key]);
  }

  function startStep() {
    const match = /step=(\d+)/.exec(location.hash);
    return (match ? Number(match[1]) : data.step) - 1;
  }
})();
