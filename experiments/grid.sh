#!/usr/bin/env bash
# The comparison of output heads (experiments/heads.md, experiments/mt-heads.md): small runs on captions and on Multi30k, two at a
# time with one thread each. It goes on where it stopped: a finished run is left as it is, an interrupted one resumes to the same bits.
#
#   experiments/grid.sh search|singles|presets|pi|diagnostics|paper   train what is missing of a part, on captions
#   experiments/grid.sh translation|translation-diagnostics           the same on Multi30k
#   experiments/grid.sh networks                                      LSTM and Transformer at equal parameters (experiments/networks.md)
#   experiments/grid.sh networks-speed                                how fast these are: to be run while nothing else computes
#   experiments/grid.sh all                                           all but networks-speed
#   experiments/grid.sh table PART                                    a part's figures as a Markdown table
#
# What a finished run logged of its validations and its end is kept in experiments/heads/, from which the tables are made; a run
# that is recorded there is not trained again on any machine. In a record's file name each of : = @ , * of the run's name is a -.
# The environment variable DATA names the folder of captions/ and multi30k/ (experiments/README.md); training needs it, tables do not.
# RUNS, RECORDS, BIN and JOBS may be set, too.
set -euo pipefail
[ -z "${DATA:-}" ] || DATA=$(realpath -m "$DATA")
cd "$(dirname "$0")/.."
RUNS=${RUNS:-runs/grid}
RECORDS=${RECORDS:-experiments/heads}
BIN=${BIN:-build/bin}
JOBS=${JOBS:-2}

# Each line of a part: run name, lines of captions or `pairs` for Multi30k, then lm_train's or mt_train's options.
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
pi() {  # without a regulariser: presets/mos-1, after as many epochs
  local r k
  for k in variance cv2; do for r in 1 0.1 0.01 0.001; do echo "pi/$k-$r 10000 $small --head mos --after 3e --pi-reg $k:$r"; done; done
}
# Why some heads stay behind: the rate of ssg's own variances, and without a bias to start from.
diagnostics() {
  local h
  for h in lin log:p=8 ssg:variance=split; do echo "diagnostics/$h-lr-0.0005 10000 --hidden 256 --embed 256 --lr 0.0005 --init-bias log-frequency --head $h --after 4e"; done
  for h in lin rbf; do echo "diagnostics/$h-zero-bias 10000 --hidden 256 --embed 256 --lr 0.002 --head $h --after 4e"; done
}
paper() {
  local h
  for h in lin pow@tuned rbf@tuned mix2; do echo "paper/$h 30000 --hidden 512 --embed 512 --init-bias log-frequency --head $h --after 3e"; done
}

# A small model. Every head with the parameters found on captions, from zero biases or none, as the paper has them.
tiny="--shared-vocab --layers 2 --hidden 128 --ffn 256 --dropout 0.1 --lr 0.003 --warmup 500 --batch-tokens 2048 --after 6e"
translation() {
  local h
  for h in lin log pow pol rbf ssg mog hpb wav; do echo "translation/$h@tuned pairs $tiny --head $h@tuned"; done
  echo "translation/mix2 pairs $tiny --head mix2"
}
# Why log, hpb, rbf and wav stay behind: a start from the unigram distribution; a higher temperature (a factor on the score); kernels that are
# wide enough for what comes out of a layer norm, |h|^2 = d.
translation-diagnostics() {
  local h
  for h in lin@tuned log@tuned hpb@tuned rbf:gamma=0.005 wav:a=200:b=200; do
    echo "translation/$h-bias pairs $tiny --head $h --head-bias --init-bias log-frequency"
  done
  echo "translation/log:p=16 pairs $tiny --head log:p=16"
}

# LSTM and Transformer of as many parameters, with three heads and three seeds; 1024 tokens an update for both. Each has the rate that was best
# for it with lin and seed 1 (experiments/networks.md says what was tried).
network="--layers 2 --hidden 128 --batch 16 --bptt 64 --init-bias log-frequency"
lstm="--arch lstm --embed 128 --lr 0.016 $network"
transformer="--arch transformer --ffn 254 --heads 4 --positions sinusoidal --attention-dropout 0 --lr 0.004 --warmup 100 $network"
network_heads="lin mix2 mos-untied"
networks() {
  local h s
  for s in 1 2 3; do for h in $network_heads; do
    echo "networks/lstm-$h-$s 10000 $lstm --head ${h/-/ --} --after 3e --seed $s"
    echo "networks/transformer-$h-$s 10000 $transformer --head ${h/-/ --} --after 3e --seed $s"
  done; done
}
networks-speed() {
  local h
  for h in $network_heads; do
    echo "networks-speed/lstm-$h 10000 $lstm --head ${h/-/ --} --after 25u --log-every 1"
    echo "networks-speed/transformer-$h 10000 $transformer --head ${h/-/ --} --after 25u --log-every 1"
  done
}

# slug PART/HEAD...: the same as a path. What a formula has written with signs that paths cannot have is told apart by a checksum.
slug() {
  local rest=${1#*/}
  printf '%s/%s' "${1%%/*}" "$(printf '%s' "$rest" | tr -c 'A-Za-z0-9._' '-')"
  case "$rest" in *'{'*) printf -- '-%s' "$(printf '%s' "$rest" | cksum | cut -d' ' -f1)" ;; esac
}
record_of() { printf '%s/%s.jsonl' "$RECORDS" "$(slug "$1")"; }  # record_of NAME: the file of its record

train() {  # train NAME LINES|pairs OPTIONS...
  local run record m="$RUNS/multi30k" command
  record=$(record_of "$1") run="$RUNS/$(slug "$1")"
  [ -e "$record" ] && return 0
  mkdir -p "$run" "$(dirname "$record")"
  if [ "$2" = pairs ]; then
    command=("$BIN/mt_train" --src "$m/train.de" --tgt "$m/train.en" --valid-src "$m/val.de" --valid-tgt "$m/val.en" --test-src "$m/test2016.de" --test-tgt "$m/test2016.en")
  else
    command=("$BIN/lm_train" --train "$RUNS/train-$2.en" --valid "$DATA/captions/val.en" --test "$DATA/captions/test.en" --min-count 3)
  fi
  shift 2
  echo "$(date +%H:%M:%S) $run"
  "${command[@]}" --threads 1 --keep 1 --run "$run" "$@" > "$run/out.txt" 2>&1 || { echo "$run failed: $(tail -n 2 "$run/out.txt" | tr '\n' ' ')"; return 0; }
  grep -E '"event":"(start|valid|test|done)"' "$run/log.jsonl" > "$record.part"
  case "$run" in */networks-speed/*)  # the median over the updates
    grep '"event":"train"' "$run/log.jsonl" | sed 's/.*"tokens_per_s":\([0-9.]*\).*/\1/' | sort -n |
      awk '{ x[NR] = $1 } END { printf "{\"event\":\"speed\",\"tokens_per_s\":%.0f}\n", x[int((NR + 1) / 2)] }' >> "$record.part" ;;
  esac
  mv "$record.part" "$record"
}

each() {  # each LOG KEY DIGITS: what the validations have
  grep '"event":"valid"' "$1" | while read -r line; do printf "%.$3f " "$(value "$line" "$2")"; done
}
value() { sed -n "s/.*\"$2\":\(\[[^]]*\]\|[-0-9.e]*\).*/\1/p" <<< "$1" | tail -n 1; }

translation_table() {  # Markdown: run, parameters, perplexity and BLEU after each epoch, test
  echo "| run | parameters | validation perplexity after each epoch | validation BLEU | test perplexity | test BLEU |"
  echo "|---|---|---|---|---|---|"
  "$1" | while read -r name _; do
    local log=$(record_of "$name") done
    [ -e "$log" ] || { echo "| ${name#*/} | | not run | | | |"; continue; }
    done=$(grep '"event":"done"' "$log" | tail -n 1)
    echo "| ${name#*/} | $(value "$done" parameters) | $(each "$log" ppl 2)| $(each "$log" bleu 1)| $(printf '%.2f | %.1f' "$(value "$done" test_ppl)" "$(value "$done" test_bleu)") |"
  done
}

numbers() { value "$1" "$2" | tr -d '[]' | tr ',' '\n' | while read -r x; do [ -n "$x" ] && printf '%.3f ' "$x"; done || true; }

# pi_statistics MEANS VARIANCES: 100 E_n Var_k(π_nk), the paper's equation 14 without ρ, and Var_k / mean^2 of the means over the components.
pi_statistics() {
  awk -v means="$1" -v variances="$2" 'BEGIN {
    K = split(means, m, ","); split(variances, v, ",")
    for (k = 1; k <= K; ++k) { second += (v[k] + m[k] * m[k]) / K; square += m[k] * m[k] / K; mean += m[k] / K }
    printf "%.2f | %.3f", 100 * (second - 1 / (K * K)), square / (mean * mean) - 1
  }'
}

pi_table() {  # Markdown: run, and after three epochs perplexity, mean and variance of each component's prior, and their statistics
  echo "| run | validation perplexity | mean of π, each component | variance of π over tokens, each component | 100 E Var_k(π) | CV² of the means |"
  echo "|---|---|---|---|---|---|"
  { echo presets/mos-1; pi; } | while read -r name _; do
    local log=$(record_of "$name") valid
    [ -e "$log" ] || { echo "| $name | not run | | | | |"; continue; }
    valid=$(grep '"event":"valid"' "$log" | sed -n 3p)
    echo "| $name | $(printf '%.2f' "$(value "$valid" ppl)") | $(numbers "$valid" pi_mean)| $(numbers "$valid" pi_var)|" \
      "$(pi_statistics "$(value "$valid" pi_mean | tr -d '[]')" "$(value "$valid" pi_var | tr -d '[]')") |"
  done
}

# statistics NUMBERS...: mean and, of several in parentheses, standard deviation.
statistics() {
  awk 'BEGIN { for (i = 1; i < ARGC; ++i) { n += 1; s += ARGV[i]; q += ARGV[i] ^ 2 } printf "%.2f", s / n
               v = n > 1 ? (q - s * s / n) / (n - 1) : 0; if (n > 1) printf " (%.2f)", sqrt(v > 0 ? v : 0) }' "$@"
}

networks_table() {  # Markdown: network and head, over the seeds the best validation's and the test's perplexity, and networks-speed's result
  echo "| network | head | parameters | seeds | validation perplexity, mean (deviation) | test perplexity | tokens a second |"
  echo "|---|---|---|---|---|---|---|"
  local n h s log valid test speed parameters
  for h in $network_heads; do for n in lstm transformer; do
    valid=() test=() parameters=
    for s in 1 2 3; do
      log=$(record_of "networks/$n-$h-$s")
      [ -e "$log" ] || continue
      local done=$(grep '"event":"done"' "$log" | tail -n 1)
      parameters=$(value "$done" parameters)
      valid+=("$(value "$done" best_valid_ppl)") test+=("$(value "$done" test_ppl)")
    done
    speed=
    [ ! -e "$(record_of "networks-speed/$n-$h")" ] || speed=$(value "$(grep '"event":"speed"' "$(record_of "networks-speed/$n-$h")")" tokens_per_s)
    if [ "${#valid[@]}" -eq 0 ]; then echo "| $n | $h | | 0 | not run | | |"; continue; fi
    echo "| $n | $h | $parameters | ${#valid[@]} | $(statistics "${valid[@]}") | $(statistics "${test[@]}") |" \
      "${speed:-not measured} |"
  done; done
}

table() {  # Markdown: run, parameters, perplexity after each epoch, best, test, mean pi of the last validation
  case "$1" in translation*) translation_table "$1"; return ;; pi) pi_table; return ;; networks) networks_table; return ;; esac
  echo "| run | parameters | validation perplexity after each epoch | best | test | mean of π at the end |"
  echo "|---|---|---|---|---|---|"
  "$1" | while read -r name _; do
    local log=$(record_of "$name") valid done curve pi
    [ -e "$log" ] || { echo "| $name | | not run | | | |"; continue; }
    valid=$(grep '"event":"valid"' "$log" || true)
    done=$(grep '"event":"done"' "$log" | tail -n 1 || true)
    curve=$(each "$log" ppl 2)
    pi=$(numbers "$(tail -n 1 <<< "$valid")" pi_mean)
    echo "| ${name#*/} | $(value "$done" parameters) | $curve| $(printf '%.2f' "$(value "$done" best_valid_ppl)") | $(printf '%.2f' "$(value "$done" test_ppl)") | $pi|"
  done
}

prepare_captions() {
  local n
  for n in 10000 30000; do [ -e "$RUNS/train-$n.en" ] || head -n "$n" "$DATA/captions/train.en" > "$RUNS/train-$n.en"; done
}

prepare_pairs() {
  local m="$RUNS/multi30k" f
  mkdir -p "$m"
  [ -e "$m/codes" ] || cat "$DATA/multi30k/train.de" "$DATA/multi30k/train.en" | "$BIN/bpe" learn --merges 10000 --output "$m/codes"
  for f in {train,val,test2016}.{de,en}; do [ -e "$m/$f" ] || "$BIN/bpe" apply --codes "$m/codes" --input "$DATA/multi30k/$f" --output "$m/$f"; done
}

parts=${1:-}
[ "$parts" = all ] && parts="search singles presets pi diagnostics paper networks translation translation-diagnostics"
case "$parts" in
  one) shift; train "$@" ;;
  table) table "$2" ;;
  search* | singles | presets | pi | diagnostics | paper | networks | networks-speed | translation*)
    : "${DATA:?set DATA to the folder of the corpora (experiments/README.md)}"
    mkdir -p "$RUNS"
    prepare_captions
    case "$parts" in *translation*) prepare_pairs ;; esac
    for part in $parts; do "$part"; done | xargs -P "$JOBS" -L 1 experiments/grid.sh one
    ;;
  *) sed -n '2,14s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
