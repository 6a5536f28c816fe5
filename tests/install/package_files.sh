#!/usr/bin/env bash
# What a package has beside programs and library (cmake/package.cmake): bash completions and manual pages name every option that --help
# prints, and completions know the values. Without help2man the pages are left out.
#   tests/install/package_files.sh SOURCE BIN PROGRAM...
set -euo pipefail
source=$(cd "$1" && pwd)
bin=$(cd "$2" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/nine-files.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
shift 2
programs=$*

fail() {
  echo "failed: $*"
  exit 1
}

# completed WORD... prints, sorted, what bash would offer for the last word, in one line.
completed() {
  local how
  how=$(complete -p "$1") || fail "no completion of $1"
  how=${how#*-F }
  COMP_WORDS=("$@")
  COMP_CWORD=$(($# - 1))
  COMPREPLY=()
  "${how%% *}"
  ((${#COMPREPLY[@]} == 0)) || printf '%s\n' "${COMPREPLY[@]}" | sort | paste -s -d ' '
}

# offers EXPECTED WORD...
offers() {
  local expected=$1 got
  shift
  got=$(completed "$@")
  [[ $got == "$expected" ]] || fail "'$*' is completed with '$got', not with '$expected'"
}

# The options that --help prints, one a line: --[no-]x as --x and --no-x.
options_of() {
  "$bin/$1" "${@:2}" --help | sed -nE 's/^  (-h, )?(--[^ ]+).*/\2/p' | sed -E 's/^--\[no-\](.*)/--\1\n--no-\1/' | sort
}

# every_option PROGRAM [COMMAND]: of the completion and of the manual page.
every_option() {
  local options page name
  options=$(options_of "$@")
  [[ $options == *--help* ]] || fail "$*: no option is found in --help"
  [[ $(completed "$@" -- | tr ' ' '\n') == "$options" ]] || fail "'$* --' is not completed with what --help lists"
  command -v help2man > /dev/null || return 0
  "$source/cmake/man_page.sh" "$work" "$bin/$1" "${@:2}"
  name=$(IFS=- && echo "$*")
  page=$(sed 's/\\f[BRI]//g; s/\\-/-/g' "$work/$name.1")
  for option in $("$bin/$1" "${@:2}" --help | sed -nE 's/^  (-h, )?(--[^ ]+).*/\2/p'); do
    grep -qF -e "$option" <<< "$page" || fail "$name.1 has no $option"
  done
  grep -q '^\.SH SYNOPSIS' <<< "$page" || fail "$name.1 has no synopsis"
}

mkdir -p "$work/here/run" "$work/here/run two"
touch "$work/here/text"
cd "$work/here"
for program in $programs; do
  "$bin/$program" --completion bash > "$work/$program.bash"
  # shellcheck disable=SC1090
  source "$work/$program.bash"
done
for program in $programs; do every_option "$program"; done
for command in learn apply undo vocab convert; do every_option bpe "$command"; done

offers "--label-smoothing --layer-norm-eps --layers --lazy-adam" lm_train --la
offers "--tie-embeddings" lm_train --tie
offers "adam adamw asgd lion muon sgd" lm_train --optimizer ""
offers "adam adamw" lm_train --optimizer ada
offers "float32 float64" lm_train --dtype = ""
offers "float64" lm_train --dtype = float6
offers "float32 float64" lm_train --dtype =
offers "cpu cuda" lm_train --device ""
offers "split" lm_train --variance s
offers "" lm_train --layers ""
offers "" lm_train --layers 2 x
offers "--layer-norm-eps --layers" lm_train --sample --layer
offers "text" lm_train --train te
offers "text" lm_train --train run te
offers "" lm_train --vocab text te
offers "run run two" lm_train --run r
offers "run run two" lm_train --sample --run = r
offers "" lm_train --run te
offers "run run two" lm_score --checkpoint r
offers "run run two text" lm_score --compare text ""
offers "run run two" nine_report r
offers "run run two" nine_report run r
offers "--most-frequent" nine_report run --mo
offers "text" mt_translate --codes te
offers "text" kernel_inspect --input te
offers "--completion --help --version apply convert learn undo vocab" bpe ""
offers "13a none" bpe learn --tokenize ""
offers "fairseq subword-nmt" bpe vocab --format ""
offers "text" bpe apply --codes te
offers "" bpe nothing --
status=0
"$bin/lm_train" --completion zsh 2> /dev/null || status=$?
((status == 2)) || fail "lm_train --completion zsh ended with $status"
status=0
"$bin/bpe" --completion 2> /dev/null || status=$?
((status == 2)) || fail "bpe --completion ended with $status"
echo "completions of $(wc -w <<< "$programs") programs; $(find .. -name '*.1' | wc -l) manual pages"
