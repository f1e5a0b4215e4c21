// One Plotly figure in the page's colours, drawn again only if it, a colour or its width changes.

import { el } from "../shared/dom.js";
import { readTheme } from "../shared/theme.js";
import { library } from "./library.js";
import { templateOf } from "./template.js";
import { oneTabStop } from "./toolbar.js";

const CONFIG = { displaylogo: false };

export class Chart {
  constructor(host) {
    this.plot = el("div");
    this.root = el("div", { class: "lab-chart", role: "figure" }, this.plot);
    host.append(this.root);
    oneTabStop(this.root);
    this.resized = new ResizeObserver(() => this.draw());
    this.resized.observe(this.root);
    this.coloured = matchMedia("(prefers-color-scheme: dark)");
    this.onColours = () => requestAnimationFrame(() => this.draw());
    this.coloured.addEventListener("change", this.onColours);
  }

  show(data, setTriggerValue) {
    this.data = data;
    this.tell = setTriggerValue;
    this.root.setAttribute("aria-label", data.alt);
    this.root.style.height = `${data.height}px`;
    this.draw();
  }

  async draw() {
    const width = this.root.clientWidth;
    if (!width || !this.data) return; // in a part of the page that is folded
    const theme = { ...readTheme(this.root), series: this.data.colours };
    const wanted = JSON.stringify([this.data.figure, theme, width]);
    if (wanted === this.wanted) return;
    this.wanted = wanted;
    const plotly = await library(new URL(this.data.library, document.baseURI).href);
    if (wanted !== this.wanted || !this.root.isConnected) return; // another one is on its way
    const { data, layout } = JSON.parse(this.data.figure);
    await plotly.react(
      this.plot,
      data,
      { ...layout, width, height: this.data.height, template: templateOf(theme) },
      CONFIG,
    );
    if (this.data.clicks && !this.listens) {
      this.listens = true;
      this.plot.on("plotly_click", ({ points }) => this.click(points[0]));
    }
  }

  click({ curveNumber, x, customdata }) {
    this.tell("clicked", { curve: curveNumber, x, customdata: customdata ?? null });
  }

  close() {
    this.resized.disconnect();
    this.coloured.removeEventListener("change", this.onColours);
    window.Plotly?.purge(this.plot);
  }
}
