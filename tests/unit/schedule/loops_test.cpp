// SPDX-License-Identifier: Apache-2.0
//
// The cases of tests/cases/trace say what each primitive does and what it refuses; here is what
// text cannot say: ids, and the questions of legality.h.
#include <doctest/doctest.h>

#include "ir/text.h"
#include "schedule/legality.h"
#include "schedule/primitives.h"

namespace hone {
namespace {

Program program_with_loops(const std::vector<int64_t>& extents) {
  Program program;
  LoopId parent;
  for (const int64_t extent : extents) {
    Loop loop;
    loop.name = fresh_loop_name(program, "i");
    loop.extent = extent;
    const LoopId id = add_loop(program, loop);
    place(program, Node{id, {}}, parent, 0);
    parent = id;
  }
  return program;
}

TEST_CASE("determines: sums of digits can be read off as long as they do not overlap") {
  const Program program = program_with_loops({6, 4, 5, 1});
  const std::vector<LoopId> loops = {LoopId{0}, LoopId{1}, LoopId{2}, LoopId{3}};
  const LoopExtents extents = program.extents();
  const auto says = [&](const std::vector<Affine>& forms, std::vector<LoopId> varying,
                        LoopId loop) {
    return determines(program, forms, varying, std::span(&loop, 1));
  };
  const Affine i = affine_loop(loops[0]);
  const Affine j = affine_loop(loops[1]);
  const Affine k = affine_loop(loops[2]);
  const Affine tiles = add(scale(i, 4), j);    // i*4+j, j below 4
  const Affine overlap = add(scale(i, 4), k);  // i*4+k, k below 5
  CHECK(says({tiles}, {loops[0], loops[1]}, loops[0]));
  CHECK(says({tiles}, {loops[0], loops[1]}, loops[1]));
  CHECK_FALSE(says({overlap}, {loops[0], loops[2]}, loops[0]));
  CHECK_FALSE(says({overlap}, {loops[0], loops[2]}, loops[2]));
  CHECK(says({overlap}, {loops[2]}, loops[2]));  // i stands still
  CHECK_FALSE(says({tiles}, {loops[0], loops[1], loops[2]}, loops[2]));
  CHECK(says({}, {loops[3]}, loops[3]));  // runs once

  const Affine high = quotient(i, 3, extents);
  const Affine low = remainder(i, 3, extents);
  CHECK_FALSE(says({high}, {loops[0]}, loops[0]));
  CHECK_FALSE(says({low}, {loops[0]}, loops[0]));
  CHECK(says({high, low}, {loops[0]}, loops[0]));

  // Digits of a sum: the sum is known, and so are its parts.
  const Affine sum_high = quotient(tiles, 5, extents);
  const Affine sum_low = remainder(tiles, 5, extents);
  CHECK(says({sum_high, sum_low}, {loops[0], loops[1]}, loops[1]));
  CHECK_FALSE(says({sum_high}, {loops[0], loops[1]}, loops[1]));
}

TEST_CASE("is_order_free: what a reduction may do with its terms in any order") {
  const auto block_with = [](const char* update) {
    const auto program =
        parse_program(fmt::format("program p\nbuffer X i32[4,5] input\nbuffer Y i32[4] output\n"
                                  "for i in 4, k in 5\n  block Y  spatial i=i  reduce k=k\n"
                                  "    init   Y[i] = 0\n    update Y[i] = {}\n",
                                  update),
                      "text");
    REQUIRE_MESSAGE(program.has_value(), program.error().message);
    return program->blocks[BlockId{0}];
  };
  for (const char* update : {"Y[i] + X[i,k]", "X[i,k] + Y[i]", "Y[i] - X[i,k]", "max(Y[i], X[i,k])",
                             "min(X[i,k], Y[i])", "Y[i] * X[i,k]", "Y[i] & X[i,k]"})
    CHECK_MESSAGE(is_order_free(block_with(update)), update);
  for (const char* update : {"X[i,k] - Y[i]", "Y[i] + Y[i]", "Y[i] * 2 + X[i,k]", "Y[i] / X[i,k]",
                             "select(X[i,k] < 0, Y[i], X[i,k])"})
    CHECK_FALSE_MESSAGE(is_order_free(block_with(update)), update);
}

TEST_CASE("split gives the new loops from the outside to the inside, and ends the old one") {
  Program program = *parse_program(
      "program p\nbuffer Y i32[30] output\nfor i in 30\n  block Y  spatial i=i\n"
      "    update Y[i] = 0\n",
      "text");
  const std::vector<int64_t> factors = {0, 3, 4};
  const std::vector<LoopId> loops = *split(program, LoopId{0}, factors, Tail::peel);
  REQUIRE(loops.size() == 3);
  CHECK(loops_above(program, Node{{}, BlockId{0}}) == loops);
  CHECK(program.loops[loops[0]].extent == 3);
  CHECK_FALSE(program.loops[LoopId{0}].alive);
  CHECK_FALSE(split(program, LoopId{0}, factors, Tail::peel).has_value());
  CHECK(program.blocks[BlockId{0}].predicates.size() == 1);
}

}  // namespace
}  // namespace hone
