// What happened besides steps, in one line each; null for what the page shows elsewhere.

import { joined, units } from "../shared/format.js";

// Commands of users. A stop is reported with the end of the run.
const CALLED = { reconfigure: "The change" };
const SENTENCES = {
  launched: (n) => `${takers(n)} ${n.generation ? "restarted" : "started"}.`,
  segment: (n) =>
    n.segment === 0
      ? `From step ${n.first_step}: ${n.strategy} on ${n.num_replicas} ${n.num_replicas === 1 ? "replica" : "replicas"}.`
      : `From step ${n.first_step}: ${n.changes.join(", ") || "the same configuration"}${moved(n)}.`,
  answer: (n) =>
    n.status !== "applied"
      ? `${CALLED[n.command] ?? "Stopping"} was refused: ${n.message ?? "no reason given"}`
      : n.command in CALLED ? n.message ?? `${CALLED[n.command]} was applied${took(n)}.` : null,
  window: (n) => (n.error ? `Capture ${n.window} was lost: ${n.error}` : null),
  failed: (n) => (n.follows ? null : n.message),
  // One that ended because another was lost is left out: the panel of processes shows that loss.
  exited: (n) => (isGood(n) || n.is_consequence ? null : n.message ?? `Worker ${n.worker}: ${n.verdict}.`),
  finished: (n) => n.worker || n.status === "replaced" ? null : `The run ${n.status === "stopped" ? "was stopped" : "ended"} after ${joined(units.count(n.steps))} ${n.steps === 1 ? "step" : "steps"}.`,
  note: (n) => n.message,
};

// A group is reported once, by its first process; a single restarted process is named.
const takers = ({ task, worker }) => (!task ? `Worker ${worker}` : worker ? task.charAt(0).toUpperCase() + task.slice(1) : "The processes");
const isGood = ({ verdict }) => ["finished", "stopped", "replaced"].includes(verdict);
const moved = (n) => (n.moved === "fresh-worker" ? `, in ${n.num_workers > 1 ? "new workers" : "a new worker"}` : "");
const took = (n) => (n.took_ms ? ` after ${joined(n.took_ms < 1000 ? units.ms(n.took_ms) : units.seconds(n.took_ms / 1000))}` : "");

export function sentence(news) {
  return SENTENCES[news.kind]?.(news) ?? null;
}

export function isTrouble(news) {
  return (
    news.kind === "failed" ||
    news.status === "rejected" ||
    (news.kind === "window" && news.error) ||
    (news.kind === "note" && news.level === "warning") ||
    (news.kind === "exited" && !isGood(news))
  );
}

// The label of a segment's boundary: what changed, or what it is.
export function boundaryLabel(news) {
  return news.changes?.join(", ") || `${news.strategy} × ${news.num_replicas}`;
}
