// Inside a page of the lab, a document has that page's theme, light or dark, also after the viewer has
// chosen the other one in the page's menu. Elsewhere it has the system's.
"use strict";
(() => {
  let app = null;
  try {
    if (window.parent !== window) app = window.parent.document.querySelector("[data-testid=stApp]");
  } catch { /* the page around this one is not ours */ }
  if (!app) return;
  const follow = () => {
    document.documentElement.dataset.theme = getComputedStyle(app).colorScheme === "dark" ? "dark" : "light";
  };
  // Streamlit gives the page another class with other colours.
  const changes = new MutationObserver(follow);
  changes.observe(app, { attributes: true, attributeFilter: ["class"] });
  window.addEventListener("pagehide", () => changes.disconnect());
  follow();
})();
