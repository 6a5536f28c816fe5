#!/usr/bin/env bash
# The comparison of output heads (docs/results/heads.md): small runs on captions, two at a time with one thread each. It goes
# on where it stopped: a finished run is left as it is, an interrupted one resumes to the same bits.
#
#   tests/bench/grid.sh search|singles|presets|pi|looks|paper|all     train what is missing of a part
#   tests/bench/grid.sh table PART                              its figures as a Markdown table
#
# What a finished run logged of its validations and its end is kept in docs/results/heads/, from which the tables are made; a run
# that stands there is not trained again, on whatever machine.
# CAPTIONS (train.en, val.en, test.en), RUNS, RECORDS, BIN and JOBS may be set in the environment.
set -euo pipefail
cd "$(dirname "$0")/../.."
CAPTIONS=${CAPTIONS:-../shared/data/captions}
RUNS=${RUNS:-runs/grid}
RECORDS=${RECORDS:-docs/results/heads}
BIN=${BIN:-build/bin}
JOBS=${JOBS:-2}

# Each line of a part: run name, then lm_train's options.
# A bias from the unigram distribution: bounded kernels do not leave the plateau otherwise (docs/recipes.md).
small="--hidden 256 --embed 256 --lr 0.002 --init-bias log-frequency"
search() {
  for h in log:p=0.5 log:p=1 log:p=2 log:p=4 pow:p=0.5 pow:p=1 pow:p=2 pow:p=3 rbf:gamma=0.01 rbf:gamma=0.1 rbf:gamma=1 \
    wav:a=1:b=1 wav:a=10:b=10 wav:a=100:b=100 ssg:variance=split ssg:variance=0.5 ssg:variance=2 pol:p=2 pol:alpha=0.5:p=2 pol:p=3 \
    mog:form=sum mog:form=sum:variance=0.5 mog:form=mixture mog:form=mixture:variance=0.5 hpb:ball=lorentz hpb:ball=tanh hpb:ball=clip hpb:ball=sigmoid; do
    echo "search/$h 10000 $small --head $h --after 2e"
  done
}
singles() {
  local h s
  for h in lin log pow pol rbf ssg mog hpb wav sig; do echo "singles/$h@tuned-1 10000 $small --head $h@tuned --after 10e --seed 1"; done
  for s in 2 3; do for h in lin rbf; do echo "singles/$h@tuned-$s 10000 $small --head $h@tuned --after 10e --seed $s"; done; done
}
presets() {
  local h s
  for h in mix2 mos mix1 mix3 mix4 mix5 mixbig; do echo "presets/$h-1 10000 $small --head $h --after 5e --seed 1"; done
  echo "presets/without-lin-1 10000 $small --head mix:log,rbf,hpb,wav --after 5e --seed 1"  # mix1 without its lin
  echo "presets/lin-1 10000 $small --head lin --after 5e --seed 1"
  for s in 2 3; do echo "presets/mix2-$s 10000 $small --head mix2 --after 5e --seed $s"; done
}
pi() {
  local r k
  echo "pi/none 10000 $small --head mos --after 3e"
  for k in variance cv2; do for r in 0.001 0.01 0.1 1; do echo "pi/$k-$r 10000 $small --head mos --after 3e --pi-reg $k:$r"; done; done
}
# Why some heads stay behind: the rate of ssg's own variances, and without a bias to start from.
looks() {
  local h
  for h in lin log:p=8 ssg:variance=split; do echo "looks/$h-lr-0.0005 10000 --hidden 256 --embed 256 --lr 0.0005 --init-bias log-frequency --head $h --after 4e"; done
  for h in lin rbf; do echo "looks/$h-zero-bias 10000 --hidden 256 --embed 256 --lr 0.002 --head $h --after 4e"; done
}
paper() {
  local h
  for h in lin pow@tuned rbf@tuned mix2; do echo "paper/$h 30000 --hidden 512 --embed 512 --init-bias log-frequency --head $h --after 4e"; done
}

train() {  # train NAME LINES OPTIONS...
  local run="$RUNS/$1" text="$RUNS/train-$2.en" record="$RECORDS/$1.jsonl"
  [ -e "$record" ] && return 0
  mkdir -p "$run" "$(dirname "$record")"
  shift 2
  echo "$(date +%H:%M:%S) $run"
  "$BIN/lm_train" --train "$text" --valid "$CAPTIONS/val.en" --test "$CAPTIONS/test.en" --min-count 3 --threads 1 --keep 1 --run "$run" "$@" \
    > "$run/out.txt" 2>&1 || { echo "$run failed: $(tail -n 2 "$run/out.txt" | tr '\n' ' ')"; return 0; }
  grep -E '"event":"(start|valid|test|done)"' "$run/log.jsonl" > "$record"
}

value() { sed -n "s/.*\"$2\":\(\[[^]]*\]\|[-0-9.e]*\).*/\1/p" <<< "$1" | tail -n 1; }

table() {  # Markdown: run, parameters, perplexity after each epoch, best, test, mean pi of the last validation
  echo "| run | parameters | validation perplexity after each epoch | best | test | mean of π at the end |"
  echo "|---|---|---|---|---|---|"
  "$1" | while read -r name _; do
    local log="$RECORDS/$name.jsonl" valid done curve pi
    [ -e "$log" ] || { echo "| $name | | not run | | | |"; continue; }
    valid=$(grep '"event":"valid"' "$log" || true)
    done=$(grep '"event":"done"' "$log" | tail -n 1 || true)
    curve=$(while read -r line; do printf '%.2f ' "$(value "$line" ppl)"; done <<< "$valid")
    pi=$(value "$(tail -n 1 <<< "$valid")" pi_mean | tr -d '[]' | tr ',' '\n' | while read -r x; do [ -n "$x" ] && printf '%.3f ' "$x"; done || true)
    echo "| ${name#*/} | $(value "$done" parameters) | $curve| $(printf '%.2f' "$(value "$done" best_valid_ppl)") | $(printf '%.2f' "$(value "$done" test_ppl)") | $pi|"
  done
}

case "${1:-}" in
  one) shift; train "$@" ;;
  table) table "$2" ;;
  search | singles | presets | pi | looks | paper | all)
    mkdir -p "$RUNS"
    for n in 10000 30000; do [ -e "$RUNS/train-$n.en" ] || head -n "$n" "$CAPTIONS/train.en" > "$RUNS/train-$n.en"; done
    parts=$1
    [ "$1" = all ] && parts="search singles presets pi looks paper"
    for part in $parts; do "$part"; done | xargs -P "$JOBS" -L 1 tests/bench/grid.sh one
    ;;
  *) sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
