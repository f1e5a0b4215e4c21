// The ends of epochs of Keras's fit: what it does between two steps.

import { drawStripes, whatFits } from "../shared/stripes.js";

export function drawEpochEnds(context, { viewport: v, theme, epochEnds }) {
  context.font = `11px ${theme.font}`;
  context.textBaseline = "middle";
  context.textAlign = "center";
  context.strokeStyle = context.fillStyle = theme.text;
  for (const { start, end, text } of epochEnds) {
    const [x1, x2] = [Math.max(v.x(start), v.left), Math.min(v.x(end), v.width)];
    if (x2 - x1 < 1) continue;
    context.globalAlpha = 0.12;
    drawStripes(context, x1, x2, v.top - 4, v.measuredHeight);
    context.globalAlpha = 0.9;
    context.fillText(whatFits(text, x2 - x1 - 8), (x1 + x2) / 2, v.top - 13);
  }
  context.globalAlpha = 1;
}
