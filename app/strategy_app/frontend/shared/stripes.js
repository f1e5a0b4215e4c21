// Hatching for a stretch of time in which no step runs.

const CHARACTER_PX = 6.1; // of an 11 px font
const STRIPE_PX = 9;

export function drawStripes(context, x1, x2, top, bottom) {
  const height = bottom - top;
  if (x2 - x1 < STRIPE_PX) {
    context.fillRect(x1, top, x2 - x1, height);
    return;
  }
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

// A text without those of its last parts that are too long for a width.
export function whatFits(text, width) {
  const parts = text.split(", ");
  while (parts.length && parts.join(", ").length * CHARACTER_PX > width) parts.pop();
  return parts.join(", ");
}
