// Streamlit calls a component again with new data or colours: the view is made once and told.

export function keepView(make) {
  const views = new WeakMap();
  let mounts = 0;
  return ({ parentElement, data, setTriggerValue, setStateValue }) => {
    const host = parentElement.querySelector(".strategy-lab");
    let view = views.get(host);
    if (!view) {
      mounts += 1;
      view = make(host, data);
      view.root.dataset.mounts = String(mounts);
      views.set(host, view);
    }
    view.show(data, setTriggerValue, setStateValue);
    // Also called before each such call: only what has left the page is closed.
    return () => {
      setTimeout(() => {
        if (host.isConnected) return;
        view.close();
        views.delete(host);
      });
    };
  };
}
