// Asks the lab for what the view can show, one request at a time, and reads the columns in place.

const TYPES = { f8: Float64Array, f4: Float32Array, i4: Int32Array, u2: Uint16Array, u1: Uint8Array };
const REPLACED = 409; // another run has the name by now
const AROUND = 1; // view widths fetched on either side, so that panning meets what is there

export class SpanSource {
  constructor(run, onData, onError, onReplaced) {
    Object.assign(this, { run, onData, onError, onReplaced, busy: false, wanted: null });
    this.describes({ identity: null });
  }

  // Whose spans are fetched: those of a description of the run, or of the part that it is of.
  describes(described) {
    this.described = described;
  }

  url(path, query) {
    const url = new URL(`api/runs/${encodeURIComponent(this.run)}/${path}`, document.baseURI);
    url.search = new URLSearchParams(query).toString();
    return url;
  }

  async json(path, query = {}) {
    const response = await fetch(this.url(path, query));
    if (!response.headers.get("content-type")?.startsWith("application/json")) throw new Error("No installed package answers this.");
    const body = await response.json();
    if (!response.ok) throw new Error(body.error ?? response.statusText);
    return body;
  }

  // Have what [from, to) needs; the newest wish wins.
  want(from, to, width) {
    const around = (to - from) * AROUND;
    this.wanted = { from: from - around, to: to + around, px: Math.round(width * (1 + 2 * AROUND)) };
    if (!this.busy) this.fetchWanted();
  }

  async fetchWanted() {
    this.busy = true;
    while (this.wanted) {
      const { described } = this;
      const { identity, read, version } = described;
      const query = { ...this.wanted, ...(identity && { identity }), ...(read && { part: version }) };
      this.wanted = null;
      try {
        const response = await fetch(this.url("spans", query));
        if (response.status === REPLACED) {
          this.onReplaced();
          continue;
        }
        if (!response.ok) throw new Error((await response.json()).error);
        const fetched = decode(await response.arrayBuffer());
        // Rows of another description have other numbers: its own are wanted by now.
        if (described === this.described) this.onData(fetched);
      } catch (error) {
        this.onError(error);
      }
    }
    this.busy = false;
  }
}

export function decode(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  let offset = 4 + length;
  for (const [column, kind] of Object.entries(header.columns)) {
    const type = TYPES[kind];
    header[column] = new type(buffer, offset, header.count);
    offset += Math.ceil((header.count * type.BYTES_PER_ELEMENT) / 8) * 8;
  }
  return header;
}

// Captured steps in a row belong to one capture window.
export function captureWindows(steps) {
  const windows = [];
  steps.step.forEach((step, i) => {
    const last = windows.at(-1);
    if (last && step === last.lastStep + 1) Object.assign(last, { lastStep: step, end: steps.end[i] });
    else windows.push({ firstStep: step, lastStep: step, start: steps.start[i], end: steps.end[i] });
  });
  return windows;
}
