// Numbers as `strategy_profiles.reporting.units` writes them: three significant digits, a unit, a dash for a missing number.

export const MISSING = "–";
const SIZES = [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"]];

// Making a formatter costs far more than using one.
const formatters = new Map();

export function fixed(value, decimals) {
  if (!formatters.has(decimals)) {
    const options = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
    formatters.set(decimals, new Intl.NumberFormat("en-US", options));
  }
  return formatters.get(decimals).format(value);
}

export function number(value, digits = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return MISSING;
  if (value === 0) return "0";
  if (Math.abs(value) < 1e-4) return value.toExponential(digits - 1).replace(/e-(\d)$/, "e-0$1");
  const decimals = digits - 1 - Math.floor(Math.log10(Math.abs(value)));
  return fixed(value, Math.min(Math.max(decimals, 0), 9));
}

const pair = (value, unit) => [number(value), number(value) === MISSING ? "" : unit];

// Each returns [number, unit], so that a tile can show the two in different sizes.
export const units = {
  ms: (value) => pair(value, "ms"),
  loss: (value) => [number(value, 4), ""],
  rate: (value) => pair(value, "examples/s"),
  bandwidth: (value) => {
    const [text, unit] = units.bytes(Number.isFinite(value) ? value * 1e9 : null);
    return [text, unit && `${unit}/s`];
  },
  count: (value) => [value === null || value === undefined ? MISSING : fixed(value, 0), ""],
  bytes: (value) => {
    if (value === null || value === undefined || !Number.isFinite(value)) return [MISSING, ""];
    const size = SIZES.find(([scale]) => Math.abs(value) >= scale);
    return size ? pair(value / size[0], size[1]) : [fixed(Math.round(value), 0), "B"];
  },
  // Positions on the timeline keep their digits: neighbours differ in the last ones.
  seconds: (value) => {
    if (!Number.isFinite(value)) return [MISSING, ""];
    if (value < 60) return [value.toFixed(value < 10 ? 2 : 1), "s"];
    const minutes = Math.floor(value / 60);
    return [`${minutes} min ${Math.floor(value % 60)}`, "s"];
  },
};

export const joined = ([value, unit]) => (unit ? `${value} ${unit}` : value);
