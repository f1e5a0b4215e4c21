// The scrubber: the step of each node as a row of phases, the critical path through them, the playhead.
const TEXT = IS_IN_LECTURE ? 32 / 11 : 1; // 24 pt
const AXIS = IS_IN_LECTURE ? 44 : 20;
const TOP = 2; // the first title is higher than a low row

class Track {
  constructor(canvas, seek) {
    this.canvas = canvas;
    const move = (event) => {
      const box = canvas.getBoundingClientRect();
      const share = (event.clientX - box.left - this.left) / (box.width - this.left - 6);
      seek(Math.round(Math.min(1, Math.max(0, share)) * length));
    };
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      move(event);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (canvas.hasPointerCapture(event.pointerId)) move(event);
    });
  }

  draw(time) {
    const rows = scene.nodes.filter(({ states }) => states.length);
    const row = rows.length > 12 ? 7 : rows.length > 8 ? 9 : rows.length > 4 ? 13 : IS_IN_LECTURE ? 34 : 17;
    const bottom = rows.length * row;
    const [context, width] = fit(this.canvas, TOP + bottom + AXIS);
    context.translate(0, TOP);
    const theme = readTheme();
    const shown = rows.length > 8 ? 8.5 : IS_IN_LECTURE ? 32 : 11.5;
    const every = Math.ceil(shown / row); // the row of a title that fits
    const longest = scene.path.reduce((most, each) => (each[1] - each[0] > most[1] - most[0] ? each : most), [0, 0, -1]);
    const named = rows.indexOf(scene.nodes[longest[2]]); // has its title, if not all do
    const hasTitle = (index) => index === named || (index % every === 0 && (named < 0 || Math.abs(index - named) >= every));
    this.left = width < 500 ? 22 : IS_IN_LECTURE ? 176 : 70;
    const x = (at) => this.left + (at / length) * (width - this.left - 6);
    context.font = `${shown}px ${theme.font}`;
    context.textBaseline = "middle";
    rows.forEach(({ title, replica, states }, index) => {
      const y = index * row;
      context.fillStyle = theme.soft;
      context.textAlign = "right";
      if (hasTitle(index)) context.fillText(width < 500 ? String(replica) : title, this.left - 6, y + row / 2);
      for (const [start, end, phase] of states) {
        if (phase === "outside") continue;
        context.globalAlpha = start <= time ? 1 : 0.55;
        context.fillStyle = colourOf(phase);
        context.fillRect(x(start), y + 1, Math.max(0.4, x(end) - x(start)), row - 2);
      }
      context.globalAlpha = 1;
    });
    this.drawPath(context, theme, rows, row, x);
    this.drawAxis(context, theme, bottom, x, width);
    context.fillStyle = theme.ink;
    context.fillRect(x(time) - 1, 0, 2, bottom + 4);
    context.beginPath();
    context.arc(x(time), bottom + 6, 5, 0, TURN);
    context.fill();
  }

  drawPath(context, theme, rows, row, x) {
    const line = (colour, width) => {
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.lineJoin = "round";
      context.beginPath();
      scene.path.forEach(([start, end, node], index) => {
        const y = rows.indexOf(scene.nodes[node]) * row + row / 2;
        if (index) context.lineTo(x(start), y);
        else context.moveTo(x(start), y);
        context.lineTo(x(end), y);
      });
      context.stroke();
    };
    const isLow = row < 9; // the phase of the row is to be seen on both sides
    if (!isLow) line(theme.ground, 5);
    line(theme.ink, isLow ? 1.2 : 2.5);
  }

  drawAxis(context, theme, top, x, width) {
    const rough = length / Math.max(2, width / (110 * TEXT));
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
    context.fillStyle = theme.soft;
    context.textAlign = "center";
    context.font = `${11 * TEXT}px ${theme.font}`;
    for (let at = 0; at <= length; at += step) {
      const text = `${Number((at / 1e6).toPrecision(6))} ms`;
      const half = context.measureText(text).width / 2;
      context.fillText(text, Math.min(Math.max(x(at), half), width - half), top + AXIS - (IS_IN_LECTURE ? 18 : 6));
    }
  }
}
