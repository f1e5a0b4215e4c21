// A long run is shown before all of its spans are read: what is missing, and where rows are later.

import { fixed } from "../shared/format.js";

const TEXT = "still being read";
const CHARACTER_PX = 6.5;

export function unreadText({ num_spans: shown, num_recorded: all }) {
  return `${fixed(shown, 0)} of about ${fixed(all, 0)} spans are shown. The others are being read. Search, selected ranges and links need all of them.`;
}

// Captured steps in a row whose spans are not there, as [start, end] in ns. `read` is null if all are.
export function unreadTimes(read, steps) {
  if (!read) return [];
  const edges = [[-1, -1], ...read, [steps.step.length, steps.step.length]];
  return edges.slice(1).flatMap(([first], i) => {
    const [from, to] = [edges[i][1] + 1, first - 1];
    return from <= to ? [[steps.start[from], steps.end[to]]] : [];
  });
}

export function drawUnread(context, { viewport: v, theme, unread }) {
  context.font = `12px ${theme.font}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillStyle = theme.text;
  context.globalAlpha = 0.85;
  for (const [from, to] of unread) {
    const [x1, x2] = [Math.max(v.x(from), v.left), Math.min(v.x(to), v.width)];
    if (x2 - x1 > TEXT.length * CHARACTER_PX) context.fillText(TEXT, (x1 + x2) / 2, (v.top + v.measuredHeight) / 2);
  }
  context.globalAlpha = 1;
}

// Rows and tracks have other numbers once all spans are there, or the run has grown. A span stays
// on the same lane of its track.
export function moved(before, after) {
  const track = (number) => {
    const { worker, replica, device } = before[number];
    return after.findIndex((each) => each.worker === worker && each.replica === replica && each.device === device);
  };
  const row = (number) => {
    const own = before.findIndex(({ first_row: first, num_rows: rows }) => number >= first && number < first + rows);
    return number - before[own].first_row + (after[track(own)]?.first_row ?? 0);
  };
  return { track, row };
}
