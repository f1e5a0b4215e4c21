// The page's address holds the view, the selected range with its tracks, the selected op, and the edit of a what-if.

const NAMES = ["view", "range", "tracks", "op", "step", "edit"];
const WRITE_MS = 250;

export class Address {
  constructor() {
    this.read();
  }

  read() {
    const query = new URLSearchParams(location.search);
    this.run = query.get("run");
    this.place = Object.fromEntries(NAMES.map((name) => [name, query.get(name)]).filter(([, value]) => value));
    this.view = pair(query.get("view"), "-");
    this.op = pair(query.get("op"), "."); // its row and its start
    this.step = whole(query.get("step"));
    this.edit = query.get("edit") || null; // a text for the package that predicts a step with it
    this.segment = whole(query.get("segment"));
    const range = pair(query.get("range"), "-");
    const tracks = (query.get("tracks") ?? "").split(",").map(whole).filter((track) => track !== null);
    this.range = range && { from: range[0], to: range[1], tracks: tracks.length ? tracks : null };
  }

  // Zooming is not a place to go back to: the entry in the browser's history is replaced.
  write(viewport, { range, selected, edit }) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      const url = new URL(location.href);
      const values = {
        view: `${Math.round(viewport.from)}-${Math.round(viewport.to)}`,
        range: range && `${range.from}-${range.to}`,
        tracks: range?.tracks?.join(","),
        op: selected && `${selected.row}.${selected.start}`,
        edit,
      };
      for (const name of NAMES) {
        if (values[name]) url.searchParams.set(name, values[name]);
        else url.searchParams.delete(name);
      }
      if (url.href !== location.href) history.replaceState(history.state, "", url);
    }, WRITE_MS);
  }

  close() {
    clearTimeout(this.timer);
  }
}

function whole(text) {
  return /^-?\d{1,18}$/.test(text ?? "") ? Number(text) : null;
}

// The view may begin before the run does: `-5-20`.
function pair(text, between) {
  const match = (text ?? "").match(between === "-" ? /^(-?\d{1,18})-(-?\d{1,18})$/ : /^(\d{1,9})\.(-?\d{1,18})$/);
  return match && [Number(match[1]), Number(match[2])];
}
