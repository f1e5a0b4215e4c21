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

export function trackText(track) {
  const device = shortDevice(track);
  return device ? `${replicaText(track)} · ${device}` : replicaText(track);
}
