"""Leaves out the second drawing of each chart, which shows nothing else than the first.

Streamlit's component of a chart gives Plotly the figure, then a copy of it, with Streamlit's theme
applied again and the size written into it. Plotly compares templates by identity, so the copy is
calculated and drawn as a new figure: the whole chart, for nothing. A chart's figure cannot
prevent that: `datarevision` covers the data alone, and the copy is made in any case.

So `Plotly.react` of the page returns at once if it is given the figure that the chart shows, or a
copy of it for the size that the chart has. What the user did to a chart (zoom, hidden traces) is in
Plotly's figure, which stays; a copy with anything else in it is drawn.
"""

from __future__ import annotations

CHART_REDRAW_SCRIPT = """
(() => {
  const shown = new WeakMap();
  const textOf = ({data, layout, config, frames}) =>
    JSON.stringify([data, {...layout, width: 0, height: 0}, config, frames ?? null]);
  const isShown = (chart, figure, text) => {
    if (!chart._fullLayout) return false;
    const {width, height} = chart._fullLayout, {layout} = figure;
    const isOfSize = (layout.width ?? width) === width && (layout.height ?? height) === height;
    const isSame = figure.data === chart.data && figure.layout === chart.layout;
    return isOfSize && (isSame || shown.get(chart) === text);
  };
  const withReact = (plotly) => {
    const react = plotly.react;
    plotly.react = (chart, figure, ...others) => {
      if (!figure?.layout || others.length) return react(chart, figure, ...others);
      const text = textOf(figure);
      if (isShown(chart, figure, text)) {
        // Streamlit reads the figure back, and gives it again with a size where it has none.
        Object.assign(chart.layout, {width: figure.layout.width, height: figure.layout.height});
        return Promise.resolve(chart);
      }
      shown.set(chart, text);
      // Plotly writes into what it is given, and Streamlit may copy that only afterwards.
      const {data, layout} = structuredClone({data: figure.data, layout: figure.layout});
      return react(chart, {...figure, data, layout});
    };
    return plotly;
  };
  let plotly;
  Object.defineProperty(window, "Plotly", {
    configurable: true,
    get: () => plotly,
    set: (found) => { plotly = found?.react ? withReact(found) : found; },
  });
})();
"""
