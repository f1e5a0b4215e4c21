// The live view's entry: one view per place on the page, kept while the page reruns around it.

import { LiveView } from "./view.js";

const views = new WeakMap();
let mounts = 0;

export default function ({ parentElement, data }) {
  const host = parentElement.querySelector(".strategy-lab");
  let view = views.get(host);
  if (!view) {
    mounts += 1;
    view = new LiveView(host, data);
    view.root.dataset.mounts = String(mounts);
    views.set(host, view);
  }
  view.show(data);
  // Called when the element leaves the page, and before each call with new data or colours.
  return () => {
    queueMicrotask(() => {
      if (host.isConnected) return;
      view.close();
      views.delete(host);
    });
  };
}
