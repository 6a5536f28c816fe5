#!/usr/bin/env bash
# An interrupted run of four processes goes on with two and with one, at a realistic size: are its weights, moments, log and state those of
# a run that one process made (docs/scale-out.md)? Some minutes; needs Open MPI, python3, two cores, and captions/ in $DATA.
#   DATA=... experiments/processes.sh [FOLDER]      FOLDER (default runs/processes) gets the runs
# BIN: the programs (default build/bin). UPDATES: of each run (default 60). MPIRUN: mpirun and its options.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-runs/processes}
bin=${BIN:-build/bin}
updates=${UPDATES:-60}
read -ra mpirun <<< "${MPIRUN:-mpirun --oversubscribe --bind-to none}"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
flags=(--train "$DATA/captions/train.en" --valid "$DATA/captions/val.en" --min-count 3 --hidden 256 --embed 256 --layers 2
  --batch 16 --bptt 20 --accumulate 4 --after "${updates}u" --valid-every "$((updates / 2))u" --save-every 5u --keep 3 --log-every 5)

# $1: processes, $2: run; then: the update at which it is to stop, and how (kill: -9 to one process; stop: SIGUSR1 to mpirun).
train() {
  local processes=$1 run=$2 at=${3:-} how=${4:-}
  if [ "$processes" = 1 ] && [ -z "$at" ]; then
    "$bin/lm_train" "${flags[@]}" --run "$folder/$run" > "$folder/$run.1.txt" 2>&1
    return
  fi
  "${mpirun[@]}" -n "$processes" "$bin/lm_train" "${flags[@]}" --threads 1 --run "$folder/$run" > "$folder/$run.$processes.txt" 2>&1 &
  local id=$! code=0
  if [ -n "$at" ]; then
    until [ -e "$folder/$run/checkpoints/$(printf %08d "$at")" ]; do
      kill -0 $id || { cat "$folder/$run.$processes.txt"; exit 1; }
      sleep 0.05
    done
    if [ "$how" = kill ]; then
      kill -9 "$(cut -d' ' -f2 "/proc/$id/task/$id/children")"
    else
      kill -USR1 $id
    fi
  fi
  wait $id || code=$?
  echo "$run: $processes processes${at:+, at update $at or later: $how}, exit status $code"
}

same() {
  local file
  for file in model.safetensors optimizer.safetensors; do
    cmp "$folder/alone/checkpoints/latest/$file" "$folder/$1/checkpoints/latest/$file"
  done
  python3 - "$folder/alone" "$folder/$1" << 'END'
import json, sys

def log(run):
    lines = [json.loads(line) for line in open(run + "/log.jsonl")]
    for line in lines:
        for key in ("time_s", "tokens_per_s", "ms_per_step", "peak_mib", "threads", "ranks"):
            line.pop(key, None)
    return [line for line in lines if line["event"] != "resume"]

def state(run):
    out = json.load(open(run + "/checkpoints/latest/state.json"))
    for key in ("time_s", "crc32c"):
        out.pop(key)
    out["window"].pop("seconds")
    out["files"].pop("config.json")  # it names the run and its threads
    return out

one, other = sys.argv[1:]
assert log(one) == log(other), "the logs differ"
assert state(one) == state(other), "state.json differs"
events = [line for line in log(other) if line["event"] == "valid"]
print("%s: weights and moments byte for byte those of one process, %d log lines, state.json; validation perplexity %.6f"
      % (other, len(log(other)), events[-1]["ppl"]))
END
}

rm -rf "$folder"
mkdir -p "$folder"
train 1 alone
train 4 four-two-one $((updates / 3)) kill
train 2 four-two-one $((updates * 2 / 3)) stop
train 1 four-two-one
same four-two-one
train 4 four-two $((updates / 3)) kill
train 2 four-two
same four-two
train 4 four-one $((updates / 3)) stop
train 1 four-one
same four-one
ls -l "$folder/alone/checkpoints/latest/" | awk 'NR > 1 { print $5, $9 }'
