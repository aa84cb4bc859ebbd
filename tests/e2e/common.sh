# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts of this folder: $hone, $source, a scratch folder that is the working directory.
set -uo pipefail
hone=$1
source=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
failures=0

fail() {
  printf 'FAILED: %s\n' "$*"
  failures=$((failures + 1))
}

finish() {
  ((failures == 0)) && echo "all right"
  exit $((failures > 0))
}

# refuses TEXT COMMAND…: exit code 2, one line on standard error that holds TEXT, nothing on standard output.
refuses() {
  local text=$1
  shift
  local code=0
  "$@" >out.txt 2>err.txt || code=$?
  ((code == 2)) || fail "exit code $code instead of 2: $*"
  [[ -s out.txt ]] && fail "something on standard output: $*"
  (($(wc -l <err.txt) == 1)) || fail "not one line of message: $* : $(cat err.txt)"
  grep -qF -- "$text" err.txt || fail "no '$text' in: $(cat err.txt)"
}
