// Line charts with uPlot: one shared cursor over all that count steps, zoom by dragging.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("report-data").textContent);
  const made = [];
  const number = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
  const text = (value, unit) => value == null ? "–" : `${number.format(value)}${unit ? " " + unit : ""}`;
  const SIZES = [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"]];

  function bytes(value) {
    if (value == null) return "–";
    const scale = SIZES.find(([size]) => Math.abs(value) >= size);
    return scale ? `${number.format(value / scale[0])} ${scale[1]}` : `${value} B`;
  }

  const WHOLE = Array.from({ length: 27 }, (_, i) => [1, 2, 5][i % 3] * 10 ** Math.floor(i / 3)); // no half steps
  const show = (value, unit) => unit === "bytes" ? bytes(value) : text(value, unit);

  // Every series of a chart becomes one column, or three where it is an envelope. A null is a gap.
  function columns(chart) {
    const tables = [], series = [{ label: chart.x_label, value: (u, v) => text(v) }], bands = [];
    const shape = chart.is_stepped ? { paths: uPlot.paths.stepped({ align: 1 }) } : {};
    for (const line of chart.series) {
      const colour = line.colour || Theme.colour(line.colour_name || "series");
      if (line.outline) {
        tables.push([line.x, line.y]);
        series.push({ label: "", class: "outline", stroke: line.outline, width: 4, points: { show: false }, ...shape });
      }
      const first = series.length;
      tables.push([line.x, line.y]);
      series.push({
        label: line.label, stroke: colour, width: line.width || 1.5, dash: line.dash,
        points: { show: line.x.length < 30 },
        ...(chart.y_range ? { gaps: gapsAbove } : {}),
        ...shape,
        value: (u, v) => show(v, chart.unit),
      });
      if (!line.low) continue;
      tables.push([line.x, line.high], [line.x, line.low]);
      const edge = { stroke: "transparent", width: 0, points: { show: false } };
      series.push({ ...edge, label: `highest`, value: (u, v) => show(v, chart.unit) });
      series.push({ ...edge, label: `lowest`, value: (u, v) => show(v, chart.unit) });
      bands.push({ series: [first + 1, first + 2], fill: colour + "38" });
    }
    return { aligned: uPlot.join(tables), series, bands };
  }

  // A line to a point above the chart would seem to rise at its neighbour: it is cut there.
  function gapsAbove(u, index, from, to) {
    const [xs, ys] = [u.data[0], u.data[index]], top = u.scales.y.max, gaps = [];
    for (let i = from; i <= to; i++) {
      if (!(ys[i] == null || ys[i] > top)) continue;
      const [left, right] = [Math.max(i - 1, from), Math.min(i + 1, to)].map((at) => u.valToPos(xs[at], "x", true));
      const ends = [left - 2 * devicePixelRatio, right + 2 * devicePixelRatio];
      if (gaps.length && ends[0] <= gaps.at(-1)[1]) gaps.at(-1)[1] = ends[1];
      else gaps.push(ends);
    }
    return gaps;
  }

  // What lies above the chart is an arrow at its top edge.
  function arrows(u) {
    const { ctx } = u, size = 5 * devicePixelRatio, { top } = u.bbox;
    ctx.fillStyle = Theme.colour("series");
    u.data[1].forEach((value, i) => {
      const at = u.data[0][i];
      if (!(value > u.scales.y.max) || at < u.scales.x.min || at > u.scales.x.max) return;
      const x = u.valToPos(at, "x", true);
      ctx.beginPath();
      ctx.moveTo(x, top);
      ctx.lineTo(x + size, top + 1.5 * size);
      ctx.lineTo(x - size, top + 1.5 * size);
      ctx.fill();
    });
  }

  // Where a segment opens, a dashed line says what it runs; captured steps are ticks below.
  function marks(chart) {
    return (u) => {
      const { ctx } = u, ratio = devicePixelRatio, { left, top, width, height } = u.bbox;
      ctx.save();
      ctx.beginPath();
      ctx.rect(left, top, width, height);
      ctx.clip();
      ctx.fillStyle = Theme.colour("accent");
      for (const [from, to] of chart.captured || []) {
        const x = u.valToPos(from - 0.5, "x", true), end = u.valToPos(to + 0.5, "x", true);
        ctx.fillRect(x, top + height - 4 * ratio, Math.max(end - x, ratio), 4 * ratio);
      }
      ctx.font = `${11 * ratio}px 'Lab Sans', system-ui, sans-serif`;
      ctx.strokeStyle = ctx.fillStyle = Theme.colour("quiet");
      ctx.textAlign = "left";
      ctx.textBaseline = "alphabetic";
      ctx.setLineDash([4 * ratio, 3 * ratio]);
      let free = -Infinity;
      for (const mark of chart.marks || []) {
        const x = u.valToPos(mark.x - 0.5, "x", true);
        if (mark.line) {
          ctx.beginPath();
          ctx.moveTo(x, top);
          ctx.lineTo(x, top + height);
          ctx.stroke();
        }
        if (!chart.names_marks || x < free || x > left + width) continue;
        ctx.fillText(mark.label, Math.max(x, left) + 4 * ratio, top + 12 * ratio);
        free = Math.max(x, left) + ctx.measureText(mark.label).width + 12 * ratio;
      }
      ctx.restore();
    };
  }

  function options(chart, width, height, series, bands) {
    const ink = Theme.colour("quiet"), line = Theme.colour("line");
    const font = "12px 'Lab Sans', system-ui, sans-serif";
    const axis = { stroke: ink, font, labelFont: font, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
    const range = chart.y_range && ((u, low, high) => {
      const { min, max } = u.scales.x;
      const zoomed = min != null && (min > u.data[0][0] || max < u.data[0].at(-1));
      return zoomed ? uPlot.rangeNum(low, high, 0.1, true) : chart.y_range;
    });
    return {
      width, height, series, bands,
      scales: { x: { time: false }, y: range ? { range } : { range: (u, low, high) =>
        low == null ? [0, 1] : chart.from_zero ? [0, high * 1.08 || 1] : uPlot.rangeNum(low, high, 0.1, false) } },
      axes: [
        { ...axis, label: chart.x_label, labelSize: 18, size: 34, ...(chart.x_label === "step" ? { incrs: WHOLE } : {}) },
        { ...axis, label: chart.y_label, labelSize: 18, size: 62,
          values: (u, ticks) => ticks.map((v) => chart.unit === "bytes" ? bytes(v) : number.format(v)) },
      ],
      legend: { markers: { width: 0, fill: (u, index) => u.series[index].stroke?.(u, index) } },
      cursor: { sync: { key: chart.sync || "steps", setSeries: false }, focus: { prox: 24 } },
      hooks: { draw: [marks(chart), ...(chart.y_range ? [arrows] : [])] },
    };
  }

  function draw(place, chart) {
    const { aligned, series, bands } = columns(chart);
    const width = Math.max(place.clientWidth, 240);
    const height = Math.min(Number(place.dataset.height) || 240, width * 0.75);
    place.replaceChildren();
    return new uPlot(options(chart, width, height, series, bands), aligned, place);
  }

  function drawAll() {
    for (const item of made) {
      item.plot.destroy();
      item.plot = draw(item.place, item.chart);
    }
  }

  function fit(width) {
    for (const item of made) {
      const target = Math.max(width || item.place.clientWidth, 240);
      item.plot.setSize({ width: target, height: Math.min(Number(item.place.dataset.height) || 240, target * 0.75) });
    }
  }

  document.addEventListener("DOMContentLoaded", () => {
    for (const place of document.querySelectorAll("[data-chart]")) {
      const chart = data.charts[place.dataset.chart];
      made.push({ place, chart, plot: draw(place, chart) });
    }
    Theme.onChange(drawAll);
    document.fonts.load("1rem 'Lab Sans'").then(() => window.dispatchEvent(new Event("resize"))); // canvases
    let pending = 0;
    window.addEventListener("resize", () => {
      cancelAnimationFrame(pending);
      pending = requestAnimationFrame(() => fit());
    });
    window.addEventListener("beforeprint", () => fit(640)); // a page of paper, whatever the screen
    window.addEventListener("afterprint", () => fit());
  });
})();
