// A phone's page: the question, one button per choice, and after the reveal whether it was right.

const LETTERS = "ABCDEFGH";
const page = document.getElementById("page");
const here = location.pathname.replace(/\/+$/, "");
let drawn = null;
let problem = "";
let isOver = false;

async function ask(path, options) {
  const answer = await fetch(`${here}/${path}`, options);
  if (answer.status === 404) {
    isOver = true;
    throw new Error("The lecture is over, or this is not its address.");
  }
  if (answer.status === 429) throw new Error("Too many taps. Wait a moment.");
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.error);
  return found;
}

async function choose(index) {
  const before = drawn;
  problem = "";
  draw({ ...drawn, yours: index });
  try {
    draw(await ask(`answers/${before.scene}/${index}`, { method: "POST" }));
  } catch (failed) {
    problem = failed.message;
    if (drawn.scene === before.scene) draw({ ...drawn, yours: before.yours });
  }
}

async function follow() {
  while (!isOver) { // an address that asks again counts as one that guesses codes
    try {
      const found = await ask(`question${drawn ? `?seen=${drawn.version}` : ""}`);
      if (drawn && found.version <= drawn.version && !problem) continue;
      problem = "";
      draw(found);
    } catch (failed) {
      problem = failed.message;
      if (drawn) draw(drawn);
      else page.replaceChildren(el("h1", { text: problem }));
      await new Promise((resolve) => setTimeout(resolve, 3000));
    }
  }
}

function draw(found) {
  drawn = found;
  const focused = document.activeElement?.dataset?.choice;
  page.replaceChildren(
    el("p", { class: "place", text: `Question ${found.scene + 1} of ${found.count}` }),
    el("h1", { text: found.text }),
    el("div", { class: "choices" }, ...found.choices.map(choice)),
    said(),
    ...(found.is_revealed ? [el("p", { class: "evidence", text: found.evidence })] : []));
  page.querySelector(`[data-choice="${focused}"]`)?.focus();
}

function choice(text, index) {
  return el("button", {
    type: "button",
    class: drawn.right === index ? "right" : "",
    "aria-pressed": String(drawn.yours === index),
    disabled: drawn.is_revealed,
    dataset: { choice: String(index) },
    on: { click: () => choose(index) },
  }, el("b", { text: LETTERS[index] }), el("span", { text: drawn.right === index ? `${text} ✓` : text }));
}

function said() {
  const isRight = drawn.yours === drawn.right;
  const text = problem || (!drawn.is_revealed
    ? (drawn.yours === null ? "Tap your answer." : `You chose ${LETTERS[drawn.yours]}. You can change it until the reveal.`)
    : drawn.yours === null ? "You did not answer." : isRight ? "Right." : `Wrong: it is ${LETTERS[drawn.right]}.`);
  const kind = problem ? "wrong" : drawn.is_revealed && drawn.yours !== null ? (isRight ? "right" : "wrong") : "";
  return el("p", { class: `said ${kind}`, role: "status", text });
}

follow();
