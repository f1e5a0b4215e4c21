// Which part of the run is on screen, and how its times and rows map to pixels.

const MIN_SPAN_NS = 1_000;

export class Viewport {
  constructor() {
    Object.assign(this, { from: 0, to: 1, length: 1, left: 150, width: 800, top: 64, rowHeight: 18, gap: 10 });
    this.rowTops = [];
  }

  setTracks(tracks) {
    const numRows = tracks.reduce((sum, track) => sum + track.num_rows, 0);
    this.rowHeight = numRows > 24 ? 12 : numRows > 8 ? 18 : 28;
    this.trackTops = [];
    this.trackRows = tracks.map((track) => track.num_rows);
    this.rowTops = [];
    let y = this.top;
    for (const track of tracks) {
      this.trackTops.push(y);
      for (let row = 0; row < track.num_rows; row++, y += this.rowHeight) this.rowTops.push(y);
      y += this.gap;
    }
    this.measuredHeight = this.height = y + 4;
  }

  // Rows below the measured ones, below `head` pixels of text and a ruler.
  setPredicted(tracks, head, ruler, space) {
    this.height = this.measuredHeight;
    [this.predictedTop, this.predictedRowTops, this.predictedTrackTops] = [this.measuredHeight + head, [], []];
    if (!tracks) return;
    let y = this.predictedTop + ruler + 4;
    for (const track of tracks) {
      this.predictedTrackTops.push(y);
      for (let row = 0; row < track.num_rows; row++, y += this.rowHeight) this.predictedRowTops.push(y);
      y += this.gap;
    }
    this.height = y + space;
  }

  trackEnd(i) {
    return this.trackTops[i] + this.trackRows[i] * this.rowHeight;
  }

  get inner() {
    return Math.max(this.width - this.left, 1);
  }

  get perPixel() {
    return (this.to - this.from) / this.inner;
  }

  x(ns) {
    return this.left + (ns - this.from) / this.perPixel;
  }

  ns(x) {
    return this.from + (x - this.left) * this.perPixel;
  }

  show(from, to) {
    const span = Math.min(Math.max(to - from, MIN_SPAN_NS), this.length * 1.1);
    const slack = span * 0.5;
    const start = Math.min(Math.max(from, -slack), Math.max(this.length - span + slack, -slack));
    [this.from, this.to] = [start, start + span];
  }

  pan(ns) {
    this.show(this.from + ns, this.to + ns);
  }

  zoom(factor, aroundNs = (this.from + this.to) / 2) {
    const span = Math.min(Math.max((this.to - this.from) * factor, MIN_SPAN_NS), this.length * 1.1);
    const share = (aroundNs - this.from) / (this.to - this.from);
    this.show(aroundNs - span * share, aroundNs + span * (1 - share));
  }

  rowAt(y) {
    return this.rowTops.findIndex((top) => y >= top && y < top + this.rowHeight);
  }
}
