#!/bin/bash
# One run over hosts that you reach by ssh:
#   HOSTS="10.0.0.1:2222 10.0.0.2:2222" docs/clusters/ssh.sh [flags of strategy-lab run]
# RUN    the run folder, the same path on every host (default: runs/ssh-TIME); shared or not
# LAB    how strategy-lab is called there (default: strategy-lab)
# SSH    how a host is reached (default: ssh -tt); -tt lets Ctrl-C reach the other end
set -euo pipefail

read -ra hosts <<< "${HOSTS:?HOSTS=\"host:port host:port\"}"
cluster=$(IFS=,; echo "${hosts[*]}")
run=${RUN:-runs/ssh-$(date +%Y%m%d-%H%M%S)}
lab=${LAB:-strategy-lab}
read -ra reach <<< "${SSH:-ssh -tt}"

pids=()
for index in "${!hosts[@]}"; do
  command=("$lab" worker --cluster "$cluster" --index "$index" -o "$run" "$@")
  "${reach[@]}" "${hosts[$index]%:*}" "$(printf '%q ' "${command[@]}")" < /dev/null &
  pids+=($!)
done

code=0
trap 'kill -HUP "${pids[@]}" 2> /dev/null || true' INT TERM
for pid in "${pids[@]}"; do
  wait "$pid" || code=$?
done
echo "Where the hosts share no disk: copy $run from each of them, then strategy-lab collect" >&2
exit "$code"
