// The page: builds the controls, moves the playhead by clock, keys and pointer.
const AUTO_S = 15; // a film at automatic speed lasts about this long
const SLOW_S = 4; // what moves in a collective is shown for at least this long
const SPEEDS = [["auto", null], ["1/100", 1e7], ["1/1,000", 1e6], ["1/10,000", 1e5]];
const LEAST_HEIGHT = 190; // of the picture, px
const MARGIN = 8;
const KEYS = "Space plays and stops, the arrow keys go from event to event, Home and End to the ends, L loops.";

function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

// The height of the window below the top of this document, unscrolled. Inside a page of the lab it is
// the window of that page, below this frame.
function heightInSight() {
  try {
    let top = window.frameElement?.getBoundingClientRect().top ?? 0;
    for (let node = window.frameElement?.parentElement; node; node = node.parentElement) top += node.scrollTop;
    return window.parent.innerHeight - top;
  } catch {
    return window.innerHeight; // the page around this one is not ours
  }
}

// Calls the listener when that height may have changed: the window did, or what is above this frame.
function onHeightChange(listener) {
  let height = heightInSight();
  const look = () => {
    const before = height;
    height = heightInSight();
    if (Math.abs(height - before) > 1) listener();
  };
  const around = new ResizeObserver(look);
  try {
    for (let node = window.frameElement?.parentElement; node; node = node.parentElement) around.observe(node);
  } catch { /* the page around this one is not ours */ }
  window.addEventListener("resize", look);
  window.addEventListener("pagehide", () => around.disconnect());
}

// Automatic speed: slower while the largest collectives move, else they would be over at once.
const slowParts = collectives
  .slice()
  .sort((a, b) => (b.bytes ?? 0) - (a.bytes ?? 0))
  .slice(0, 3)
  .map(({ all_entered_ns, end_ns }) => [all_entered_ns, end_ns, (end_ns - all_entered_ns) / SLOW_S])
  .filter(([, , perSecond]) => perSecond > 0 && perSecond < length / AUTO_S);

class Player {
  constructor(root) {
    this.root = root;
    this.time = scene.poster_ns;
    this.isPoster = true;
    this.isPlaying = false;
    this.isLooping = true;
    this.speed = null;
    this.build();
    this.height = LEAST_HEIGHT;
    new ResizeObserver(() => this.resize()).observe(root);
    onHeightChange(() => this.fitHeight());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    new MutationObserver(() => this.draw()).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    document.documentElement.classList.toggle("lecture", IS_IN_LECTURE);
    document.addEventListener("keydown", (event) => this.onKey(event));
    this.draw();
    document.fonts.load("1rem 'Lab Sans'").then(() => this.resize());
  }

  build() {
    const button = (text, label, click, more = {}) => {
      const onclick = ({ detail, currentTarget }) => {
        click();
        if (detail) currentTarget.blur(); // clicked by pointer: the space bar still plays
      };
      return element("button", { type: "button", "aria-label": label, title: label, onclick, ...more }, text);
    };
    this.caption = element("p", { class: "caption", "aria-live": "polite" });
    this.path = element("span", { class: "now" });
    const stage = element("canvas", { class: "stage", role: "img", "aria-label": "Replicas of the step, what they do and what travels between them" });
    const track = element("canvas", {
      class: "track", role: "slider", tabindex: 0, "aria-label": "Time in the step", "aria-valuemin": 0, "aria-valuemax": length / 1e6,
    });
    this.stage = new Stage(stage);
    this.track = new Track(track, (time) => this.seek(time));
    this.playButton = button("▶ Play", "Play (Space)", () => this.toggle(), { class: "play" });
    this.loopButton = button("Loop", "Start again at the end (L)", () => this.setLoop(!this.isLooping), { "aria-pressed": "true" });
    this.speedButtons = SPEEDS.map(([text, speed]) => button(text, speed === null ? "Slower while a collective moves" : `${text} of the step's speed`, () => this.setSpeed(speed), { "aria-pressed": String(speed === null) }));
    this.clock = element("span", { class: "clock" });
    this.rate = element("small");
    const moves = element("div", { class: "buttons", role: "group", "aria-label": "Play" },
      button("◀", "Previous event (Left arrow)", () => this.step(-1)), this.playButton, button("▶", "Next event (Right arrow)", () => this.step(1)), this.loopButton);
    const speeds = element("div", { class: "buttons", role: "group", "aria-label": "Speed" }, ...this.speedButtons);
    this.legendList = this.legend();
    this.root.append(
      element("h1", {}, `${scene.run}: step ${scene.step.toLocaleString("en-US")}, ${scene.title}`),
      this.caption, stage,
      element("div", { class: "controls" }, moves, speeds, element("span", {}, this.clock, this.rate), this.path),
      track, this.legendList,
      element("div", { class: "notes" }, ...[...scene.notes, KEYS].map((note) => element("p", {}, note))));
  }

  legend() {
    const used = new Set(scene.nodes.flatMap(({ states }) => states.map(([, , phase]) => phase)));
    const items = Object.keys(PHASES).filter((phase) => used.has(phase) && phase !== "outside").map((phase) => {
      const swatch = element("i");
      swatch.style.background = colourOf(phase);
      return element("li", {}, swatch, PHASES[phase][0]);
    });
    if (scene.path.length) items.push(element("li", {}, element("i", { class: "path" }), "critical path"));
    return element("ul", { class: "legend", "aria-label": "Colours" }, ...items);
  }

  get perSecond() {
    if (this.speed !== null) return this.speed;
    const slow = slowParts.find(([start, end]) => start <= this.time && this.time < end);
    return slow ? slow[2] : length / AUTO_S;
  }

  // What the window leaves of its height for the picture: controls, scrubber and legend stay in sight.
  stageHeight() {
    const legend = this.legendList.getBoundingClientRect();
    const others = legend.bottom + window.scrollY + MARGIN - this.stage.canvas.getBoundingClientRect().height;
    return Math.round(Math.max(LEAST_HEIGHT, Math.min(heightInSight() - others, this.root.clientWidth * 0.8, 900)));
  }

  fitHeight() {
    this.width = this.root.clientWidth;
    this.draw(); // the scrubber has its height from now on
    this.height = this.stageHeight();
    this.draw();
  }

  // Inside a page of the lab, the frame becomes as tall as the film.
  resize() {
    // Not when a sentence takes another line: the picture would change its size while it plays.
    if (this.root.clientWidth !== this.width) this.fitHeight();
    else this.draw();
    if (window.frameElement) window.frameElement.style.height = `${Math.ceil(this.root.getBoundingClientRect().height)}px`;
  }

  draw(now = performance.now()) {
    this.stage.draw(this.time, this.perSecond, now / 1000, this.height);
    this.track.draw(this.time);
    const text = captionAt(this.time);
    if (this.caption.textContent !== text) this.caption.textContent = text;
    this.path.textContent = pathText(this.time);
    this.clock.textContent = (this.time / 1e6).toFixed(length < 2e7 ? 3 : 2);
    this.rate.textContent = ` of ${milliseconds(length)}, at 1/${Math.round(1e9 / this.perSecond).toLocaleString("en-US")} of its speed`;
    const track = this.track.canvas;
    track.setAttribute("aria-valuenow", (this.time / 1e6).toFixed(3));
    track.setAttribute("aria-valuetext", `${milliseconds(this.time)}: ${text}`);
    Object.assign(this.root.dataset, { time: String(Math.round(this.time)), playing: String(this.isPlaying), event: String(events.indexOf(this.time)) });
  }

  run(now) {
    if (!this.isPlaying) return;
    // A tab in the background gets no frames: the film goes on where it was.
    const passed = Math.min(0.1, (now - this.before) / 1000);
    this.before = now;
    this.time += passed * this.perSecond;
    if (this.time >= length) {
      this.time = this.isLooping ? 0 : length;
      if (!this.isLooping) this.stop();
    }
    this.draw(now);
    requestAnimationFrame((next) => this.run(next));
  }

  toggle() {
    if (this.isPlaying) {
      this.stop();
      return;
    }
    if (this.isPoster || this.time >= length) this.time = 0;
    this.isPoster = false;
    this.isPlaying = true;
    this.caption.setAttribute("aria-live", "off");
    this.before = performance.now();
    this.playButton.textContent = "❚❚ Stop";
    requestAnimationFrame((now) => this.run(now));
  }

  stop() {
    this.isPlaying = false;
    this.caption.setAttribute("aria-live", "polite");
    this.playButton.textContent = "▶ Play";
    this.draw();
  }

  seek(time) {
    this.time = time;
    this.isPoster = false;
    this.draw();
  }

  step(direction) {
    const next = direction > 0 ? events.find((at) => at > this.time) : events.findLast((at) => at < this.time);
    if (this.isPlaying) this.stop();
    if (next !== undefined) this.seek(next);
  }

  setSpeed(speed) {
    this.speed = speed;
    SPEEDS.forEach(([, each], index) => this.speedButtons[index].setAttribute("aria-pressed", String(each === speed)));
    this.draw();
  }

  setLoop(isLooping) {
    this.isLooping = isLooping;
    this.loopButton.setAttribute("aria-pressed", String(isLooping));
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const actions = {
      " ": () => this.toggle(), ArrowRight: () => this.step(1), ArrowLeft: () => this.step(-1),
      Home: () => this.seek(0), End: () => this.seek(length), l: () => this.setLoop(!this.isLooping),
    };
    const back = () => window.parent.postMessage("back to the question", "*");
    if (IS_IN_LECTURE) Object.assign(actions, { Escape: back, p: back });
    const action = actions[event.key];
    if (!action || (event.key === " " && event.target.tagName === "BUTTON")) return;
    event.preventDefault();
    action();
  }
}

new Player(document.getElementById("film"));
