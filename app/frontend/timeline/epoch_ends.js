// The ends of epochs of Keras's fit: what it does between two steps.

const CHARACTER_PX = 6.1;
const STRIPE_PX = 9;

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

// A text without those of its last parts that are too long for a width.
function whatFits(text, width) {
  const parts = text.split(", ");
  while (parts.length && parts.join(", ").length * CHARACTER_PX > width) parts.pop();
  return parts.join(", ");
}

function drawStripes(context, x1, x2, top, bottom) {
  const height = bottom - top;
  context.save();
  context.beginPath();
  context.rect(x1, top, x2 - x1, height);
  context.clip();
  context.beginPath();
  for (let x = x1 - height; x < x2; x += STRIPE_PX) {
    context.moveTo(x, bottom);
    context.lineTo(x + height, top);
  }
  context.stroke();
  context.restore();
}
