// The run's messages by WebSocket; after a lost connection it goes on from its cursor.
// A run that is gone may be recorded again under its name: its viewers then start over.

const GONE = 4404;
const FORBIDDEN = 4401;
const RETRY_MS = [250, 500, 1000, 2000, 4000];

export class Feed {
  constructor(run, { onMessage, onState }) {
    this.run = run;
    this.onMessage = onMessage;
    this.onState = onState;
    this.cursor = "";
    this.attempts = 0;
    this.closed = false;
    this.open();
  }

  open() {
    // Beside the page's address, which a proxy may serve below a prefix.
    const url = new URL(`api/runs/${encodeURIComponent(this.run)}/stream`, document.baseURI);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    url.search = new URLSearchParams({ cursor: this.cursor }).toString();
    url.hash = "";
    this.socket = new WebSocket(url);
    this.socket.onmessage = (event) => {
      this.attempts = 0;
      const message = JSON.parse(event.data);
      this.cursor = message.cursor;
      this.onState("connected");
      this.onMessage(message);
    };
    this.socket.onclose = (event) => this.retry(event.code);
  }

  retry(code) {
    if (this.closed) return;
    if (code === FORBIDDEN) {
      this.onState("forbidden");
      return;
    }
    this.onState(code === GONE ? "gone" : "lost");
    const wait = RETRY_MS[Math.min(this.attempts, RETRY_MS.length - 1)];
    this.attempts += 1;
    this.timer = setTimeout(() => this.open(), wait);
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    this.socket.close();
  }
}
