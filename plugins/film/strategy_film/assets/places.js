// Where each node is, in CSS pixels: a ring, a row per process, or replicas below what they all exchange data with.
function placeNodes(width, height) {
  const all = scene.nodes.map((_, index) => index);
  const scale = Math.min(1.8, Math.max(0.8, Math.min(width / 850, height / 400)));
  const middle = { x: width / 2, y: height / 2 - 12 * scale };
  const groups = scene.groups.map((_, group) => all.filter((node) => scene.nodes[node].group === group));
  const isAbove = (node) => (scene.layout === "hub" ? node === scene.hub : scene.nodes[node].replica === null);
  const base = { scale, middle, boxes: [] };
  if (all.length === 1) return { ...base, nodes: [middle], radius: 80 * scale, room: width };
  if (scene.layout === "rows" && groups.some(({ length }) => length > 1)) return inBoxes(groups, width, height, base);
  const isStar = scene.layout === "hub" || scene.layout === "servers";
  if (IS_IN_LECTURE && all.length <= 8) return inColumns(all, isStar && isAbove, width, height, base);
  if (isStar) return inTwoRows(all, isAbove, width, height, base);
  return around(all, width, height, base);
}

function inRow(members, y, left, right, nodes) {
  const room = (right - left) / members.length;
  members.forEach((node, index) => (nodes[node] = { x: left + (index + 0.5) * room, y }));
  return room;
}

// In a lecture: two columns, with the large labels on their outer sides. A ring goes round clockwise.
function inColumns(all, isLeft, width, height, base) {
  const half = Math.ceil(all.length / 2);
  const columns = isLeft
    ? [all.filter(isLeft), all.filter((node) => !isLeft(node))]
    : [[0, ...all.slice(half + 1).reverse()], all.slice(1, half + 1)];
  const tall = height / Math.max(...columns.map(({ length }) => length));
  const nodes = [];
  columns.forEach((members, side) => members.forEach((node, row) => {
    nodes[node] = { x: width * [0.29, 0.71][side], y: ((row + 0.5) * height) / members.length, outside: [-1, 1][side] };
  }));
  return {
    ...base, nodes, middle: { x: width / 2, y: height / 2 }, room: width * 0.42,
    radius: Math.min(54 * base.scale, (0.5 * tall) / (1 + GLOW)), label: Math.min(SMALLEST_LABEL, tall / 2.4),
  };
}

function inTwoRows(all, isAbove, width, height, base) {
  const nodes = [];
  const above = all.filter(isAbove);
  const below = all.filter((node) => !isAbove(node));
  const side = Math.max(0, width - 1100) / 2;
  const room = Math.min(inRow(above, height * 0.22, side, width - side, nodes), inRow(below, height * 0.7, side, width - side, nodes));
  return { ...base, nodes, room, radius: Math.max(11, Math.min(50 * base.scale, room / 2.8, height * 0.15)) };
}

function inBoxes(groups, width, height, base) {
  const nodes = [];
  const tall = height / groups.length;
  const rooms = groups.map((members, row) => inRow(members, (row + 0.44) * tall, 70 * base.scale, width, nodes));
  const boxes = scene.groups.map((title, row) => ({ x: 2, y: row * tall + 3, width: width - 4, height: tall - 6, title }));
  const room = Math.min(...rooms);
  const widest = Math.min(46 * base.scale, room / 2.8, tall / 3.6);
  // Below a node are two lines of text, unless the box is too low for them anyway.
  const labelled = 0.56 * tall - 3.2 * SMALLEST_LABEL;
  return { ...base, nodes, boxes, room, radius: Math.max(9, Math.min(widest, Math.max(labelled, 16))) };
}

const SMALLEST_LABEL = IS_IN_LECTURE ? 32 : 11; // 24 pt
const labelSize = ({ radius, scale, label }) => label ?? Math.max(SMALLEST_LABEL, Math.min(15 * scale, radius * 0.34));

// The largest radius with which no node covers the label of the one above it.
function roomAbove(points, radius, label) {
  const gaps = points.flatMap((a) => points.filter((b) => b.y > a.y + 1 && Math.abs(a.x - b.x) < 2.5 * radius).map((b) => b.y - a.y));
  return gaps.length ? Math.max(14, (Math.min(...gaps) - label) / 2) : Infinity;
}

// Free around a node for the glow of one that waits, in its radius.
const GLOW = 0.35;

// Equal distances along an ellipse as wide as the stage allows.
function around(all, width, height, { scale, middle }) {
  const few = all.length <= 8;
  let radius = 54 * scale;
  let points = [];
  let room = 0;
  for (let attempt = 0; attempt < 12; attempt++) {
    const label = labelSize({ radius, scale }) * (few ? 2.9 : 1.6);
    const ry = Math.max(30, Math.min(middle.y - GLOW * radius, height - middle.y - label) - radius);
    const flat = few && height > 340 ? 2 : 3.4;
    const rx = Math.max(40, Math.min(width / 2 - radius - Math.max(few ? 26 * scale : 0, GLOW * radius), ry * flat));
    const outline = [0];
    const parts = 720;
    const at = (part) => {
      const angle = (part / parts) * 2 * Math.PI - Math.PI / 2;
      return { x: middle.x + rx * Math.cos(angle), y: middle.y + ry * Math.sin(angle) };
    };
    for (let part = 1; part <= parts; part++) {
      const [a, b] = [at(part - 1), at(part)];
      outline.push(outline[part - 1] + Math.hypot(b.x - a.x, b.y - a.y));
    }
    room = outline[parts] / all.length;
    const turn = { 2: 0.75, 4: 0.875 }[all.length] ?? 0;
    points = all.map((_, index) => {
      const wanted = ((index / all.length + turn) % 1) * outline[parts];
      return at(outline.findIndex((length) => length >= wanted));
    });
    // Nodes need not be on the ellipse: those of a low stage use all of its height.
    const used = Math.max(...points.map(({ y }) => Math.abs(y - middle.y)));
    const stretch = used > ry / 4 ? ry / used : 1; // two nodes are side by side
    points = points.map(({ x, y }) => ({ x, y: middle.y + (y - middle.y) * stretch }));
    const most = Math.min(room / (few ? 2.6 : 3), few ? roomAbove(points, radius, label) : Infinity);
    if (radius <= most) break;
    radius = Math.max(9, Math.min(most, radius * 0.88));
  }
  return { nodes: points, radius, room, scale, middle, boxes: [] };
}

// A curve from node to node; one way bends to one side, the way back to the other.
function curveOf(places, from, to) {
  const [a, b] = [places.nodes[from], places.nodes[to]];
  const [dx, dy] = [b.x - a.x, b.y - a.y];
  const distance = Math.hypot(dx, dy) || 1;
  const bend = 0.14;
  const control = { x: (a.x + b.x) / 2 + dy * bend, y: (a.y + b.y) / 2 - dx * bend };
  const trim = Math.min(0.42, (places.radius + 6) / distance);
  return { a, b, control, from: trim, to: 1 - trim };
}

function pointOn({ a, b, control, from, to }, share) {
  const u = from + (to - from) * Math.min(1, Math.max(0, share));
  const v = 1 - u;
  return {
    x: v * v * a.x + 2 * v * u * control.x + u * u * b.x,
    y: v * v * a.y + 2 * v * u * control.y + u * u * b.y,
  };
}
