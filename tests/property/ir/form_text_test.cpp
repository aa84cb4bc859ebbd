// SPDX-License-Identifier: Apache-2.0
//
// Splits and fusions of loops, by hand and without looking at legality, put every kind of form into
// bindings and predicates: their text must give the same text, the same values and the same
// verdict.
#include <doctest/doctest.h>

#include "ir/interpret.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "random_program.h"

namespace hone {
namespace {

// for l in n  -->  for l in ceil(n/f), l_1 in f; a predicate where f does not divide.
void split(Program& program, LoopId loop, int64_t factor) {
  const int64_t extent = program.loops[loop].extent;
  Loop inner;
  inner.name = fresh_loop_name(program, program.loops[loop].name);
  inner.extent = factor;
  inner.tail = extent % factor == 0 ? Tail::exact : Tail::peel;
  inner.body = program.loops[loop].body;
  inner.parent = loop;
  const LoopId id = add_loop(program, inner);
  for (const Node& child : inner.body)
    (child.loop.valid() ? program.loops[child.loop].parent : program.blocks[child.block].parent) =
        id;
  program.loops[loop].body = {Node{id, {}}};
  const Affine sum = add(scale(affine_loop(loop), factor), affine_loop(id));
  if (extent % factor != 0)
    for (const BlockId block : blocks_below(program, Node{id, {}}))
      program.blocks[block].predicates.push_back({affine_loop(loop), extent});
  program.loops[loop].extent = (extent + factor - 1) / factor;
  substitute_loop(program, Node{id, {}}, loop, sum);
}

// for a in n, b in m  -->  for a in n*m.
void fuse(Program& program, LoopId outer) {
  if (program.loops[outer].body.size() != 1 || !program.loops[outer].body[0].loop.valid()) return;
  const LoopId inner = program.loops[outer].body[0].loop;
  const int64_t extent = program.loops[inner].extent;
  for (const Node& child : program.loops[inner].body)
    (child.loop.valid() ? program.loops[child.loop].parent : program.blocks[child.block].parent) =
        outer;
  program.loops[outer].body = program.loops[inner].body;
  program.loops[inner].alive = false;
  program.loops[outer].extent *= extent;
  // The old outer loop speaks through a stand-in, since it is at once old and new.
  Loop stand_in;
  stand_in.extent = program.loops[outer].extent / extent;
  stand_in.alive = false;
  const LoopId old = program.loops.add(stand_in);
  const LoopExtents extents = program.extents();
  substitute_loop(program, Node{outer, {}}, outer, affine_loop(old));
  substitute_loop(program, Node{outer, {}}, old, quotient(affine_loop(outer), extent, extents));
  substitute_loop(program, Node{outer, {}}, inner, remainder(affine_loop(outer), extent, extents));
}

TEST_CASE("forms of split and fused loops survive their text") {
  int inner_forms = 0;
  int predicates = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    CAPTURE(seed);
    Rng rng(seed);
    const test::RandomProgramOptions options{.most_blocks = 3, .exact = true, .most_elements = 200};
    const Program naive = test::random_program(rng, options);
    Program program = naive;
    for (int64_t steps = rng.between(1, 5); steps > 0; --steps) {
      std::vector<LoopId> alive;
      for (int32_t i = 0; i < program.loops.size(); ++i)
        if (program.loops[LoopId{i}].alive) alive.push_back(LoopId{i});
      if (alive.empty()) break;
      const LoopId loop = alive[static_cast<size_t>(rng.below(static_cast<int64_t>(alive.size())))];
      if (rng.chance(0.5)) {
        fuse(program, loop);
      } else if (program.loops[loop].extent > 1) {
        split(program, loop, rng.between(2, 5));
      }
    }
    const std::string text = print(program);
    CAPTURE(text);
    inner_forms += text.find(")/") != std::string::npos || text.find(")%") != std::string::npos;
    predicates += text.find("where") != std::string::npos;
    const auto again = parse_program(text, "again");
    REQUIRE_MESSAGE(again, again.error().message);
    CHECK(print(*again) == text);
    const auto verified = verify(program);
    CHECK_MESSAGE(verified, verified.error().message);
    const auto verified_again = verify(*again);
    CHECK_MESSAGE(verified_again, verified_again.error().message);
    for (const Program& other : {program, *again}) {
      const auto same = check_equivalent(naive, other, seed);
      CHECK_MESSAGE(same, same.error().message);
    }
  }
  MESSAGE(inner_forms << " programs with forms in forms, " << predicates << " with predicates");
  CHECK(inner_forms >= 30);
  CHECK(predicates >= 100);
}

}  // namespace
}  // namespace hone
