// What a figure leaves open: letters, grounds and lines in the page's colours.

export function templateOf(theme) {
  const font = { family: theme.font, size: 14, color: theme.text };
  const axis = {
    automargin: true,
    zeroline: false,
    gridcolor: theme.border,
    zerolinecolor: theme.border,
    tickcolor: theme.border,
  };
  return {
    layout: {
      font,
      colorway: theme.series,
      paper_bgcolor: theme.background,
      plot_bgcolor: theme.background,
      margin: { pad: 8, r: 0, l: 0 },
      legend: { valign: "top", borderwidth: 0 },
      hoverlabel: { bgcolor: theme.background, bordercolor: theme.border, font },
      xaxis: { ...axis, showgrid: false, title: { standoff: 20, font } },
      yaxis: { ...axis, title: { standoff: 24, font } },
    },
    data: { scatter: [{ marker: { line: { width: 0 } } }] },
  };
}
