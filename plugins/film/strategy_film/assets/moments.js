// What the scene says of a moment. The scripts of this folder share one scope; texts of the run are
// drawn or set as text, never parsed as markup.
const IS_IN_LECTURE = window.name === "lecture"; // the frame in which a lecture shows its evidence
const scene = JSON.parse(document.getElementById("scene").textContent);
const length = scene.length_ns;
const isReduced = matchMedia("(prefers-reduced-motion: reduce)");
const PHASES = {
  compute: ["compute", "computes"],
  delay: ["injected delay", "injected delay"],
  wait: ["wait", "waits"],
  transfer: ["transfer", "transfers"],
  pull: ["pull", "pulls its variables"],
  push: ["push", "pushes its gradients"],
  input: ["input", "waits for its batch"],
  idle: ["idle", "runs no op"],
  outside: ["outside of this step", "outside of this step"],
};

// Index of the entry of disjoint `[start, end, ...]` lists that holds the moment, or -1.
function indexAt(list, time) {
  let [low, high] = [0, list.length - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    if (list[middle][0] > time) high = middle - 1;
    else if (list[middle][1] <= time && middle < list.length - 1) low = middle + 1;
    else if (list[middle][1] <= time) return middle === list.length - 1 && time >= length && list[middle][1] === length ? middle : -1;
    else return middle;
  }
  return -1;
}

const entryAt = (list, time) => list[indexAt(list, time)];
const captionAt = (time) => scene.captions.findLast(([start]) => start <= time)?.[1] ?? "";
const isCollective = ({ source }) => source !== "derived";
const collectives = scene.exchanges.filter(isCollective).map((exchange) => ({
  ...exchange,
  first_entered_ns: Math.min(...exchange.members.map(([, entered]) => entered)),
  end_ns: Math.max(...exchange.members.map(([, , end]) => end)),
}));
// The largest of those in progress.
function collectiveAt(time) {
  const running = collectives.filter((each) => each.first_entered_ns <= time && time < each.end_ns);
  return running.sort((a, b) => (b.bytes ?? 0) - (a.bytes ?? 0))[0];
}

// Moments worth stopping at: captions change, a replica enters a collective, it is done, the path moves on.
const events = (() => {
  const found = [0, length, ...scene.captions.map(([start]) => start), ...scene.path.map(([start]) => start)];
  for (const each of collectives) {
    found.push(each.all_entered_ns, ...each.members.flatMap(([, entered, end]) => [entered, end]));
  }
  const sorted = [...new Set(found)].filter((time) => time >= 0 && time <= length).sort((a, b) => a - b);
  return sorted.filter((time, index) => index === 0 || time === length || time - sorted[index - 1] > length / 5000);
})();

// Whose work decides now how long the step takes.
function pathText(time) {
  const piece = entryAt(scene.path, time);
  if (!piece || scene.nodes.length < 2) return "";
  const node = scene.nodes[piece[2]];
  const phase = entryAt(node.states, time)?.[2];
  const op = entryAt(node.ops, time);
  const does = phase === "compute" && op ? `runs ${scene.names[op[2]]}` : PHASES[phase]?.[1] ?? "";
  return `Critical path: ${node.title} ${does}`;
}

const edgesUsed = (() => {
  const found = new Map();
  const add = (from, to) => found.set(`${from} ${to}`, [from, to]);
  for (const [, , from, to] of scene.sent_tensors) add(from, to);
  for (const each of collectives.filter(({ ring }) => ring)) {
    each.members.forEach(([node], index) => add(node, each.members[(index + 1) % each.members.length][0]));
  }
  return [...found.values()];
})();

const SIZES = [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"]];

function sizeText(bytes) {
  if (bytes === null || bytes === undefined) return "unknown size";
  const [scale, unit] = SIZES.find(([each]) => bytes >= each) ?? [1, "B"];
  if (scale === 1) return `${Math.round(bytes)} B`;
  const value = bytes / scale; // three digits, as in the captions
  return `${value.toFixed(Math.max(0, 2 - Math.floor(Math.log10(value))))} ${unit}`;
}

const milliseconds = (ns) => {
  const value = ns / 1e6;
  return `${value.toFixed(value >= 100 ? 1 : value >= 1 ? 2 : 3)} ms`;
};
