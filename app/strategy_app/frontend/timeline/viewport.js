// Which part of the run is on screen, and how its times and rows map to pixels.

const MIN_SPAN_NS = 1_000;

export class Viewport {
  constructor() {
    Object.assign(this, { from: 0, to: 1, length: 1, left: 150, width: 800, top: 64, rowHeight: 18, gap: 10 });
    this.rowTops = [];
  }

  // The late replica comes first, if the server names one.
  setTracks(tracks, late) {
    this.late = late;
    const numRows = tracks.reduce((sum, track) => sum + track.num_rows, 0);
    this.rowHeight = numRows > 24 ? 12 : numRows > 8 ? 18 : 28;
    this.trackRows = tracks.map((track) => track.num_rows);
    const placed = this.place(tracks, this.top);
    [this.trackTops, this.rowTops] = [placed.trackTops, placed.rowTops];
    this.measuredHeight = this.height = placed.bottom + 4;
  }

  // Rows below the measured ones, below `head` pixels of text and a ruler.
  setPredicted(tracks, head, ruler, space) {
    this.height = this.measuredHeight;
    this.predictedTop = this.measuredHeight + head;
    const placed = this.place(tracks ?? [], this.predictedTop + ruler + 4);
    [this.predictedTrackTops, this.predictedRowTops] = [placed.trackTops, placed.rowTops];
    if (tracks) this.height = placed.bottom + space;
  }

  place(tracks, top) {
    const [trackTops, rowTops] = [[], []];
    let bottom = top;
    const order = tracks.map((_, i) => i).sort((a, b) => this.isLate(tracks[b]) - this.isLate(tracks[a]));
    for (const i of order) {
      const { first_row: first, num_rows: rows } = tracks[i];
      trackTops[i] = bottom;
      for (let row = first; row < first + rows; row++, bottom += this.rowHeight) rowTops[row] = bottom;
      bottom += this.gap;
    }
    return { trackTops, rowTops, bottom };
  }

  isLate({ replica }) {
    return replica !== null && replica === this.late;
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

  rowAt(y, tops = this.rowTops) {
    return tops.findIndex((top) => y >= top && y < top + this.rowHeight);
  }

  // The number of the span that is nearest to a point on its row; -1 if none is.
  spanAt(x, y, tops, { row, start, duration }) {
    const wanted = x < this.left ? -1 : this.rowAt(y, tops);
    const [ns, slack] = [this.ns(x), this.perPixel * 1.5];
    let [nearest, least] = [-1, Infinity];
    for (let i = 0; i < row.length; i++) {
      if (row[i] !== wanted) continue;
      const away = Math.max(start[i] - ns, ns - start[i] - duration[i], 0);
      if (away <= slack && away < least) [nearest, least] = [i, away];
    }
    return nearest;
  }
}
