// Texts that several parts of the timeline show.

import { number } from "../shared/format.js";

export function lengthText(ns) {
  if (ns >= 1e9) return `${number(ns / 1e9)} s`;
  if (ns >= 1e6) return `${number(ns / 1e6)} ms`;
  return ns >= 1e3 ? `${number(ns / 1e3)} µs` : `${number(ns)} ns`;
}

// The device, with its worker if there are several; `marks` if the worker was not captured.
export function shortDevice({ device, title, isOne, is_marked: isMarked }) {
  const short = device.split("/device:").at(-1) || device;
  const named = isOne ? short : `${title}${short ? ` ${short}` : ""}`;
  return isMarked ? `${named}, marks` : named;
}

export const replicaText = ({ replica }) => (replica === null ? "shared" : `replica ${replica}`);

const NARROW = 100; // of the tracks' names: no room for their devices beside them
const NAME_PX = 84; // of "replica 15", its colour and a gap

/** A track's device beside its name; a longer text is below, if the track has a second row. */
export function drawDevice(context, v, text, top, rows) {
  const room = v.left - NAME_PX - 8;
  const hasSecondRow = rows * v.rowHeight > 26;
  context.globalAlpha = 0.75;
  if (hasSecondRow && (v.left <= NARROW || context.measureText(text).width > room)) {
    context.fillText(text, 4, top + 24, v.left - 8);
  } else if (v.left > NARROW) {
    context.textAlign = "right";
    context.fillText(text, v.left - 8, top + 8, room);
    context.textAlign = "left";
  }
}

/** The text of a ruler's tick, whose middle is at `y`, and its stroke below. */
export function drawTick(context, v, x, text, y) {
  const half = context.measureText(text).width / 2;
  context.globalAlpha = 0.85;
  context.fillText(text, Math.min(Math.max(x, v.left + half), v.width - half), y);
  context.globalAlpha = 0.4;
  context.fillRect(x, y + 7, 1, 5);
}

export function trackText(track) {
  const device = shortDevice(track);
  return device ? `${replicaText(track)} · ${device}` : replicaText(track);
}
