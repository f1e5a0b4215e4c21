// The steps of a run as columns: NaN where a value is missing, the oldest half thinned when full.

const FIELDS = ["step", "segment", "start", "wall", "loss", "examples", "throughput", "low", "middle", "high", "gap"];
const MAX_STEPS = 16384;
const RECENT = 50; // steps in which a row of every worker is looked for
const PAUSE_MS = 250; // two steps that begin further apart than this, and than
const PAUSE_STEPS = 10; // this many usual steps, have a stretch between them in which no step began
const PACE = 10; // steps over which throughput is taken: workers with paces of their own end steps back to back

export class History {
  constructor(phases) {
    this.phases = phases;
    this.clear();
  }

  clear() {
    this.length = 0;
    this.capacity = 1024;
    this.numReplicas = 0;
    for (const field of FIELDS) this[field] = new Float64Array(this.capacity);
    this.replicas = []; // per replica one column per phase
    this.early = new Map(); // rows of other workers that came before their step
    this.ahead = 0; // newest steps before which others are still unread
  }

  // Until the next message, the newest steps follow those that are read.
  setAhead(rows) {
    for (const row of rows) this.place(row);
    this.ahead = rows.length;
    if (this.ahead) this.gap[this.length - this.ahead] = Infinity;
  }

  dropAhead() {
    this.length -= this.ahead;
    this.ahead = 0;
  }

  // `workers` are the processes of the segment's replicas, in order.
  add(row, workers) {
    const [worker, step, , , , , , marks, others] = row;
    if (worker !== 0) {
      this.addOther(row, workers);
      return;
    }
    const at = this.place(row);
    if (marks) this.setMarks(at, 0, marks);
    for (const other of this.early.get(step) ?? []) this.setMarks(at, other.first, other.marks);
    this.early.delete(step);
    this.changeOthers(step, others, workers);
  }

  // A new last step, without its phases.
  place([, step, segment, start, wall, loss, examples]) {
    if (this.length === this.capacity) this.makeRoom();
    const at = this.length++;
    this.step[at] = step ?? NaN;
    this.segment[at] = segment ?? NaN;
    this.start[at] = start ?? NaN;
    this.wall[at] = wall ?? NaN;
    this.loss[at] = loss ?? NaN;
    this.examples[at] = examples ?? NaN;
    this.throughput[at] = this.pace(at);
    this.gap[at] = this.stretchBefore(at);
    this.low[at] = this.middle[at] = this.high[at] = NaN;
    for (const columns of this.replicas) for (const column of columns) column[at] = NaN;
    return at;
  }

  addOther([worker, step, , , , , , marks, others], workers) {
    this.setOther(step, worker, marks, workers);
    this.changeOthers(step, others, workers);
  }

  // Corrects earlier rows of a step: the workers that reported it first waited longer.
  changeOthers(step, others, workers) {
    for (const [worker, marks] of others ?? []) this.setOther(step, worker, marks, workers);
  }

  setOther(step, worker, marks, workers) {
    if (!marks) return;
    const first = Math.max(0, workers.indexOf(worker));
    for (let at = this.length - 1; at >= Math.max(0, this.length - 64); at--) {
      if (this.step[at] === step) {
        this.setMarks(at, first, marks);
        return;
      }
    }
    if (this.early.size > 256) this.early.clear();
    this.early.set(step, [...(this.early.get(step) ?? []), { first, marks }]);
  }

  setMarks(at, first, marks) {
    const width = this.phases.length;
    const count = Math.floor(marks.length / width);
    while (this.replicas.length < first + count) {
      this.replicas.push(this.phases.map(() => new Float32Array(this.capacity).fill(NaN)));
    }
    this.numReplicas = this.replicas.length;
    for (let replica = 0; replica < count; replica++) {
      for (let phase = 0; phase < width; phase++) {
        this.replicas[first + replica][phase][at] = marks[replica * width + phase] ?? NaN;
      }
    }
    this.spread(at);
  }

  // The middle 80 % of the replicas' own times at a step.
  spread(at) {
    const own = [];
    for (let replica = 0; replica < this.numReplicas; replica++) {
      const value = this.own(replica, at);
      if (Number.isFinite(value)) own.push(value);
    }
    own.sort((a, b) => a - b);
    const rank = (share) => own[Math.round(share * (own.length - 1))] ?? NaN;
    [this.low[at], this.middle[at], this.high[at]] = [rank(0.1), rank(0.5), rank(0.9)];
  }

  // The newest step that every worker has reported; their rows arrive one by one.
  settled() {
    const last = this.length - 1;
    let [chosen, most] = [last, last < 0 ? 0 : this.present(last).length];
    for (let at = last - 1; at >= 0 && at > last - RECENT && this.segment[at] === this.segment[last]; at--) {
      const count = this.present(at).length;
      if (count > most) [chosen, most] = [at, count];
    }
    return chosen;
  }

  // The replicas that take part in a step.
  present(at) {
    const replicas = [];
    for (let r = 0; r < this.numReplicas; r++) if (this.hasReplica(r, at)) replicas.push(r);
    return replicas;
  }

  // Values of the newest steps of a segment, up to and with `at`, without its first step, which is
  // traced and compiled.
  recent(get, at, count = RECENT) {
    const values = [];
    for (let i = at; i >= 0 && i > at - count && this.segment[i] === this.segment[at]; i--) {
      const value = get(i);
      if (Number.isFinite(value) && !this.isFirst(i)) values.push(value);
    }
    return values;
  }

  isFirst(at) {
    return at === 0 || this.segment[at] !== this.segment[at - 1];
  }

  // Time of a replica until its gradients are ready: what is its own doing, before any waiting.
  own(replica, at) {
    const columns = this.replicas[replica];
    return columns ? this.ownPhases.reduce((sum, phase) => sum + columns[phase][at], 0) : NaN;
  }

  get ownPhases() {
    return (this.ownIndices ??= ["compute", "delay", "input"].map((phase) => this.phases.indexOf(phase)));
  }

  hasReplica(replica, at) {
    return Number.isFinite(this.own(replica, at));
  }

  // How long no step began before this one, ms; 0 if steps followed each other as usual. Such a
  // stretch is a change, a traced step or a pause. Steps that are left out take as long as others.
  stretchBefore(at) {
    if (at === 0) return 0;
    const length = this.start[at] - this.start[at - 1];
    const distance = Math.max(1, this.step[at] - this.step[at - 1]);
    const recent = mean(this.recent((i) => this.wall[i], at - 1, RECENT));
    const usual = distance * (Number.isFinite(recent) ? recent : this.wall[at]);
    return length > Math.max(PAUSE_MS, PAUSE_STEPS * usual) ? length : 0;
  }

  // Examples per second over the newest steps.
  pace(at) {
    const examples = sum(this.recent((i) => this.examples[i], at, PACE)) || NaN; // not known: no rate of 0
    return (examples / sum(this.recent((i) => this.wall[i], at, PACE))) * 1000;
  }

  makeRoom() {
    if (this.capacity < MAX_STEPS) {
      this.capacity *= 2;
      this.eachColumn((column) => {
        const larger = new column.constructor(this.capacity).fill(NaN);
        larger.set(column);
        return larger;
      });
      return;
    }
    const half = this.length >> 1;
    const kept = half >> 1;
    // Row 2i stays; what came before the row that goes comes before the next one that stays.
    for (let i = 1; i <= kept; i++) this.gap[2 * i] += this.gap[2 * i - 1];
    this.eachColumn((column) => {
      for (let i = 0; i < kept; i++) column[i] = column[2 * i];
      column.copyWithin(kept, 2 * kept, this.length);
      return column;
    });
    this.length -= kept;
  }

  eachColumn(change) {
    for (const field of FIELDS) this[field] = change(this[field]);
    this.replicas = this.replicas.map((columns) => columns.map(change));
  }
}

export function mean(values) {
  return values.length ? sum(values) / values.length : NaN;
}

function sum(values) {
  return values.reduce((total, value) => total + value, 0);
}
