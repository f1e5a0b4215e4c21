// The library that draws charts, from the lab's own server: loaded once, however many charts wait.
// The page may have begun to load it before (`server/chart_library.py`).

let loading = null;

export function library(address) {
  loading ??= new Promise((resolve, reject) => {
    if (window.Plotly) {
      resolve(window.Plotly);
      return;
    }
    const script = (window.labPlotly ??= document.createElement("script"));
    script.addEventListener("load", () => resolve(window.Plotly));
    script.addEventListener("error", () => {
      loading = window.labPlotly = null; // the next chart tries again
      script.remove();
      reject(new Error(`${address} could not be loaded`));
    });
    if (!script.isConnected) {
      script.src = address;
      document.head.append(script);
    }
  });
  return loading;
}
