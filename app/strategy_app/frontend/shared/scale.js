// Round numbers along an axis.

import { fixed } from "./format.js";

export function niceTicks(low, high, count) {
  const span = high - low;
  if (!(span > 0) || count < 1) return [];
  const rough = span / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((size) => size >= rough);
  const ticks = [];
  for (let tick = Math.ceil(low / step - 1e-9) * step; tick <= high + step * 1e-9; tick += step) {
    ticks.push(Math.abs(tick) < step * 1e-9 ? 0 : tick);
  }
  return ticks;
}

// As many decimals as tell neighbouring ticks apart.
export function tickText(value, ticks) {
  const step = ticks.length > 1 ? Math.abs(ticks[1] - ticks[0]) : Math.abs(value) || 1;
  const decimals = Math.min(Math.max(-Math.floor(Math.log10(step) + 1e-9), 0), 9);
  return fixed(value, decimals);
}
