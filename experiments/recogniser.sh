#!/usr/bin/env bash
# From audio to rescored words: flite speaks sentences, pocketsphinx recognises them and writes lattices, IRSTLM estimates a trigram, and
# lm_rescore rescores the lattices. docs/rescoring.md shows the output. Debian's packages: flite pocketsphinx pocketsphinx-en-us irstlm.
#
#   experiments/recogniser.sh WORK TRAIN TUNE TEST MODEL
#
# WORK   a new folder for everything that is made
# TRAIN  text for the trigram, a sentence a line
# TUNE, TEST  'utterance TAB words' a line: sentences for the weights, and for the result
# MODEL  a run of lm_train. LM_RESCORE and LM_SCORE name the programs (build/bin/lm_rescore, build/bin/lm_score)
set -euo pipefail
[ $# = 5 ] || { sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 2; }
work=$1 train=$(realpath "$2") model=$(realpath "$5")
rescore=$(realpath "${LM_RESCORE:-build/bin/lm_rescore}") score=$(realpath "${LM_SCORE:-build/bin/lm_score}")
english=/usr/share/pocketsphinx/model/en-us
for program in flite pocketsphinx_batch irstlm; do
  command -v $program > /dev/null || { echo "$program is missing: apt-get install flite pocketsphinx pocketsphinx-en-us irstlm" >&2; exit 1; }
done
mkdir "$work"
cp "$3" "$work/tune.tsv"
cp "$4" "$work/test.tsv"
cd "$work"

# Audio and lattices. Each sentence has one of four voices.
for part in tune test; do
  mkdir -p $part.audio $part.lattices
  voices=(slt rms awb kal16) n=0
  while IFS=$'\t' read -r utterance words; do
    flite -voice "${voices[n++ % 4]}" -t "$words" -o "$part.audio/$utterance.wav" < /dev/null
  done < $part.tsv
  cut -f1 $part.tsv > $part.names
  pocketsphinx_batch -hmm $english/en-us -lm $english/en-us.lm.bin -dict $english/cmudict-en-us.dict -adcin yes -adchdr 44 \
    -cepdir $part.audio -cepext .wav -ctl $part.names -hyp $part.hyp -outlatdir $part.lattices -outlatfmt htk -outlatext .lat > $part.log 2>&1
done

# A trigram of the training text.
export IRSTLM=/usr/lib/irstlm
PATH=$PATH:$IRSTLM/bin
add-start-end.sh < "$train" > train.se
build-lm.sh -i train.se -n 3 -o trigram.ilm.gz -k 2 -t parts -p > irstlm.log 2>&1
compile-lm --text=yes trigram.ilm.gz trigram.arpa >> irstlm.log 2>&1

# Weights of the mixture, by EM on the tuning sentences; then lambda and mu, on lists of the tuning lattices.
cut -f2 tune.tsv > tune.txt
"$score" --checkpoint "$model" --interpolate trigram.arpa --tune-weights tune.txt --input tune.txt > /dev/null 2> em.log
weights=$(sed -n 's/.*with --weights \([^;]*\);.*/\1/p' em.log)
models=(--checkpoint "$model" trigram.arpa --weights $weights)
"$rescore" --lattices tune.lattices/*.lat --lattice-nbest 100 --lambda 0 "${models[@]}" --output tune.lists
"$rescore" --nbest tune.lists/nbest.tsv --reference tune.tsv --tune-nbest tune.lists/nbest.tsv --tune-reference tune.tsv "${models[@]}" \
  --output tune.out > tune.table 2> tune.messages
read -r lambda mu < <(python3 -c "import json; r = json.load(open('tune.out/results.json')); print(r['lambda'], r['mu'])")
echo "--weights $weights --lambda $lambda --mu $mu"

# The recogniser's own words.
sed -n 's/^\(.*\) (\([^ ]*\) [^ ]*)$/\2\t0\t\1/p' test.hyp > test.own
"$rescore" --nbest test.own --reference test.tsv --lambda 0 --checkpoint trigram.arpa --output own.out 2> own.messages |
  sed -n '/words/p; s/^first pass/recogniser/p'

# The test lattices, directly.
for history in 0 1 2 3; do
  echo "merging by the last $history words"
  "$rescore" --lattices test.lattices/*.lat --lattice-history $history --lambda "$lambda" --mu "$mu" "${models[@]}" --reference test.tsv \
    --output test.$history
done
