// Steps through a recorded trace of tf.distribute contexts. Everything from the recording is put on
// the page as text, never as markup.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("recording").textContent);
  const main = document.getElementById("stepper");
  const entries = new Map(data.trace.entries.map((entry) => [entry.seq, entry]));
  // `plugins/contexts/strategy_contexts/stepper/story.py` decides the steps, their reasons and their arrows.
  const beats = data.steps.map((step) => ({ ...step, entry: entries.get(step.entry) }));
  const LONGEST_NAME = 30; // characters of code that a row has room for at 1280 px
  const lanes = makeLanes();
  const isInLecture = window.name === "lecture"; // the frame in which a lecture shows its evidence
  let here = Math.max(0, Math.min(beats.length - 1, startStep()));

  document.documentElement.classList.toggle("lecture", isInLecture || new URLSearchParams(location.search).has("lecture"));

  const view = build();
  show(here);

  // --- lanes -------------------------------------------------------------------------------

  function laneOf(place) {
    return place.context === "replica" && place.replica !== null ? `replica ${place.replica}` : place.context;
  }

  function makeLanes() {
    const found = new Set(beats.map((beat) => laneOf(beat)));
    const replicas = [...found].filter((lane) => lane.startsWith("replica ")).sort((a, b) => a.slice(8) - b.slice(8));
    return ["default", "cross-replica", "replica", ...replicas, "update"].filter((lane) => found.has(lane));
  }

  function colourOf(place) {
    if (place.context === "replica" && place.replica !== null) {
      return data.colours[place.replica % data.colours.length];
    }
    return { "cross-replica": "var(--cross)", update: "var(--update)" }[place.context] || "var(--default)";
  }

  function contextName(place) {
    if (place.context === "update" && place.replica !== null) return `update context, for the copy of replica ${place.replica}`;
    return `${laneOf(place)} context`;
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
    const now = element("span", { class: "now" });
    const why = element("span", { class: "why" });
    const caption = element("div", { class: "caption", role: "status" }, now, why);
    const code = buildCode();
    const lanesPanel = buildLanes();
    const rules = buildRules();
    const values = element("div");
    const output = element("pre");
    const devices = element("div");
    main.append(
      element("header", {},
        element("h1", {}, data.title),
        element("div", { class: "controls" },
          element("button", { onclick: () => show(0), "aria-label": "First step", title: "Home" }, "|◀"),
          element("button", { onclick: () => show(here - 1), "aria-label": "Step back", title: "Left arrow" }, "◀"),
          element("button", { class: "next", onclick: () => show(here + 1), "aria-label": "Next step", title: "Right arrow" }, "Next ▶"),
          element("button", { onclick: () => show(beats.length - 1), "aria-label": "Last step", title: "End" }, "▶|"),
          slider, count,
          element("button", { onclick: toggleLecture, "aria-label": "Lecture view", class: "wide", title: "f: large text, full screen" }, "Lecture"))),
      element("p", { class: "about" }, data.text, data.tensorflow ? ` Recorded with TensorFlow ${data.tensorflow}.` : ""),
      data.error ? buildError() : "",
      caption,
      element("div", { class: "grid" },
        element("section", { class: "panel code", "aria-label": "Program", tabindex: 0 }, element("pre", {}, ...code)),
        element("section", { class: "panel", "aria-label": "Contexts", tabindex: 0 }, lanesPanel.node),
        element("section", { class: "panel side", "aria-label": "Values", tabindex: 0 },
          element("div", {}, element("h2", {}, "Values of this step"), values),
          element("div", {}, element("h2", {}, "Printed so far"), output),
          element("div", {}, element("h2", {}, "Devices"), devices),
          element("details", {}, element("summary", {}, "Which values each call takes and gives"), ...rules.nodes))),
    );
    document.addEventListener("keydown", onKey);
    return { slider, count, caption, now, why, code, ...lanesPanel, rules: rules.rows, values, output, devices };
  }

  // The docstring is the title and the text above the program; the other lines keep their numbers.
  function buildCode() {
    const lines = data.source.trimEnd().split("\n");
    let first = 0;
    if (data.text && lines[0].startsWith('"""')) {
      first = lines.findIndex((line, index) => index > 0 && line.includes('"""')) + 1;
      while (first < lines.length && !lines[first]) first += 1;
    }
    return lines.map((line, index) => element("div", index < first ? { hidden: "" } : {},
      element("span", { class: "number" }, String(index + 1)), buildLine(line)));
  }

  // A line that is too long goes on below its own indentation, and breaks between names. A name that no row has room for
  // breaks after an underscore.
  function buildLine(line) {
    const names = line.split(/(?<=[.,([{=])/).flatMap((part) => (part.length > LONGEST_NAME ? part.split(/(?<=_)/) : [part]));
    const parts = names.flatMap((part) => [part, element("wbr")]);
    const node = element("span", { class: "text" }, ...(line ? parts : [" "]));
    node.style.setProperty("--indent", `${line.search(/\S|$/) + 2}ch`);
    return node;
  }

  function buildLanes() {
    const node = element("div", { class: "lanes" });
    node.style.gridTemplateColumns = `repeat(${lanes.length}, minmax(90px, 1fr))`;
    for (const lane of lanes) {
      const colour = colourOf(beats.find((beat) => laneOf(beat) === lane));
      node.append(element("div", { class: "lane", style: colour }, lane[0].toUpperCase() + lane.slice(1)));
    }
    const arrows = [];
    let row = 2;
    const boxes = beats.map((beat, index) => {
      const kind = beat.kind === "leave" ? "leave" : beat.kind === "print" ? "call" : beat.entry.switch ? "" : "call";
      const failed = beat.kind === "leave" && beat.entry.error ? "failed" : "";
      const box = element("button", { class: `box ${kind} ${failed}`, style: colourOf(beat), tabindex: -1, onclick: () => show(index) }, ...breakable(label(beat)));
      // Arrows into a box are above it, arrows out of it below.
      const place = () => { box.style.gridArea = `${row++} / ${lanes.indexOf(laneOf(beat)) + 1}`; };
      if (beat.kind !== "enter") place();
      for (const arrow of beat.arrows) {
        const line = buildArrow(arrow, row++);
        arrows.push({ line, index });
        node.append(line);
      }
      if (beat.kind === "enter") place();
      node.append(box);
      return box;
    });
    return { node, boxes, arrows };
  }

  // From the middle of one lane to the middle of the other.
  function buildArrow(arrow, row) {
    const [from, to] = [lanes.indexOf(arrow.start), lanes.indexOf(arrow.end)];
    const line = element("div", { class: `arrow ${to > from ? "right" : "left"}` }, element("span", {}, arrow.text));
    line.style.gridArea = `${row} / ${Math.min(from, to) + 1} / ${row + 1} / ${Math.max(from, to) + 2}`;
    line.style.margin = `0 ${50 / (Math.abs(to - from) + 1)}%`;
    return line;
  }

  function buildRules() {
    const rows = data.rules.map((rule) => element("tr", {},
      element("td", {}, rule.calls.join(", ")), element("td", {}, rule.context),
      element("td", {}, rule.takes || "nothing"), element("td", {}, rule.gives)));
    const head = element("tr", {}, ...["Call", "Context", "Takes", "Gives"].map((name) => element("th", {}, name)));
    const letters = "T: its own value on each replica (PerReplica). M: the same value on every replica (Mirrored). V(v): a copy on each device of variable v. N: a copy on each non-slot device.";
    return { nodes: [element("p", { class: "muted" }, letters), element("table", { class: "rules" }, head, ...rows)], rows };
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
        element("p", { class: "muted" }, `Last actions: ${explained.whereabouts.join("; ")}`));
    }
    return box;
  }

  // A long name breaks after an underscore, a dot or an opening bracket and not within a word.
  function breakable(text) {
    return text.split(/(?<=[^_]_|\w\.|\()(?=[^_\s).])/).flatMap((part, at) => (at ? [document.createElement("wbr"), part] : [part]));
  }

  function label(beat) {
    if (beat.kind === "print") return `“${beat.text}”`;
    if (beat.kind === "leave") return `${beat.entry.error ? "✕" : "↩"} ${beat.entry.call.replace("enter ", "")}`;
    return beat.entry.call;
  }

  function sentence(beat) {
    if (beat.kind === "print") return `prints “${beat.text}”`;
    const where = contextName(beat);
    if (beat.entry.call.startsWith("enter ")) {
      if (beat.kind === "enter") return `Control enters ${where}`;
      return beat.entry.error ? `The error leaves ${where}` : `Control leaves ${where}`;
    }
    if (beat.kind === "leave") return beat.entry.error ? `${beat.entry.call} fails in ${where}` : `${beat.entry.call} is done in ${where}`;
    return beat.entry.switch ? `${beat.entry.call}: control enters ${where}` : `${beat.entry.call} is called in ${where}`;
  }

  // --- one step ------------------------------------------------------------------------------

  function show(index) {
    if (!beats.length) {
      view.why.textContent = "Nothing crossed a context. Call strategy.run, reduce or scope, and record again.";
      view.count.textContent = "0 steps";
      return;
    }
    here = Math.max(0, Math.min(beats.length - 1, index));
    const beat = beats[here];
    view.slider.value = String(here);
    view.slider.setAttribute("aria-valuetext", sentence(beat));
    view.count.textContent = `step ${here + 1} of ${beats.length}`;
    const phase = beat.entry && beat.entry.phase === "tracing" ? "while the tf.function is traced; its later steps switch nothing" : "";
    view.caption.style.setProperty("--c", colourOf(beat));
    view.now.textContent = sentence(beat);
    view.why.replaceChildren(beat.why, element("small", {}, phase ? ` (${phase})` : ""));
    view.boxes.forEach((box, each) => {
      box.classList.toggle("done", each < here);
      box.classList.toggle("here", each === here);
    });
    for (const { line, index: step } of view.arrows) line.classList.toggle("here", step === here);
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

  // Keeps the active line in the middle of its panel; the page around it stays where it is.
  function reveal(node) {
    const panel = node.closest(".panel");
    const top = node.getBoundingClientRect().top - panel.getBoundingClientRect().top;
    const isInside = top > panel.clientHeight * 0.2 && top + node.offsetHeight < panel.clientHeight * 0.8;
    if (!isInside) panel.scrollTop += top - Math.max(0, panel.clientHeight - node.offsetHeight) / 2;
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
      element("span", { class: "chip" }, value.kind), !value.locality ? null : element("span", { class: "chip" }, locality(value.locality)),
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

  function locality(letters) {
    if (letters.startsWith("V(")) return `${letters}: a copy on each device of ${letters.slice(2, -1)}`;
    return { T: "T: one value per replica", M: "M: the same on every replica" }[letters] || letters;
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

  function toggleLecture() {
    const root = document.documentElement;
    const isOn = root.classList.toggle("lecture");
    if (isOn) root.requestFullscreen?.().catch(() => {}); // a frame may be refused; the text is large all the same
    else if (document.fullscreenElement) document.exitFullscreen();
    show(here);
  }

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (isInLecture && (event.key === "Escape" || event.key === "p")) {
      window.parent.postMessage("back to the question", "*");
      return;
    }
    if (event.key === "f" || (event.key === "Escape" && document.documentElement.classList.contains("lecture"))) {
      toggleLecture();
      return;
    }
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
