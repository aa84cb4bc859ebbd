// SPDX-License-Identifier: Apache-2.0
#include "rewriting.h"

#include <doctest/doctest.h>

#include <sstream>

#include "case_file.h"
#include "ir/interpret.h"
#include "ir/verify.h"
#include "schedule/primitives.h"

namespace hone {
namespace {

using Words = std::vector<std::string>;

// By name; rows that are gone are found too, so that their use can be refused.
template <typename IdType, typename Table>
IdType row_of(const Table& table, const std::string& name) {
  IdType last;
  for (IdType id{0}; table.contains(id); ++id.value) {
    if (table[id].name != name) continue;
    last = id;
    if (table[id].alive) break;
  }
  REQUIRE_MESSAGE(last.valid(), "nothing is called ", name);
  return last;
}

LoopId loop_of(const Program& program, const std::string& name) {
  return row_of<LoopId>(program.loops, name);
}

BlockId block_of(const Program& program, const std::string& name) {
  return row_of<BlockId>(program.blocks, name);
}

BufferId buffer_of(const Program& program, const std::string& name) {
  const auto buffer = find_buffer(program, name);
  REQUIRE_MESSAGE(buffer.has_value(), "no buffer ", name);
  return *buffer;
}

Scope scope_of(const std::string& name) {
  if (name == "constant") return Scope::constant;
  if (name == "stack") return Scope::stack;
  if (name == "registers") return Scope::registers;
  REQUIRE(name == "workspace");
  return Scope::workspace;
}

Tail tail_of(const std::string& name) {
  if (name == "peel") return Tail::peel;
  if (name == "shift") return Tail::shift;
  if (name == "predicate") return Tail::predicate;
  REQUIRE(name == "exact");
  return Tail::exact;
}

template <typename T>
Result<void> outcome(const Result<T>& result) {
  if (!result) return std::unexpected(result.error());
  return {};
}

Result<void> apply_to_loops(Program& program, const Words& words) {
  std::vector<LoopId> loops;
  for (size_t i = 1; i < words.size(); ++i) loops.push_back(loop_of(program, words[i]));
  if (words[0] == "fuse") return outcome(fuse(program, loops));
  if (words[0] == "reorder") return reorder(program, loops);
  if (words[0] == "parallel") return parallel(program, loops.at(0));
  if (words[0] == "vectorize") return vectorize(program, loops.at(0));
  if (words[0] == "unroll") return unroll(program, loops.at(0));
  FAIL("unknown primitive ", words[0]);
  return {};
}

Result<void> apply_split(Program& program, const Words& words) {
  std::vector<int64_t> factors;
  for (size_t i = 2; i + 1 < words.size(); ++i) factors.push_back(std::stoll(words[i]));
  return outcome(split(program, loop_of(program, words[1]), factors, tail_of(words.back())));
}

// transform_layout T 0 4 order 1 0 2
Result<void> apply_layout(Program& program, const Words& words) {
  std::vector<int64_t> tiles;
  std::vector<int64_t> order;
  bool in_order = false;
  for (size_t i = 2; i < words.size(); ++i) {
    if (words[i] == "order") {
      in_order = true;
    } else {
      (in_order ? order : tiles).push_back(std::stoll(words[i]));
    }
  }
  return transform_layout(program, buffer_of(program, words.at(1)), tiles, order);
}

// Primitives whose first word is a block, or a buffer for set_scope.
Result<void> apply_to_block(Program& program, const Words& words) {
  if (words[0] == "set_scope")
    return set_scope(program, buffer_of(program, words[1]), scope_of(words.at(2)));
  if (words[0] == "transform_layout") return apply_layout(program, words);
  const BlockId block = block_of(program, words.at(1));
  if (words[0] == "compute_inline") return compute_inline(program, block);
  if (words[0] == "reverse_compute_inline") return reverse_compute_inline(program, block);
  if (words[0] == "compute_at") return compute_at(program, block, loop_of(program, words.at(2)));
  if (words[0] == "reverse_compute_at")
    return reverse_compute_at(program, block, loop_of(program, words.at(2)));
  if (words[0] == "decompose_reduction")
    return outcome(decompose_reduction(program, block, loop_of(program, words.at(2))));
  const BufferId buffer = buffer_of(program, words.at(2));
  const Scope scope = scope_of(words.at(3));
  if (words[0] == "cache_read") return outcome(cache_read(program, block, buffer, scope));
  REQUIRE(words[0] == "cache_write");
  return outcome(cache_write(program, block, buffer, scope));
}

bool is_loop_primitive(const std::string& word) {
  for (const char* name : {"fuse", "reorder", "parallel", "vectorize", "unroll"})
    if (word == name) return true;
  return false;
}

std::string section(const TextCase& one, const std::string& name) {
  const auto found = one.sections.find(name);
  return found == one.sections.end() ? "" : found->second;
}

void run_case(const TextCase& one) {
  const Program before = program_of(section(one, "before"));
  REQUIRE(verify(before).has_value());
  Program program = before;
  std::string last_error;
  std::istringstream lines(section(one, "do"));
  for (std::string line; std::getline(lines, line);) {
    REQUIRE_MESSAGE(last_error.empty(), last_error);
    const std::string unchanged = print(program);
    if (const Result<void> result = apply_line(program, line); !result) {
      last_error = result.error().message;
      CHECK(print(program) == unchanged);
      continue;
    }
    const Result<void> well_formed = verify(program);
    CHECK_MESSAGE(well_formed.has_value(), well_formed.error().message);
  }
  if (one.sections.contains("error")) {
    CHECK(last_error + "\n" == section(one, "error"));
    return;
  }
  CHECK(last_error == "");
  CHECK(print(program) == section(one, "after"));
  const Result<void> same = check_equivalent(before, program, 1);
  CHECK_MESSAGE(same.has_value(), same.error().message);
}

}  // namespace

Program program_of(const std::string& text) {
  Result<Program> program = parse_program(text, "case");
  REQUIRE_MESSAGE(program.has_value(), program.error().message);
  return std::move(*program);
}

Result<void> apply_line(Program& program, const std::string& line) {
  std::istringstream stream(line);
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  REQUIRE(words.size() >= 2);
  if (words[0] == "split") return apply_split(program, words);
  if (is_loop_primitive(words[0])) return apply_to_loops(program, words);
  return apply_to_block(program, words);
}

void run_cases(const std::string& file, size_t least) {
  const auto text = read_file(std::string(HONE_SOURCE_DIR) + "/tests/cases/schedule/" + file);
  REQUIRE_MESSAGE(text.has_value(), file);
  const std::vector<TextCase> cases = parse_cases(*text);
  CHECK(cases.size() >= least);
  for (const TextCase& one : cases) {
    CAPTURE(one.title);
    run_case(one);
  }
}

}  // namespace hone
