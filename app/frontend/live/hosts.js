// The hosts of a TPU pod, as `profiles.run.topology` has them: process 0 coordinates, host N is process N + 1.

const OF_HOST = /^\/job:host\/(?:.*\/)?task:(\d+)(?:\/|$)/;

// Number of the process that a replica of a segment runs in; null where it is on no pod's host.
export function hostProcess(segment, replica) {
  const found = OF_HOST.exec(segment?.replica_devices?.[replica] ?? "");
  return found ? Number(found[1]) + 1 : null;
}

// What the processes are called that replicas run in.
export const processesOf = (segment) => (hostProcess(segment, 0) === null ? "workers" : "hosts");
