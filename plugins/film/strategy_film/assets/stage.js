// The stage: nodes, what travels between them, who waits for whom, where the critical path is.
const TURN = 2 * Math.PI;

function readTheme() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(`--${name}`).trim();
  const font = getComputedStyle(document.body).fontFamily;
  return { ground: read("ground"), panel: read("panel"), ink: read("ink"), soft: read("soft"), line: read("line"), font };
}

function fit(canvas, height) {
  const width = canvas.clientWidth;
  const ratio = window.devicePixelRatio || 1;
  canvas.style.height = `${height}px`;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return [context, width];
}

const colourOf = (phase) => scene.colours[phase] ?? scene.colours.idle;

// Black or white, whichever reads on the colour.
function inkOn(colour) {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255);
  const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b) > 0.18 ? "#000000" : "#FFFFFF";
}

const pulseSize = (bytes, scale) => scale * Math.min(15, 3 + 1.7 * Math.log10(1 + (bytes ?? 0)));

class Stage {
  constructor(canvas) {
    this.canvas = canvas;
  }

  // `perSecond`: nanoseconds of the step in a second of the film; `now`: seconds, for the glow.
  draw(time, perSecond, now, height) {
    const [context, width] = fit(this.canvas, height);
    if (!width) return; // a frame that has no layout yet
    const places = placeNodes(width, height);
    places.free = Math.min(...places.nodes.flatMap(({ x, y }) => [x, width - x, y, height - y])) - 2; // to the nearest edge
    Object.assign(this, { context, width, time, perSecond, now, theme: readTheme(), places });
    this.drawBoxes();
    this.drawEdges();
    this.drawWaits();
    this.drawFlights();
    const collective = collectiveAt(time);
    for (const each of collectives) this.drawCollective(each);
    this.drawHandover();
    this.lines = collective ? this.linesInMiddle(collective) : [];
    scene.nodes.forEach((node, index) => this.drawNode(node, index));
    for (const { text, y, size, ...options } of this.lines) this.text(text, places.middle.x, y, size, { ...options, isOverLines: true });
  }

  text(text, x, y, size, { colour = this.theme.ink, weight = 400, align = "center", most = Infinity, isOverLines = false, keepsEnd = false } = {}) {
    const { context } = this;
    context.font = `${weight} ${size}px ${this.theme.font}`;
    context.textAlign = align;
    context.textBaseline = "middle";
    let shown = text;
    const shorter = keepsEnd ? (name) => `…${name.slice(2)}` : (name) => `${name.slice(0, -2)}…`;
    while (shown.length > 4 && context.measureText(shown).width > most) shown = shorter(shown);
    if (isOverLines) {
      context.strokeStyle = this.theme.ground;
      context.lineWidth = 5;
      context.lineJoin = "round";
      context.strokeText(shown, x, y);
    }
    context.fillStyle = colour;
    context.fillText(shown, x, y);
  }

  stroke(curve, colour, width, alpha, from = 0, to = 1) {
    const { context } = this;
    context.save();
    context.globalAlpha = alpha;
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.lineCap = "round";
    context.beginPath();
    const steps = 24;
    for (let step = 0; step <= steps; step++) {
      const { x, y } = pointOn(curve, from + ((to - from) * step) / steps);
      if (step) context.lineTo(x, y);
      else context.moveTo(x, y);
    }
    context.stroke();
    context.restore();
  }

  drawBoxes() {
    const { context, theme, places } = this;
    for (const { x, y, width, height, title } of places.boxes) {
      context.fillStyle = theme.panel;
      context.beginPath();
      context.roundRect(x, y, width, height, 10);
      context.fill();
      this.text(title, x + 12, y + 16 * places.scale, 13 * places.scale, { colour: theme.soft, align: "left", weight: 600 });
    }
  }

  drawEdges() {
    for (const [from, to] of edgesUsed) this.stroke(curveOf(this.places, from, to), this.theme.line, 1.5, 0.9);
  }

  drawWaits() {
    const { context, time } = this;
    for (const [start, end, node, awaited] of scene.waits) {
      if (time < start || time >= end || entryAt(scene.nodes[node].states, time)?.[2] !== "wait") continue;
      context.save();
      context.setLineDash([3, 7]);
      context.lineDashOffset = isReduced.matches ? 0 : this.now * 14;
      this.stroke(curveOf(this.places, awaited, node), colourOf("wait"), 2.5, scene.nodes.length > 8 ? 0.3 : 0.8);
      context.restore();
    }
  }

  pulse({ x, y }, bytes, colour) {
    const { context } = this;
    const size = pulseSize(bytes, this.places.scale);
    context.save();
    context.shadowColor = colour;
    context.shadowBlur = size * 1.6;
    context.fillStyle = colour;
    context.beginPath();
    context.arc(x, y, size, 0, TURN);
    context.fill();
    context.restore();
    context.strokeStyle = this.theme.ground;
    context.lineWidth = 1.5;
    context.stroke();
  }

  // Between two nodes, what was sent lights the edge for half a second; what takes long is seen on its way.
  drawFlights() {
    const { time, perSecond } = this;
    const [seen, glow] = [perSecond * 0.12, perSecond * 0.5];
    const colour = colourOf("transfer");
    for (const [start, end, from, to, bytes] of scene.sent_tensors) {
      if (start > time) break;
      if (time > Math.max(end, start + glow)) continue;
      const curve = curveOf(this.places, from, to);
      const fade = time <= end ? 1 : 1 - (time - end) / glow;
      this.stroke(curve, colour, Math.max(2, pulseSize(bytes, this.places.scale) * 0.7), Math.max(0, fade) * 0.85);
      if (time <= end && end - start > seen) this.pulse(pointOn(curve, (time - start) / (end - start)), bytes, colour);
    }
  }

  drawCollective(exchange) {
    const { time, context, places, theme } = this;
    if (time < exchange.all_entered_ns || time > exchange.end_ns) return;
    const colour = colourOf("transfer");
    if (!exchange.ring) {
      for (const [node, , end] of exchange.members) {
        if (time > end) continue;
        context.save();
        context.globalAlpha = isReduced.matches ? 0.8 : 0.6 + 0.3 * Math.sin(this.now * 6 + node);
        context.strokeStyle = colour;
        context.lineWidth = 4 * places.scale;
        context.beginPath();
        context.moveTo(places.nodes[node].x, places.nodes[node].y);
        context.lineTo(places.middle.x, places.middle.y);
        context.stroke();
        context.restore();
      }
      return;
    }
    const { rounds, hop_bytes } = exchange.ring;
    exchange.members.forEach(([node], index) => {
      const [next, , end] = exchange.members[(index + 1) % exchange.members.length];
      if (time >= end) return;
      const done = ((time - exchange.all_entered_ns) / (end - exchange.all_entered_ns)) * rounds;
      const curve = curveOf(places, node, next);
      this.stroke(curve, colour, 3, 0.5);
      this.stroke(curve, colour, 5, 0.7, 0, done % 1);
      this.pulse(pointOn(curve, done % 1), hop_bytes, colour);
    });
  }

  // What is said of a collective in the middle of the stage; nothing where nodes leave no room for it.
  linesInMiddle(exchange) {
    const { time, places, theme } = this;
    if (places.boxes.length || scene.layout === "hub" || scene.layout === "servers" || places.middle.y < 110) return [];
    const { x, y } = places.middle;
    const entered = exchange.members.filter(([, at]) => at <= time).length;
    const isMoving = time >= exchange.all_entered_ns;
    const share = (time - exchange.all_entered_ns) / (exchange.end_ns - exchange.all_entered_ns || 1);
    const status = !isMoving
      ? `${entered} of ${exchange.members.length} have entered`
      : exchange.ring ? `round ${Math.min(exchange.ring.rounds, 1 + Math.floor(share * exchange.ring.rounds))} of ${exchange.ring.rounds}` : "in progress";
    const size = Math.max(15 * places.scale, IS_IN_LECTURE ? SMALLEST_LABEL : 0);
    const room = Math.min(...places.nodes.map((node) => (Math.abs(node.y - y) < 2 * places.radius ? 2 * (Math.abs(node.x - x) - places.radius) : Infinity)));
    if (room < 5 * size) return [];
    const lines = [
      { text: exchange.op, y: y - size * 1.4, size, weight: 600 },
      { text: sizeText(exchange.bytes), y, size: size * 1.5, weight: 700 },
      { text: status, y: y + size * 1.5, size, weight: 400, colour: theme.soft },
    ];
    return room > 11 * size ? lines : lines.slice(0, 2);
  }

  // The width of a label in the middle of `x` that does not reach the lines in the middle of the stage.
  widthBesideMiddle(x, y, size) {
    const { context, places, theme } = this;
    const beside = this.lines.filter((line) => Math.abs(line.y - y) < (line.size + size) / 2);
    const half = Math.max(0, ...beside.map((line) => {
      context.font = `${line.weight} ${line.size}px ${theme.font}`;
      return context.measureText(line.text).width / 2;
    }));
    return half ? 2 * (Math.abs(x - places.middle.x) - half - 6) : Infinity;
  }

  // Where the critical path goes on in another node, the way between them lights up.
  drawHandover() {
    const at = indexAt(scene.path, this.time);
    if (at < 1) return;
    const [start, , node] = scene.path[at];
    const since = (this.time - start) / (this.perSecond * 0.8);
    if (since > 1 || scene.path[at - 1][2] === node) return;
    this.stroke(curveOf(this.places, scene.path[at - 1][2], node), this.theme.ink, 5, 1 - since);
  }

  drawNode(node, index) {
    const { context, time, theme, places } = this;
    const { x, y } = places.nodes[index];
    const { radius, scale } = places;
    const state = entryAt(node.states, time);
    const phase = state?.[2];
    const isCritical = entryAt(scene.path, time)?.[2] === index;
    const band = Math.max(4, radius * 0.15);
    context.save();
    if (phase === "wait") this.glow(x, y, radius, colourOf("wait"));
    context.beginPath();
    context.arc(x, y, radius + 3, 0, TURN);
    context.fillStyle = theme.ground;
    context.fill();
    this.drawProgress(node, x, y, radius, band);
    const fill = phase && phase !== "outside" ? colourOf(phase) : theme.panel;
    context.beginPath();
    context.arc(x, y, radius - band - 2, 0, TURN);
    context.fillStyle = fill;
    context.fill();
    if (!phase || phase === "outside") {
      context.strokeStyle = theme.line;
      context.lineWidth = 2;
      context.stroke();
    }
    if (isCritical) {
      context.shadowColor = theme.ink;
      context.shadowBlur = 14;
      context.strokeStyle = theme.ink;
      context.lineWidth = Math.max(3, 4 * scale);
      context.beginPath();
      context.arc(x, y, radius + 5, 0, TURN);
      context.stroke();
    }
    context.restore();
    const ink = fill.startsWith("#") && fill !== theme.panel ? inkOn(fill) : theme.ink;
    const short = node.replica === null ? (scene.layout === "servers" ? "PS" : node.device.split(" ").at(-1)) : String(node.replica);
    this.text(short, x, y, (node.replica === null ? 0.45 : 0.8) * radius, { colour: ink, weight: 700, most: radius * 1.5 });
    const [first, second] = this.labels(node, state);
    if (places.nodes[index].outside) this.drawBeside(places.nodes[index], first, second);
    else this.drawBelow(places.boxes[node.group], first, second, x, y + radius);
  }

  glow(x, y, radius, colour) {
    const { context } = this;
    const beat = isReduced.matches ? 0.7 : 0.6 + 0.4 * Math.sin(this.now * 5);
    const reach = Math.min(radius * (1.5 + 0.25 * beat), this.places.free);
    const light = context.createRadialGradient(x, y, radius * 0.8, x, y, reach);
    light.addColorStop(0, `${colour}CC`);
    light.addColorStop(1, `${colour}00`);
    context.fillStyle = light;
    context.beginPath();
    context.arc(x, y, reach, 0, TURN);
    context.fill();
  }

  // A clock face around the node: a full turn is the step, the colours are the phases so far.
  drawProgress(node, x, y, radius, band) {
    const { context, time, theme } = this;
    context.lineWidth = band;
    context.beginPath();
    context.arc(x, y, radius - band / 2, 0, TURN);
    context.strokeStyle = theme.line;
    context.stroke();
    for (const [start, end, phase] of node.states) {
      if (start >= time) break;
      if (phase === "outside") continue;
      context.beginPath();
      context.arc(x, y, radius - band / 2, TURN * (start / length - 0.25), TURN * (Math.min(end, time) / length - 0.25));
      context.strokeStyle = colourOf(phase);
      context.stroke();
    }
  }

  // Which device a node is, and what it does. Between many nodes there is room for a number alone; the
  // colour says what a node does.
  labels(node, state) {
    const { places, theme, time } = this;
    const isCrowded = scene.nodes.length > 8;
    const process = scene.groups.length > 1 && !places.boxes.length ? scene.groups[node.group] : "";
    const box = places.boxes[node.group]?.title;
    const device = box && node.device.startsWith(`${box} `) ? node.device.slice(box.length + 1) : node.device;
    const first = isCrowded ? null : { text: node.replica === null ? node.title : process || device, weight: 600, keepsEnd: true };
    if (!state) return [first, null];
    const [start, , phase] = state;
    if (isCrowded && phase !== "wait") return [first, null];
    const op = entryAt(node.ops, time);
    const text = phase === "wait" ? `${isCrowded ? "" : "waits "}${milliseconds(time - start)}` : phase === "compute" && op ? scene.names[op[2]] : PHASES[phase]?.[1] ?? phase;
    return [first, { text, colour: phase === "wait" ? theme.ink : theme.soft }];
  }

  drawBeside({ x, y, outside }, first, second) {
    const { places, width } = this;
    const size = labelSize(places);
    const edge = x + outside * places.radius * (1 + GLOW);
    const options = { align: outside < 0 ? "right" : "left", most: (outside < 0 ? edge : width - edge) - 4, isOverLines: true };
    this.text(first.text, edge, second ? y - size * 0.6 : y, size, { ...first, ...options });
    if (second) this.text(second.text, edge, y + size * 0.65, size, { ...second, ...options });
  }

  drawBelow(box, first, second, x, bottom) {
    const { places } = this;
    const size = labelSize(places);
    const most = Math.min(Math.max(places.radius * 3.4, 160, size * 10), places.room - 6, 2 * Math.min(x, this.width - x) - 4);
    const isOverLines = !places.boxes.length;
    const besideMiddle = (y) => Math.min(most, this.widthBesideMiddle(x, y, size));
    const y = bottom + size * 1.1;
    if (first) this.text(first.text, x, y, size, { ...first, most: besideMiddle(y), isOverLines });
    if (!second || most < 56) return;
    const below = first ? bottom + size * 2.35 : y;
    if (box && below + size / 2 > box.y + box.height) return;
    this.text(second.text, x, below, size * 0.95, { ...second, most: besideMiddle(below), isOverLines });
  }
}
