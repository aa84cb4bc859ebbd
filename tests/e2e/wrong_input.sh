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

"$hone" --help >/dev/null || fail "--help"
for stage in graph program space schedule kernel llvm asm c; do
  "$hone" show $stage small.toml --skeleton 0 >$stage.txt 2>err.txt || fail "show $stage: $(cat err.txt)"
  [[ -s $stage.txt ]] || fail "show $stage printed nothing"
done
"$hone" device list >/dev/null || fail "device list"
"$hone" device probe local >/dev/null || fail "device probe"
finish
