// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "rewriting.h"
#include "schedule/primitives.h"

namespace hone {
namespace {

TEST_CASE("compute_at: before and after, and every refusal") { run_cases("compute_at.case", 40); }

const std::string kChain = R"(program p
buffer X f32[18] input
buffer A f32[18] temp
buffer B f32[16] temp
buffer C f32[16] output
for a in 18
  block A  spatial y=a
    update A[y] = X[y] + 1.0
for t in 2, u in 2, b in 4
  block B  spatial y:16=t*8+u*4+b
    update B[y] = A[y] + A[y+2]
for c in 16
  block C  spatial y=c
    update C[y] = B[y] * 2.0
)";

std::string locations(const Program& program, const std::string& block, bool reverse) {
  std::string names;
  for (const LoopId loop : compute_locations(program, *find_block(program, block), reverse))
    names += (names.empty() ? "" : " ") + program.loops[loop].name;
  return names;
}

TEST_CASE("locations are all loops that would be accepted, outermost first") {
  Program program = program_of(kChain);
  const std::string before = print(program);
  CHECK(locations(program, "A", false) == "t u b");
  CHECK(locations(program, "B", false) == "c");
  CHECK(locations(program, "C", false) == "");
  CHECK(locations(program, "A", true) == "");
  CHECK(locations(program, "B", true) == "");  // a neighbour's element is not there yet
  CHECK(locations(program, "C", true) == "t u b");
  CHECK(print(program) == before);

  REQUIRE(apply_line(program, "reverse_compute_at C t").has_value());
  CHECK(locations(program, "A", false) == "t u b");
  CHECK(locations(program, "B", false) == "y_C");
  CHECK(locations(program, "C", true) == "u b");
  REQUIRE(apply_line(program, "vectorize b").has_value());
  CHECK(locations(program, "A", false) == "t u");
}

TEST_CASE("each location is accepted, every other loop refused") {
  const Program program = program_of(kChain);
  for (const bool reverse : {false, true}) {
    for (const BlockId block : all_blocks(program)) {
      const std::vector<LoopId> accepted = compute_locations(program, block, reverse);
      for (LoopId loop{0}; program.loops.contains(loop); ++loop.value) {
        Program copy = program;
        const Result<void> result =
            reverse ? reverse_compute_at(copy, block, loop) : compute_at(copy, block, loop);
        CHECK(result.has_value() ==
              (std::find(accepted.begin(), accepted.end(), loop) != accepted.end()));
      }
    }
  }
}

}  // namespace
}  // namespace hone
