#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Rules of the house that a compiler does not see: lint.sh RULE ROOT checks one of them on a tree,
# prints each violation as file:line: reason, and fails if there was one. Bash and awk, so that the
# tests need nothing beyond Debian's base; lint_selftest.sh shows that each rule can fail.
set -euo pipefail
rule=$1
root=$2
cd "$root"
violations=$(mktemp)
trap 'rm -f "$violations"' EXIT

report() { printf '%s\n' "$*" >>"$violations"; }

# Every file of the tree, without build folders and hidden ones.
tree() {
  find . -path ./build -prune -o -path './.*' -prune -o -type f -print | sed 's|^\./||' | sort
}

sources() {
  tree | grep -E '(\.(cpp|h|c|S|sh|cmake|ld|sql|awk)|(^|/)CMakeLists\.txt|^run)$' || true
}

quoted_includes() {  # FILE… → file line path
  awk '/^[ \t]*#[ \t]*include[ \t]*"/ {
         split($0, part, "\""); print FILENAME, FNR, part[2] }' "$@"
}

# --- includes: the arrows of docs/design.md, section 3 -----------------------------------------
# The table is read from the document, so the document is what this holds. A folder may include
# what it reaches through arrows. Three notes of the document's have a meaning here:
#   "(+ the agent's …)"   the folder may include files of device-agent/
#   "X's outcome"         X/outcome*.h only, not the folder
#   "all above"           every folder that the table named before
arrows() {  # → "folder reachable" lines
  awk '
    sub(/.*Arrows \(a test holds this table\):/, "") { inside = 1 }
    inside && /LLVM headers only/ { sub(/LLVM headers only.*/, ""); table = table " " $0; exit }
    inside { table = table " " $0 }
    function edge(from, to) { direct[from, to] = 1; nodes[from] = nodes[to] = 1 }
    END {
      gsub(/→/, ">", table); gsub(/\.[ ]*$/, "", table)
      rows = split(table, row, ";")
      for (r = 1; r <= rows; ++r) {
        if (split(row[r], side, ">") != 2) continue
        from = side[1]; to = side[2]; gsub(/[ \t]/, "", from)
        if (match(to, /\([^)]*\)/)) {
          if (substr(to, RSTART, RLENGTH) ~ /agent/) edge(from, "device-agent")
          to = substr(to, 1, RSTART - 1) substr(to, RSTART + RLENGTH)
        }
        names = split(to, name, ",")
        for (n = 1; n <= names; ++n) {
          sub(/^[ \t]+/, "", name[n]); sub(/[ \t]+$/, "", name[n])
          if (name[n] == "all above") { for (node in nodes) if (node != from) edge(from, node) }
          else { sub(/\047s outcome$/, "/outcome", name[n]); edge(from, name[n]) }
        }
      }
      for (via in nodes) for (a in nodes) for (b in nodes)
        if (((a, via) in direct) && ((via, b) in direct)) direct[a, b] = 1
      for (pair in direct) { split(pair, end, SUBSEP); print end[1], end[2] }
    }' docs/design.md
}

check_includes() {
  local table files
  table=$(arrows)
  if ! grep -q '^ir base$' <<<"$table"; then
    report "docs/design.md: the table of arrows was not found in section 3"
    return
  fi
  mapfile -t files < <(tree | grep -E '^host/[^/]+/.*\.(cpp|h)$' || true)
  ((${#files[@]})) || { report "host/: no sources to check"; return; }
  quoted_includes "${files[@]}" | awk -v table="$table" \
      -v agent_files="$(tree | grep '^device-agent/' || true)" '
    BEGIN {
      count = split(table, line, "\n")
      for (i = 1; i <= count; ++i) {
        allowed[line[i]] = 1
        split(line[i], end, " ")
        known[end[1]] = known[end[2]] = 1
      }
      count = split(agent_files, line, "\n")
      for (i = 1; i <= count; ++i) {
        path = line[i]
        agent[path] = 1
        while (sub(/^[^\/]*\//, "", path)) agent[path] = 1
      }
    }
    {
      split($1, part, "/"); from = part[2]
      to = $3; sub(/\/.*/, "", to)
      where = $1 ":" $2 ": "
    }
    !(from in known) { print where "folder " from " is not in the table of docs/design.md"; next }
    to in known {  # also what the build generates; whether it exists is for the compiler to say
      if (to == from || ((from " " to) in allowed)) next
      if ($3 ~ /\/outcome[a-z_]*\.h$/ && ((from " " to "/outcome") in allowed)) next
      print where from " must not include " $3 " (no arrow " from "→" to ")"
      next
    }
    ($3 in agent) {
      if ((from " device-agent") in allowed) next
      print where from " must not include the agent\047s " $3
      next
    }
    { print where "include \"" $3 "\" is not a path from host/" }' >>"$violations"
}

# --- libraries: each third-party library behind one folder or file -----------------------------
check_libraries() {
  # header pattern, files that may include it, how many files at most (0: any number)
  local table='
^(llvm|llvm-c|lld|clang)/     ^host/codegen/                                    0
^sqlite3\.h$                  ^host/store/database\.cpp$                        0
^(toml\+\+/|toml\.hpp)        toml[a-z_]*\.(cpp|h)$|^host/target/[a-z_]*loader  0
^libssh/                      ^host/device/[a-z_]*\.cpp$                        1
^xgboost/                     ^host/cost/[a-z_]*\.cpp$                          1'
  local files
  mapfile -t files < <(tree | grep -E '^(host|bench|device-agent)/.*\.(cpp|h|c)$' || true)
  ((${#files[@]})) || { report "host/: no sources to check"; return; }
  awk -v table="$table" '
    BEGIN {
      count = split(table, line, "\n")
      for (i = 1; i <= count; ++i) if (split(line[i], column, / +/) == 3) {
        ++rules
        header[rules] = column[1]; place[rules] = column[2]; most[rules] = column[3] + 0
      }
    }
    /^[ \t]*#[ \t]*include[ \t]*[<"]/ {
      split($0, part, /[<>"]/)
      for (r = 1; r <= rules; ++r) {
        if (part[2] !~ header[r]) continue
        where = FILENAME ":" FNR ": " part[2]
        if (FILENAME !~ place[r]) print where " is not allowed here (only in " place[r] ")"
        else if (most[r] && !((r, FILENAME) in seen)) {
          seen[r, FILENAME] = 1
          if (++users[r] > most[r]) print where " is already included by another file"
        }
      }
    }' "${files[@]}" >>"$violations"
}

# --- text: licence, length, leftovers ----------------------------------------------------------
check_text() {
  local files
  mapfile -t files < <(sources)
  ((${#files[@]})) || { report "no sources to check"; return; }
  # The words are put together here so that this file does not hold them.
  local leftovers='(^|[^A-Za-z])(TO''DO|FIX''ME|XX''X)([^A-Za-z]|$)'
  awk -v leftovers="$leftovers" '
    function finish() {
      if (file == "") return
      if (!licensed) print file ":1: the first line is not the SPDX line"
      if (lines >= 600) print file ":" lines ": " lines " lines, fewer than 600 wanted"
    }
    FNR == 1 { finish(); file = FILENAME; licensed = 0; script = /^#!/ }
    FNR <= 1 + script && /SPDX-License-Identifier: Apache-2\.0/ { licensed = 1 }
    $0 ~ leftovers { print FILENAME ":" FNR ": unfinished work: " $0 }
    { lines = FNR }
    END { finish() }' "${files[@]}" >>"$violations"
  local file
  for file in "${files[@]}"; do
    [[ -s $file ]] || report "$file:1: empty file"
  done
}

# --- cases: no golden file that nothing reads --------------------------------------------------
# A file under tests/cases/ or a golden/ folder is used if a source in tests/ names it, or names its
# folder or one above ("tests/cases") and its extension (".case"), as a runner of a folder does.
is_read() {  # FILE READER
  local folder=${1#tests/} name
  name=$(basename "$1")
  grep -qF -e "$name" "$2" && return 0
  grep -qF -e "\".${name##*.}\"" "$2" || return 1
  while folder=$(dirname "$folder") && [[ $folder != . ]]; do
    grep -qE -e "(^|[/\"])$folder/?([\" ]|\$)" "$2" && return 0
  done
  return 1
}

check_cases() {
  local files readers file reader used
  mapfile -t files < <(tree | grep -E '^tests/(cases/|.*/golden/)' |
    grep -vE '\.(cpp|h|sh)$|/(CMakeLists\.txt|README\.md)$' || true)
  mapfile -t readers < <(tree | grep -E '^tests/.*(\.(cpp|h|sh|cmake)|CMakeLists\.txt)$' |
    grep -v '^tests/lint/' || true)
  for file in "${files[@]}"; do
    used=
    for reader in "${readers[@]}"; do
      if is_read "$file" "$reader"; then used=1; break; fi
    done
    [[ $used ]] || report "$file:1: no test reads this file"
  done
}

case $rule in
  includes | libraries | text | cases) "check_$rule" ;;
  *) echo "lint.sh: unknown rule '$rule'" >&2; exit 2 ;;
esac

if [[ -s $violations ]]; then
  cat "$violations"
  exit 1
fi
