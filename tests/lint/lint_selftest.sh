#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Shows that each rule of lint.sh passes on a clean tree and fails on each kind of violation, by
# small trees made for the purpose: lint_selftest.sh LINT DESIGN.
set -euo pipefail
lint=$(realpath "$1")
design=$(realpath "$2")
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
spdx='// SPDX-License-Identifier: Apache-2.0'
mistakes=0
checks=0

fresh_tree() {
  rm -rf "${tree:?}"/*
  mkdir -p "$tree"/host/{base,ir,store,measure,device,codegen,app}
  mkdir -p "$tree"/{docs,device-agent,tests/cases/schedule,tests/unit}
  cp "$design" "$tree/docs/design.md"
  printf '%s\n#pragma once\n' "$spdx" | tee "$tree"/host/base/text.h "$tree"/host/ir/program.h \
    "$tree"/host/measure/outcome.h "$tree"/host/measure/runner.h "$tree"/host/app/main.h \
    "$tree"/device-agent/protocol.h "$tree"/host/store/database.h >"$tree/host/codegen/image.h"
  put host/ir/program.cpp '#include "ir/program.h"' '#include <vector>' '#include "base/text.h"'
  put host/store/database.cpp '#include <sqlite3.h>' '#include "measure/outcome.h"'
  put host/device/session.cpp '#include "protocol.h"' '#include "base/text.h"'
  put host/codegen/image.cpp '#include "codegen/image.h"' '#include <llvm/IR/Module.h>'
  put tests/unit/cases_test.cpp 'run_all("tests/cases/schedule", ".case");' 'load("one.golden");'
  echo 'program p' >"$tree/tests/cases/schedule/split.case"
  echo 'golden' >"$tree/tests/cases/one.golden"
}

put() {  # FILE LINE…
  local file=$tree/$1
  shift
  mkdir -p "$(dirname "$file")"
  printf '%s\n' "$spdx" "$@" >"$file"
}

mistake() {
  printf 'selftest: %s\n' "$*"
  mistakes=$((mistakes + 1))
}

expect_clean() {  # RULE
  local output
  checks=$((checks + 1))
  output=$("$lint" "$1" "$tree") || mistake "rule $1 fails on a clean tree: $output"
}

expect_violation() {  # RULE FILE WORDS: the rule fails, and names the file and says the words
  local output
  checks=$((checks + 1))
  if output=$("$lint" "$1" "$tree"); then
    mistake "rule $1 passes although $2 breaks it ($3)"
  elif [[ $output != "$2:"*"$3"* || $(wc -l <<<"$output") != 1 ]]; then
    mistake "rule $1 should complain once of $2 with '$3', but says: $output"
  fi
  fresh_tree
}

fresh_tree
for rule in includes libraries text cases; do expect_clean "$rule"; done

put host/base/text.cpp '#include "ir/program.h"'
expect_violation includes host/base/text.cpp 'base must not include ir/program.h'
put host/store/rows.cpp '#include "measure/runner.h"'
expect_violation includes host/store/rows.cpp 'store must not include measure/runner.h'
put host/codegen/up.cpp '#include "app/main.h"'
expect_violation includes host/codegen/up.cpp 'no arrow codegen→app'
put host/ir/wire.cpp '#include "protocol.h"'
expect_violation includes host/ir/wire.cpp "the agent's protocol.h"
put host/ir/near.cpp '#include "program.h"'
expect_violation includes host/ir/near.cpp 'not a path from host/'
put host/extra/new.cpp '#include "base/text.h"'
expect_violation includes host/extra/new.cpp 'folder extra is not in the table'
sed -i 's/Arrows (a test/Lines (a test/' "$tree/docs/design.md"
expect_violation includes docs/design.md 'was not found'
sed -i 's/store→schedule, measure.s outcome/store→schedule/' "$tree/docs/design.md"
expect_violation includes host/store/database.cpp 'store must not include measure/outcome.h'

put host/ir/fold.cpp '#include <llvm/ADT/APInt.h>'
expect_violation libraries host/ir/fold.cpp 'llvm/ADT/APInt.h is not allowed here'
put host/codegen/link.cpp '#include "lld/Common/Driver.h"'
expect_clean libraries
put host/ir/link.cpp '#include "lld/Common/Driver.h"'
expect_violation libraries host/ir/link.cpp 'lld/Common/Driver.h is not allowed here'
put host/store/export.cpp '#include <sqlite3.h>'
expect_violation libraries host/store/export.cpp 'sqlite3.h is not allowed here'
put host/ir/load.cpp '#include <toml++/toml.h>'
expect_violation libraries host/ir/load.cpp 'toml++/toml.h is not allowed here'
put host/ir/workload_toml.cpp '#include <toml++/toml.h>'
expect_clean libraries
put host/device/ssh.cpp '#include <libssh/libssh.h>'
expect_clean libraries
put host/device/tunnel.cpp '#include <libssh/libssh.h>'
expect_violation libraries host/device/tunnel.cpp 'already included by another file'

printf 'int x;\n' >"$tree/host/ir/bare.cpp"
expect_violation text host/ir/bare.cpp 'SPDX'
printf '#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n' >"$tree/tests/ok.sh"
expect_clean text
printf '#!/bin/sh\necho\n' >"$tree/tests/bare.sh"
expect_violation text tests/bare.sh 'SPDX'
put host/ir/long.cpp "$(seq 599)"
expect_violation text host/ir/long.cpp '600 lines'
put host/ir/long.cpp "$(seq 598)"
expect_clean text
for word in TO''DO FIX''ME XX''X; do
  put host/ir/later.cpp "int x;  // $word: later"
  expect_violation text host/ir/later.cpp 'unfinished work'
done
: >"$tree/host/ir/empty.cpp"
expect_violation text host/ir/empty.cpp 'empty file'

echo 'program p' >"$tree/tests/cases/schedule/split.text"
expect_violation cases tests/cases/schedule/split.text 'no test reads this file'
echo 'golden' >"$tree/tests/cases/two.golden"
expect_violation cases tests/cases/two.golden 'no test reads this file'
mkdir -p "$tree/tests/cases/lower" && echo 'program p' >"$tree/tests/cases/lower/a.case"
expect_violation cases tests/cases/lower/a.case 'no test reads this file'
mkdir -p "$tree/tests/emit/golden" && echo 'x' >"$tree/tests/emit/golden/relu.h.expected"
expect_violation cases tests/emit/golden/relu.h.expected 'no test reads this file'

printf '%d checks, %d mistakes\n' "$checks" "$mistakes"
((mistakes == 0))
