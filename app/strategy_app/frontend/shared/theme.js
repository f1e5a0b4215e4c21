// The page's colours of the moment, read from the custom properties that Streamlit sets.

export function readTheme(element) {
  const style = getComputedStyle(element);
  const read = (name, otherwise) => style.getPropertyValue(name).trim() || otherwise;
  return {
    text: read("--st-text-color", "#16202B"),
    background: read("--st-background-color", "#FFFFFF"),
    panel: read("--st-secondary-background-color", "#F3F5F8"),
    border: read("--st-border-color", "#D5DBE3"),
    primary: read("--st-primary-color", "#0060A0"),
    font: read("--st-font", "sans-serif"),
  };
}

// Fit a canvas to its box at the screen's own resolution; its context, in CSS pixels.
export function fitCanvas(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.height = `${height}px`;
  }
  const context = (canvas.context2d ??= canvas.getContext("2d"));
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}
