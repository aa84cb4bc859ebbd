#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# kill -9 of the host at random moments: no finished trial is lost, no file breaks, and the same command goes
# on without measuring anything twice. resume.sh HONE SOURCE [KILLS].
source "$(dirname "$0")/common.sh" "$@"
kills=${3:-25}
RANDOM=${4:-1}
echo "$kills kills, seed ${4:-1}"

cat >small.toml <<'END'
[[workload]]
name = "small"
op = "matmul"
m = 64
n = 64
k = 64
END
wanted=100000
told=0
for ((i = 0; i < kills; ++i)); do
  "$hone" tune small.toml --trials $wanted --db t.db --json >progress.txt 2>err.txt &
  pid=$!
  sleep "0.$(printf '%03d' $((RANDOM % 800 + 100)))"
  kill -9 $pid 2>/dev/null
  wait $pid 2>/dev/null
  # What was told as the best so far is in the file.
  if [[ -e t.db ]]; then
    now=$("$hone" db stats --db t.db --json 2>err.txt | grep -o '"trials":[0-9]*' | cut -d: -f2)
    now=${now:-0}
    ((now >= told)) || fail "kill $i: $now trials, $told before"
    last=$(tail -n 1 progress.txt | grep -o '"trial":[0-9]*' | cut -d: -f2)
    ((now >= ${last:-0})) || fail "kill $i: trial $last was told, $now are kept"
    told=$now
  fi
done
echo "$told trials kept over $kills kills"
((told > 0)) || fail "no trial was kept at all"
"$hone" db export all.jsonl --db t.db || fail "the database cannot be read"
rows=$(grep -c '"decisions"' all.jsonl)
((rows == told)) || fail "$rows rows exported, $told counted"
"$hone" db import all.jsonl --db copy.db >/dev/null || fail "import"

# Going on: all that is there is known, and only what is new is measured.
"$hone" tune small.toml --trials $((told + 5)) --db t.db --json >last.txt || fail "the last run"
line=$(tail -n 1 last.txt)
[[ $line == *"\"resumed\":$told"* ]] || fail "not all $told trials were known: $line"
after=$("$hone" db stats --db t.db --json | grep -o '"trials":[0-9]*' | cut -d: -f2)
((after == told + 5)) || fail "$after rows after $told and 5 new ones"
sleep 1
pgrep -f "build-worker --targets" >/dev/null && fail "build workers were left behind"
finish
