#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Wrong input of every command: one message, exit code 2, nothing made and nothing lost.
source "$(dirname "$0")/common.sh" "$@"

cat >small.toml <<'END'
[[workload]]
name = "small"
op = "matmul"
m = 16
n = 16
k = 16
END
printf '[[workload]]\nname = "x"\nop = "matmull"\nm = 1\nn = 1\nk = 1\n' >slip.toml
printf 'input X: f32[4]\noutput Y[i:4] = X[i + 1]\n' >range.hone
head -c 20 small.toml >truncated.toml
head -c 5000 /dev/urandom >noise.db

refuses "" "$hone"
refuses "tunee" "$hone" tunee small.toml
refuses "missing.toml" "$hone" tune missing.toml
refuses "matmul" "$hone" tune slip.toml
refuses "range.hone:2:" "$hone" tune range.hone
refuses "truncated.toml" "$hone" tune truncated.toml
refuses "--trials" "$hone" tune small.toml --trials none
refuses "--trials" "$hone" tune small.toml --trials 0
for count in -1 1.5 x "" 99999999999999999999 9223372036854775808; do
  refuses "--trials: '$count' is" "$hone" tune small.toml --trials "$count"
  refuses "--limit: '$count' is" "$hone" db best --db none.db --limit "$count"
  refuses "--skeleton: '$count' is" "$hone" show graph small.toml --skeleton "$count"
  for budget in flash ram stack; do
    refuses "--max-$budget: '$count' is" "$hone" emit small.toml --out lib --max-$budget "$count"
  done
done
for seed in -1 1.5 18446744073709551616; do
  refuses "--seed: '$seed' is" "$hone" tune small.toml --seed $seed
done
for span in nan inf -1 1e300 x ""; do
  refuses "--time: '$span' is" "$hone" tune small.toml --time "$span"
  refuses "--deadline: '$span' is" "$hone" measure small.toml --deadline "$span"
done
for decisions in 1 "1 | 1" "1 | 1 | 1 | 1 | 1 | 1 | 1 | 1 | 1 | 1 | 1 | 1"; do
  refuses "decisions, skeleton 0 of 'small' takes" \
    "$hone" show graph small.toml --skeleton 0 --decisions "$decisions"
done
refuses "--skeleton" "$hone" show graph small.toml --decisions 1
refuses "--out is empty" "$hone" emit small.toml --out "" --allow-untuned
refuses "name is empty" "$hone" tune small.toml --db ""
refuses "cortex-a53" "$hone" tune small.toml --target cortex-a35
refuses "--target" "$hone" tune small.toml --device "exec:qemu-aarch64-static {agent}"
refuses "exec:" "$hone" tune small.toml --device tftp:board --target native
refuses "random" "$hone" tune small.toml --strategy oracle
refuses "noise.db" "$hone" tune small.toml --db noise.db
refuses "small" "$hone" tune small.toml --task large
refuses "there is a workload 'small' already" "$hone" tune small.toml small.toml
refuses "no database" "$hone" db stats --db none.db
refuses "none.jsonl" "$hone" db import none.jsonl --db none.db
refuses "no database" "$hone" emit small.toml --db none.db --out lib
refuses "skeletons 0 to" "$hone" show schedule small.toml --skeleton 99
refuses "exclude" "$hone" show schedule small.toml --skeleton 0 --best none.db
refuses "none.trace" "$hone" measure small.toml --trace none.trace
refuses "agent" "$hone" device probe --target cortex-m4
[[ -e none.db || -e lib ]] && fail "a refused command left something behind"
[[ $(stat -c %s noise.db) == 5000 ]] || fail "a file that is no database was changed"

# Output that is lost is told, whatever is printed; a closed stream is given to no file.
for words in "--help" "show graph small.toml" "device list" "tune small.toml --trials 2 --db lost.db" \
  "db stats --db lost.db" "db export - --db lost.db"; do
  "$hone" $words >/dev/full 2>err.txt && fail "$words: no complaint on a full disk"
  grep -q "standard output" err.txt || fail "$words: $(cat err.txt)"
  "$hone" $words >&- 2>err.txt && fail "$words: no complaint on a closed output"
done
"$hone" tune small.toml --trials 3 --db closed.db <&- >&- 2>&-
"$hone" db stats --db closed.db >/dev/null || fail "a database made with all streams closed"

# A pipe in place of the output file stays a pipe and gets the lines.
mkfifo pipe
timeout 20 cat pipe >piped.jsonl &
"$hone" db export pipe --db lost.db || fail "export into a pipe"
wait $!
[[ -p pipe && -s piped.jsonl ]] || fail "the pipe was replaced"

# Records whose decisions do not fit their trace: too few, too many.
"$hone" db export lost.jsonl --db lost.db || fail "export"
for decisions in "1" "1 | 1 | 1 | 1 | 1 | 1 | 1 | 1 | 1 | 1 | 1 | 1"; do
  rm -f odd.db
  sed "s/\"decisions\":\"[^\"]*\"/\"decisions\":\"$decisions\"/" lost.jsonl >odd.jsonl
  "$hone" db import odd.jsonl --db odd.db >/dev/null || fail "import of odd decisions"
  refuses "decisions, its trace takes" "$hone" show kernel small.toml --best odd.db
done

# Asked to end, a run ends as with Ctrl-C.
for signal in INT TERM HUP; do
  # A shell starts what runs in the background with SIGINT switched off.
  env --default-signal=INT "$hone" tune small.toml --trials 1000000 --db s.db >stopped.txt 2>&1 &
  sleep 1
  kill -$signal $!
  wait $! || fail "SIG$signal: exit code $?"
  grep -q "the same command goes on" stopped.txt || fail "SIG$signal: $(cat stopped.txt)"
done

"$hone" --help >/dev/null || fail "--help"
for stage in graph program space schedule kernel llvm asm c; do
  "$hone" show $stage small.toml --skeleton 0 >$stage.txt 2>err.txt || fail "show $stage: $(cat err.txt)"
  [[ -s $stage.txt ]] || fail "show $stage printed nothing"
done
"$hone" device list >/dev/null || fail "device list"
"$hone" device probe local >/dev/null || fail "device probe"
finish
