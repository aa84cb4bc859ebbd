#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The whole path for other ISAs, their agents under qemu-user: tuned, checked right, marked as emulated; the
# emitted library passes its self-test there, as archive and as C source.
source "$(dirname "$0")/common.sh" "$@"

cat >mix.toml <<'END'
[[workload]]
name = "odd_matmul"
op = "matmul"
m = 13
n = 37
k = 11

[[workload]]
name = "conv"
ops = [
  { op = "conv2d", input = [1, 7, 7, 5], filters = 9, kernel = [3, 3], stride = 1, padding = 1, dtype = "f32" },
  { op = "bias" },
  { op = "relu" },
]

[[workload]]
name = "rows"
op = "softmax"
m = 5
n = 33
END

try() {  # TARGET EMULATOR CC FLAGS
  local target=$1 emulator=$2 cc=$3 flags=$4
  "$hone" tune mix.toml --target "$target" --device "exec:$emulator {agent}" --trials 6 --db "$target.db" \
    --json >"$target.txt" 2>err.txt || { fail "$target: tune: $(cat err.txt)"; return; }
  local done
  done=$(grep -c '"event":"task"' "$target.txt")
  ((done == 3)) || fail "$target: $done of 3 workloads"
  grep '"event":"task"' "$target.txt" | grep -qv '"emulated":true' && fail "$target: not marked emulated"
  grep '"event":"task"' "$target.txt" | grep -qv '"failures":{}' &&
    fail "$target: $(grep '"event":"task"' "$target.txt")"
  "$hone" emit mix.toml --target "$target" --db "$target.db" --prefix lib --out "$target" >/dev/null 2>err.txt ||
    { fail "$target: emit: $(cat err.txt)"; return; }
  $cc $flags -std=c99 -O1 -static -I"$target/include" "$target/test/lib_selftest.c" "$target/lib/liblib.a" \
    -o "$target.archive" 2>err.txt || fail "$target: $(head -n 3 err.txt)"
  $cc $flags -std=c99 -O1 -static -DLIB_PORTABLE -I"$target/include" "$target/test/lib_selftest.c" \
    "$target"/src/*.c -o "$target.source" 2>err.txt || fail "$target: $(head -n 3 err.txt)"
  local form
  for form in archive source; do
    $emulator "./$target.$form" >out.txt 2>&1 || fail "$target: self-test of the $form: $(cat out.txt)"
    (($(grep -c '^PASS' out.txt) == 3)) || fail "$target: $form: $(cat out.txt)"
  done
  echo "$target right"
}

try cortex-a53 "qemu-aarch64-static -cpu cortex-a53" aarch64-linux-gnu-gcc -mcpu=cortex-a53
try cortex-a76 "qemu-aarch64-static -cpu cortex-a76" aarch64-linux-gnu-gcc -mcpu=cortex-a76
try cortex-a7 "qemu-arm-static -cpu cortex-a7" arm-linux-gnueabihf-gcc "-mcpu=cortex-a7 -mfpu=neon-vfpv4"
try rv64gc qemu-riscv64-static riscv64-linux-gnu-gcc -march=rv64gc
try rv64gcv "qemu-riscv64-static -cpu rv64,v=true,vlen=128,elen=64,vext_spec=v1.0" \
  riscv64-linux-gnu-gcc "-march=rv64gc -DLIB_NO_FEATURE_CHECK"
finish
