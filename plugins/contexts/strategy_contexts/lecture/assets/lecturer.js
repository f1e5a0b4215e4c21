// The lecturer's page: draws what the lab answers, and sends what a key or button asks for.

const LETTERS = "ABCDEFGH";
const page = document.getElementById("page");
let drawn = null;
let pictureOf = "";
let error = "";
let isWhole = false;

async function ask(path, options) {
  const answer = await fetch(path, options);
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.error);
  return found;
}

async function command(name) {
  try {
    error = "";
    draw(await ask(`api/lecture/${name}`, { method: "POST" }));
  } catch (failed) {
    error = failed.message;
    if (drawn) draw(drawn);
  }
}

async function follow() {
  for (;;) {
    try {
      const found = await ask(`api/lecture${drawn ? `?seen=${drawn.version}` : ""}`);
      // A command's answer may have overtaken this one. After an error the lab may have been restarted.
      const isNew = error || !drawn || found.version > drawn.version;
      error = "";
      if (isNew) draw(found);
    } catch (failed) {
      error = `The lab does not answer: ${failed.message}`;
      if (drawn) draw(drawn);
      else page.replaceChildren(el("p", { class: "error", text: error }));
      await new Promise((resolve) => setTimeout(resolve, 2000));
    }
  }
}

function draw(found) {
  const isMoved = !drawn || found.scene !== drawn.scene || found.is_revealed !== drawn.is_revealed;
  drawn = found;
  if (isMoved) isWhole = false;
  const focused = document.activeElement?.dataset?.command;
  const isCode = Boolean(found.program) && !isShowingBars();
  page.replaceChildren(head(), el("h1", { text: found.text }), el("div", { class: isCode ? "body code" : "body" }, left(), picture()), foot());
  if (found.is_revealed) page.lastChild.before(el("p", { class: "why", text: found.why }));
  const lit = page.querySelector(".lit");
  if (lit) lit.parentNode.parentNode.scrollTop = lit.offsetTop - lit.parentNode.offsetTop - lit.parentNode.parentNode.clientHeight / 2;
  page.querySelector(`[data-command="${focused}"]`)?.focus();
}

function head() {
  const address = drawn.links.length ? new URL(drawn.links[0]) : null;
  const link = address && `${address.host}${address.pathname}`;
  return el("header", {},
    el("span", { class: "place", text: `${drawn.scene + 1}/${drawn.count}` }),
    el("span", { class: "title", text: drawn.title }),
    link ? el("span", { class: "link", title: drawn.links.join("  "), text: link }) : null);
}

function left() {
  const most = Math.max(1, ...(drawn.counts ?? []));
  const choices = drawn.choices.map((text, index) => el("li", { class: drawn.right === index ? "right" : "" },
    el("span", { class: "letter", text: LETTERS[index] }),
    el("span", { class: "text", text: drawn.right === index ? `${text} ✓` : text }),
    drawn.counts ? el("span", { class: "num", text: String(drawn.counts[index]) }) : null,
    drawn.counts ? el("meter", { "aria-label": `Answers to ${LETTERS[index]}`, value: String(drawn.counts[index]), max: String(most) }) : null));
  return el("div", { class: "left", tabindex: "0", role: "group", "aria-label": "Choices" }, el("ol", { class: "choices" }, ...choices),
    drawn.is_revealed ? (isShowingBars() ? null : evidence()) : qrCode());
}

function evidence() {
  return el("p", { class: "evidence", text: drawn.evidence });
}

// The link is written in the header, so that the picture is for cameras alone.
function qrCode() {
  return drawn.qr ? el("img", { class: "qr", src: drawn.qr, alt: "QR code of the link in the header" }) : null;
}

function picture() {
  if (isWhole) return wholePicture();
  const parts = isShowingBars() ? [bars(), evidence()] : [drawn.program ? program() : setup()];
  return el("div", { class: "picture", tabindex: "0", role: "group", "aria-label": "Picture" }, ...parts);
}

function isShowingBars() {
  return drawn.is_revealed && drawn.bars.length > 0;
}

function program() {
  const lines = drawn.program.trimEnd().split("\n");
  const start = lines.findIndex((line) => line.startsWith("def demonstrate"));
  // A comment may give the answer away. The numbers show where an empty line is.
  const isLeftOut = (line, index) => index < start || !line.trim() || (!drawn.is_revealed && line.trim().startsWith("#"));
  return el("pre", {}, ...lines.map((line, index) => {
    if (isLeftOut(line, index)) return null;
    const row = el("span", { class: index + 1 === drawn.line ? "lit" : "" }, el("b", { text: String(index + 1) }), line);
    row.style.setProperty("--hanging", `${line.search(/\S/) + 4}ch`); // a long line goes on below its indentation
    return row;
  }));
}

function setup() {
  return el("div", { class: "setup" }, ...drawn.setup.map((replica) => el("div", {},
    el("p", { text: replica.title }), el("p", { text: replica.device }), el("p", { text: replica.examples }),
    replica.delay ? el("p", { class: "delay", text: replica.delay }) : null)));
}

function bars() {
  const most = Math.max(...drawn.bars.map((bar) => bar.value));
  return el("div", { class: "bars" }, ...drawn.bars.flatMap((bar) => {
    const length = el("i");
    length.style.width = `${(100 * bar.value) / most}%`;
    if (bar.colour) length.style.background = bar.colour;
    return [el("span", { text: bar.label }), el("span", {}, length), el("span", { class: "value", text: bar.text })];
  }));
}

// The viewer's document comes with its own style and script; the sandbox keeps it from the lab.
function wholePicture() {
  const frame = el("iframe", { name: "lecture", title: "The evidence: what was recorded", sandbox: "allow-scripts", srcdoc: pictureOf });
  return el("div", { class: "picture whole" }, button("picture", "✕", { "aria-label": "Back to the question", title: "Back to the question (Esc)" }), frame);
}

async function togglePicture() {
  if (!isWhole) {
    if (!drawn.is_revealed) return;
    pictureOf = await (await fetch("api/lecture/picture")).text();
  }
  isWhole = !isWhole;
  draw(drawn);
}

function button(name, text, options = {}) {
  const act = name === "picture" ? togglePicture : () => command(name);
  return el("button", { type: "button", text, dataset: { command: name }, on: { click: act }, ...options });
}

function foot() {
  const answers = drawn.counts?.reduce((sum, count) => sum + count, 0);
  const said = [
    error,
    drawn.num_guesses ? `Somebody guesses the code: ${drawn.num_guesses} wrong ones from one address. To have another code, close the room and open it again.` : "",
    drawn.counts ? `${answers} ${answers === 1 ? "answer" : "answers"}` : "",
    drawn.links[0]?.includes("127.0.0.1") ? "This machine has no other address: phones cannot reach it." : "",
    drawn.live || drawn.origin,
  ];
  const isLast = drawn.scene + 1 === drawn.count && drawn.is_revealed;
  return el("footer", {},
    el("span", { class: error ? "origin error" : "origin", role: "status", text: said.filter(Boolean).join(" · ") }),
    drawn.run ? el("a", { href: `overview?run=${encodeURIComponent(drawn.run)}`, target: "_blank", text: "This run in the lab" }) : null,
    button("back", "← Back", { disabled: !drawn.scene && !drawn.is_revealed }),
    button("forward", drawn.is_revealed ? "Next →" : "Reveal →", { disabled: isLast }),
    button("run", "Run it now (r)", { disabled: drawn.is_revealed }),
    drawn.is_revealed ? button("picture", "Show the recording (p)") : null,
    drawn.counts ? button("close", "Close the room") : button("open", "Open the room (o)"));
}

const KEYS = { ArrowRight: "forward", PageDown: "forward", " ": "forward", ArrowLeft: "back", PageUp: "back", r: "run" };

document.addEventListener("keydown", (event) => {
  if (!drawn || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === " " && event.target.tagName === "BUTTON") return;
  if (event.key === "p" || (event.key === "Escape" && isWhole)) togglePicture();
  else if (event.key === "o" && !drawn.counts) command("open");
  else if (KEYS[event.key] && !(event.key === "r" && drawn.is_revealed)) {
    event.preventDefault();
    if (!event.repeat) command(KEYS[event.key]);
  }
});

// Keys that are pressed in the frame arrive here alone.
window.addEventListener("message", (event) => {
  if (isWhole && event.source === document.querySelector("iframe")?.contentWindow) togglePicture();
});

follow();
