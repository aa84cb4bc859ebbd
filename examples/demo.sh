#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# demo.sh HONE: tunes two operators on this machine, emits a C library of the winners and one of the plain
# loops, compiles demo.c against both and runs it. Works in a folder of its own, build/demo.
set -euo pipefail
hone=$1
cd "$(dirname "${BASH_SOURCE[0]}")"
out=$PWD/../build/demo
rm -rf "$out"
mkdir -p "$out"

echo "== tuning: 128 candidates for each operator, built, checked and timed on this machine"
"$hone" tune matmul.toml conv_bias_relu.toml --trials 128 --time 55 --db "$out/demo.db"

echo "== the winners as a C library, and the plain loops as another"
"$hone" emit matmul.toml conv_bias_relu.toml --db "$out/demo.db" --prefix tuned --out "$out/tuned"
"$hone" emit matmul.toml conv_bias_relu.toml --db "$out/none.db" --prefix plain --out "$out/plain" \
  --allow-untuned 2>/dev/null

echo "== a C program against both: examples/demo.c"
cc -O2 -march=native -std=c11 -D_POSIX_C_SOURCE=199309L -I"$out/tuned/include" -I"$out/plain/include" \
  demo.c "$out/tuned/lib/libtuned.a" "$out/plain/lib/libplain.a" -o "$out/demo"
"$out/demo"
echo "The library is in build/demo/tuned; its README.md says how to use it."
