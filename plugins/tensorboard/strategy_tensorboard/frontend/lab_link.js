// The way from a run to the lab: a link to its page in the lab that runs, or the command that starts one.

import { el, setText } from "../shared/dom.js";

const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

export function labLink() {
  const node = el("p", { class: "open" });
  let drawn = null;

  // `page` is the address of the run in a lab on TensorBoard's machine, or null.
  const draw = (command, page) => {
    const state = JSON.stringify([command, page]);
    if (state === drawn) return; // what is selected stays selected
    drawn = state;
    node.replaceChildren(...content(command, page));
  };
  return { node, draw };
}

function content(command, page) {
  if (page === null) return copied("To explore it in the lab: ", command);
  // The address is one of TensorBoard's machine, on which this browser may not be.
  if (!LOOPBACK.includes(location.hostname)) return copied("In the lab, on TensorBoard's machine: ", page);
  return [el("a", { href: page, target: "_blank", rel: "noopener", text: "Open in the lab" }), ` (${new URL(page).host})`];
}

function copied(label, text) {
  const code = el("code", { text });
  const button = el("button", { type: "button", text: "Copy" });
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      setText(button, "Copied");
    } catch {
      // Without HTTPS or permission there is no clipboard: select it, to be copied by key.
      getSelection().selectAllChildren(code);
      setText(button, "Press Ctrl+C");
    }
  });
  return [label, code, button];
}
