#!/bin/sh
# Writes the manual page of a program from what its --help prints.
#   cmake/man_page.sh FOLDER PROGRAM [COMMAND]     FOLDER/lm_train.1, or of a command FOLDER/bpe-learn.1
# help2man reads the page; SOURCE_DATE_EPOCH, where it is set, is its date.
set -eu
folder=$1
program=$2
command=${3:-}
name=$(basename "$program")${command:+-$command}
command -v help2man >/dev/null || { echo "$0: help2man is missing; cmake/install_deps.sh package installs it" >&2; exit 1; }

work=$(mktemp -d "${TMPDIR:-/tmp}/nine-man.XXXXXX")
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2086
"$program" $command --help > "$work/help"
version=$("$program" --version | sed -n '1s/.* //p')
# help2man runs a program of the page's name; it knows "Usage:" for the line of the synopsis.
printf '#!/bin/sh\nsed s/^usage:/Usage:/ "%s"\n' "$work/help" > "$work/$name"
chmod +x "$work/$name"
# The line that `whatis` prints: the first sentence of the help, or its beginning up to a semicolon.
what=$(sed '/^$/,$d' "$work/help" | tr '\n' ' ' | sed -E 's/[.;]( .*|$)//; s/^./\l&/; s/ *$//')
others=$(case $name in bpe) echo "bpe-learn bpe-apply bpe-undo bpe-vocab bpe-convert" ;; bpe-*) echo bpe ;; esac)
set -- --no-info --section=1 --source="nine $version" --manual=Nine --version-string="$version" --name="$what"
if [ -n "$others" ]; then
  { echo "[see also]"; for other in $others; do echo ".BR $other (1)"; done; } > "$work/more"
  set -- "$@" --include="$work/more"
fi
help2man "$@" --output="$work/page" "$work/$name"
mkdir -p "$folder"
mv "$work/page" "$folder/$name.1"
