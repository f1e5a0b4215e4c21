// The timeline: every span of the captured steps, drawn at the level of detail that the zoom allows.
"use strict";
(() => {
  const holder = document.getElementById("timeline-view");
  if (!holder) return;
  const data = JSON.parse(document.getElementById("report-data").textContent).timeline;
  const canvas = holder.querySelector("canvas"), ctx = canvas.getContext("2d");
  const tip = holder.querySelector(".tip"), said = document.getElementById("timeline-said");
  const picker = document.getElementById("timeline-stretch");
  const names = unfold(data.names), AXIS = 22, GAP = 9;
  const MS = 1e4; // times are counted in units of 100 ns
  let stretch, view, laneHeight, gutter, hovered = null, chosen = null, dragged = null, pending = 0;

  // Names are sorted; each says how many characters it shares with the one before.
  function unfold(folded) {
    let last = "";
    return folded.map(([shared, rest, op, category]) => {
      last = last.slice(0, shared) + rest;
      return { name: last, op: data.ops[op], category: data.categories[category] };
    });
  }

  function decode(source) {
    const bytes = Uint8Array.from(atob(source.spans), (c) => c.charCodeAt(0));
    const lanes = Array.from({ length: source.num_lanes }, () => ({ start: [], end: [], name: [] }));
    let at = 0, clock = 0;
    const next = () => {
      let value = 0, scale = 1, byte;
      do {
        byte = bytes[at++];
        value += (byte & 127) * scale;
        scale *= 128;
      } while (byte & 128);
      return value;
    };
    while (at < bytes.length) {
      clock += next();
      const length = next(), lane = lanes[next()];
      lane.start.push(clock);
      lane.end.push(clock + length);
      lane.name.push(next());
    }
    return lanes;
  }

  function open(index) {
    const source = data.stretches[index];
    const lanes = source.lanes ??= decode(source);
    const ends = lanes.map((lane) => lane.end.at(-1) ?? 0);
    stretch = { ...source, lanes, end: Math.max(...ends, ...source.steps.map((s) => s[2]), 1) };
    view = { from: 0, to: stretch.end };
    hovered = chosen = null;
    picker.value = index;
    layout();
  }

  function layout() {
    const width = holder.clientWidth;
    gutter = width < 560 ? 74 : 150;
    laneHeight = Math.max(6, Math.min(16, Math.floor(760 / stretch.num_lanes)));
    let y = AXIS + 4;
    for (const row of stretch.rows) {
      row.y = y;
      y += Math.max(row.num_lanes * laneHeight, 12) + GAP;
    }
    y += 8; // room for the steps' names
    canvas.height = y * devicePixelRatio;
    canvas.width = width * devicePixelRatio;
    canvas.style.height = `${y}px`;
    schedule();
  }

  function schedule() {
    cancelAnimationFrame(pending);
    pending = requestAnimationFrame(draw);
  }

  const toX = (time, width) => gutter + (time - view.from) / (view.to - view.from) * (width - gutter);
  const toTime = (x) => view.from + (x - gutter) / (holder.clientWidth - gutter) * (view.to - view.from);

  function draw() {
    const width = canvas.width / devicePixelRatio, height = canvas.height / devicePixelRatio;
    ctx.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    ctx.fillStyle = Theme.colour("ground");
    ctx.fillRect(0, 0, width, height);
    const colours = Object.fromEntries(data.categories.map((name) => [name, Theme.colour(name)]));
    drawAxis(width, height);
    for (const row of stretch.rows) {
      drawLabel(row);
      for (let lane = 0; lane < row.num_lanes; lane++) {
        drawLane(stretch.lanes[row.first_lane + lane], row.y + lane * laneHeight, width, colours);
      }
    }
    for (const [item, colour] of [[hovered, "ink"], [chosen, "focus"]]) {
      if (item) outline(item, width, Theme.colour(colour));
    }
  }

  function drawAxis(width, height) {
    ctx.font = "11px 'Lab Sans', system-ui, sans-serif";
    ctx.fillStyle = Theme.colour("quiet");
    ctx.strokeStyle = Theme.colour("line");
    ctx.lineWidth = 1;
    const span = (view.to - view.from) / MS, rough = span / Math.max(2, (width - gutter) / 90);
    const power = 10 ** Math.floor(Math.log10(rough)), tick = [1, 2, 5, 10].find((n) => n * power >= rough) * power;
    const digits = Math.max(0, -Math.floor(Math.log10(tick)));
    for (let t = Math.ceil(view.from / MS / tick) * tick; t <= view.to / MS; t += tick) {
      const x = toX(t * MS, width);
      line(x, AXIS - 4, AXIS);
      if (x < width - 34) ctx.fillText(`${t.toFixed(digits)} ms`, x + 2, 11);
    }
    ctx.setLineDash([3, 3]);
    ctx.strokeStyle = Theme.colour("quiet");
    for (const [step, from, to] of stretch.steps) {
      if (to < view.from || from > view.to) continue;
      const x = toX(from, width);
      if (x >= gutter) line(x, AXIS, height);
      const room = toX(Math.min(to, view.to), width) - Math.max(x, gutter);
      if (room > 64) ctx.fillText(`step ${step}`, Math.max(x, gutter) + 4, height - 1);
    }
    ctx.setLineDash([]);
  }

  function line(x, top, bottom) {
    ctx.beginPath();
    ctx.moveTo(Math.round(x) + 0.5, top);
    ctx.lineTo(Math.round(x) + 0.5, bottom);
    ctx.stroke();
  }

  function drawLabel(row) {
    ctx.font = "12px 'Lab Sans', system-ui, sans-serif";
    ctx.fillStyle = row.colour || Theme.colour("quiet");
    ctx.fillRect(0, row.y, 3, Math.max(row.num_lanes * laneHeight, 12));
    ctx.fillStyle = Theme.colour("ink");
    ctx.fillText(shorten(row.label, gutter - 12), 8, row.y + 11);
    if (gutter < 100 || row.num_lanes * laneHeight < 26) return;
    ctx.fillStyle = Theme.colour("quiet");
    ctx.fillText(shorten(row.device, gutter - 12), 8, row.y + 25);
  }

  function shorten(text, room) {
    if (ctx.measureText(text).width <= room) return text;
    let low = 0, high = text.length;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (ctx.measureText(`${text.slice(0, middle)}…`).width <= room) low = middle;
      else high = middle - 1;
    }
    return low ? `${text.slice(0, low)}…` : "";
  }

  // Spans narrower than a pixel share it: the category with the most time in it gives the colour.
  function drawLane(lane, y, width, colours) {
    const height = laneHeight - 1;
    let index = firstEndingAfter(lane, view.from), pixel = -1, within = null;
    const flush = () => {
      if (!within) return;
      const [top] = Object.entries(within).sort((a, b) => b[1] - a[1])[0];
      ctx.fillStyle = colours[top];
      ctx.fillRect(pixel, y, 1, height);
      within = null;
    };
    for (; index < lane.start.length && lane.start[index] < view.to; index++) {
      const from = Math.max(toX(lane.start[index], width), gutter);
      const to = Math.min(toX(lane.end[index], width), width);
      const { category, name, op } = names[lane.name[index]];
      if (to - from < 1) {
        if (Math.floor(from) !== pixel) {
          flush();
          pixel = Math.floor(from);
        }
        within ??= {};
        within[category] = (within[category] || 0) + Math.max(lane.end[index] - lane.start[index], 1);
        continue;
      }
      flush();
      ctx.fillStyle = colours[category];
      ctx.fillRect(from, y, Math.max(to - from - (to - from > 4 ? 0.5 : 0), 1), height);
      if (to - from > 34 && height >= 10) {
        ctx.font = "10.5px 'Lab Sans', system-ui, sans-serif";
        ctx.fillStyle = Theme.colour(`on-${category}`);
        const words = category === "wait" ? "wait" : data.phase_names[category] ?? (to - from > 220 ? name : op || name);
        ctx.fillText(shorten(words, to - from - 6), from + 3, y + height - 3.5);
      }
    }
    flush();
  }

  function firstEndingAfter(lane, time) {
    let low = 0, high = lane.end.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (lane.end[middle] > time) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  function outline({ lane, index }, width, colour) {
    const row = rowOf(lane), spans = stretch.lanes[lane];
    const from = Math.max(toX(spans.start[index], width), gutter), to = toX(spans.end[index], width);
    if (to < gutter || from > width) return;
    ctx.strokeStyle = colour;
    ctx.lineWidth = 2;
    ctx.strokeRect(from - 1, row.y + (lane - row.first_lane) * laneHeight - 1, Math.max(to - from, 2) + 2, laneHeight + 1);
    ctx.lineWidth = 1;
  }

  const rowOf = (lane) => stretch.rows.find((row) => lane >= row.first_lane && lane < row.first_lane + row.num_lanes);

  function hit(x, y) {
    if (x < gutter) return null;
    const row = stretch.rows.find((r) => y >= r.y && y < r.y + r.num_lanes * laneHeight);
    if (!row) return null;
    const lane = row.first_lane + Math.floor((y - row.y) / laneHeight), spans = stretch.lanes[lane];
    const slack = (view.to - view.from) / (holder.clientWidth - gutter), time = toTime(x);
    const index = firstEndingAfter(spans, time - 2 * slack);
    return index < spans.start.length && spans.start[index] <= time + 2 * slack ? { lane, index } : null;
  }

  const duration = (time) => time < MS / 10
    ? `${(time / MS * 1000).toPrecision(3)} µs` : `${(time / MS).toPrecision(4)} ms`;

  function describe({ lane, index }) {
    const spans = stretch.lanes[lane], row = rowOf(lane), { name, op, category } = names[spans.name[index]];
    const start = spans.start[index], length = spans.end[index] - start;
    const step = stretch.steps.find(([, from, to]) => start >= from && start < to);
    return `${op && op !== name ? `${op}\n` : ""}${name}\n${data.phase_names[category] ?? category} · ${duration(length)}, `
      + `from ${(start / MS).toFixed(3)} ms${step ? ` in step ${step[0]}` : ""}\n${row.label} · ${row.device}`;
  }

  function select(item) {
    chosen = item;
    said.textContent = item ? describe(item).replaceAll("\n", " · ") : "";
    schedule();
  }

  function show(from, to) {
    const least = 20, span = Math.min(Math.max(to - from, least), stretch.end * 1.02);
    const start = Math.min(Math.max(from, -stretch.end * 0.01), stretch.end * 1.01 - span);
    view = { from: start, to: start + span };
    schedule();
  }

  function zoom(factor, around = (view.from + view.to) / 2) {
    show(around - (around - view.from) * factor, around + (view.to - around) * factor);
  }

  const pan = (share) => show(view.from + share * (view.to - view.from), view.to + share * (view.to - view.from));

  function toStep(direction) {
    const middle = (view.from + view.to) / 2;
    let index = stretch.steps.findIndex(([, from, to]) => middle >= from && middle < to);
    const whole = view.to - view.from > stretch.end * 0.9;
    index = index < 0 || whole ? (direction > 0 ? 0 : stretch.steps.length - 1) : index + direction;
    const step = stretch.steps[Math.min(Math.max(index, 0), stretch.steps.length - 1)];
    if (!step) return;
    const margin = (step[2] - step[1]) * 0.03;
    show(step[1] - margin, step[2] + margin);
    said.textContent = `step ${step[0]}`;
  }

  function move(lanes, spans) {
    if (!chosen) {
      const lane = stretch.lanes.findIndex((l) => l.start[firstEndingAfter(l, view.from)] < view.to);
      if (lane >= 0) select({ lane, index: firstEndingAfter(stretch.lanes[lane], view.from) });
      return;
    }
    const now = chosen;
    let lane = now.lane, index = now.index + spans;
    if (lanes) {
      const time = stretch.lanes[lane].start[now.index] ?? view.from;
      do lane += lanes; while (stretch.lanes[lane] && !stretch.lanes[lane].start.length);
      if (!stretch.lanes[lane]) return;
      index = Math.min(firstEndingAfter(stretch.lanes[lane], time), stretch.lanes[lane].start.length - 1);
    }
    const target = stretch.lanes[lane];
    if (index < 0 || index >= target.start.length) return;
    if (target.end[index] < view.from || target.start[index] > view.to) {
      const half = (view.to - view.from) / 2;
      show(target.start[index] - half, target.start[index] + half);
    }
    select({ lane, index });
  }

  const KEYS = {
    ArrowLeft: () => pan(-0.15), ArrowRight: () => pan(0.15), ArrowUp: () => move(-1, 0), ArrowDown: () => move(1, 0),
    "+": () => zoom(0.6), "=": () => zoom(0.6), "-": () => zoom(1 / 0.6), 0: () => show(0, stretch.end),
    Home: () => show(0, stretch.end), PageDown: () => toStep(1), PageUp: () => toStep(-1),
    n: () => move(0, 1), p: () => move(0, -1), Escape: () => select(null),
  };

  canvas.addEventListener("keydown", (event) => {
    const act = !event.ctrlKey && !event.metaKey && !event.altKey && KEYS[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  canvas.addEventListener("wheel", (event) => {
    if (event.ctrlKey || event.metaKey) zoom(Math.exp(event.deltaY * 0.003), toTime(event.offsetX));
    else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan(event.deltaX / holder.clientWidth);
    else return; // the page scrolls
    event.preventDefault();
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    dragged = { x: event.offsetX, view: { ...view }, moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (dragged) {
      const shift = (event.offsetX - dragged.x) / (holder.clientWidth - gutter) * (dragged.view.to - dragged.view.from);
      dragged.moved ||= Math.abs(event.offsetX - dragged.x) > 3;
      if (dragged.moved) show(dragged.view.from - shift, dragged.view.to - shift);
      return;
    }
    hovered = hit(event.offsetX, event.offsetY);
    tip.hidden = !hovered;
    if (hovered) {
      tip.textContent = describe(hovered);
      tip.style.left = `${Math.max(0, Math.min(event.offsetX + 12, holder.clientWidth - tip.offsetWidth - 4))}px`;
      tip.style.top = `${event.offsetY + 16}px`;
    }
    schedule();
  });
  canvas.addEventListener("pointerup", (event) => {
    if (dragged && !dragged.moved) select(hit(event.offsetX, event.offsetY));
    dragged = null;
  });
  canvas.addEventListener("pointerleave", () => {
    hovered = null;
    tip.hidden = true;
    schedule();
  });
  canvas.addEventListener("dblclick", (event) => zoom(0.35, toTime(event.offsetX)));
  for (const button of document.querySelectorAll("[data-timeline]")) {
    button.addEventListener("click", () => KEYS[button.dataset.timeline]());
  }
  picker.addEventListener("change", () => open(Number(picker.value)));
  Theme.onChange(schedule);
  window.addEventListener("resize", layout);
  window.addEventListener("beforeprint", () => { layout(); draw(); });
  open(data.first);
})();
