// Makes the buttons of a chart's toolbar one stop of the Tab key, as WAI-ARIA asks of toolbars.
//
// Plotly says that the buttons are a toolbar, and makes each of them a stop: eight per chart. Once
// one has the focus, Tab leaves the toolbar, and the arrow keys, Home and End move within it. Plotly
// may make the buttons again at any time, so nothing is written into them before one has the focus.

const buttonsBeside = (target) => [
  ...(target.closest?.(".modebar")?.querySelectorAll(".modebar-btn") ?? []),
];

export function oneTabStop(chart) {
  chart.addEventListener("focusin", ({ target }) => {
    for (const button of buttonsBeside(target)) button.tabIndex = button === target ? 0 : -1;
  });
  chart.addEventListener(
    "keydown",
    (event) => {
      const buttons = buttonsBeside(event.target);
      const at = buttons.indexOf(event.target);
      const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 }[event.key];
      if (at < 0 || to === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      event.stopPropagation();
      buttons.at(to % buttons.length).focus();
    },
    true,
  );
}
