// SPDX-License-Identifier: Apache-2.0
#include "random_program.h"

#include <doctest/doctest.h>

#include <map>

#include "ir/interpret.h"
#include "ir/text.h"
#include "ir/verify.h"

namespace hone {
namespace {

TEST_CASE("random programs verify, run, and keep text, hash and meaning through parse and print") {
  std::map<std::string, int> seen;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    CAPTURE(seed);
    Rng rng(seed);
    const test::RandomProgramOptions options{
        .most_blocks = 4, .exact = seed % 4 != 0, .most_elements = 600};
    const Program program = test::random_program(rng, options);
    const std::string text = print(program);
    CAPTURE(text);
    const auto verified = verify(program);
    REQUIRE_MESSAGE(verified, verified.error().message);
    const auto again = parse_program(text, "again");
    REQUIRE_MESSAGE(again, again.error().message);
    REQUIRE(print(*again) == text);
    CHECK(hash_of(*again) == hash_of(program));
    const auto same = check_equivalent(program, *again, seed);
    REQUIRE_MESSAGE(same, same.error().message);
    for (const Block& block : program.blocks) ++seen[block.name.substr(0, block.name.find('_'))];
    for (const Buffer& buffer : program.buffers) ++seen[std::string(to_string(buffer.dtype))];
  }
  for (const char* what :
       {"map", "transpose", "pad", "cast", "fold", "matmul", "window", "argmax", "gather", "i8",
        "u8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"})
    CHECK_MESSAGE(seen[what] >= 30, what);
}

// Turns every nest inside out: the loops of the reduce axes, which the generator puts innermost,
// come first, and the spatial axes run downwards.
Program inside_out(const Program& program) {
  Program result = program;
  for (const BlockId id : all_blocks(program)) {
    const std::vector<LoopId> loops = loops_above(program, Node{{}, id});
    for (size_t i = 0; i < loops.size(); ++i) {
      const LoopId other = loops[loops.size() - 1 - i];
      result.loops[loops[i]].extent = program.loops[other].extent;
      for (size_t a = 0; a < program.blocks[id].axes.size(); ++a) {
        if (program.blocks[id].axes[a].binding.as_loop() != other) continue;
        Axis& axis = result.blocks[id].axes[a];
        axis.binding = affine_loop(loops[i]);
        if (axis.kind == AxisKind::spatial)
          axis.binding = add(affine_constant(axis.extent - 1), scale(axis.binding, -1));
      }
    }
  }
  return result;
}

TEST_CASE("exact programs do not depend on the order in which their loops run") {
  int changed = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    Rng rng(seed);
    const Program program = test::random_program(rng, test::RandomProgramOptions{});
    const Program other = inside_out(program);
    changed += equal(program, other) ? 0 : 1;
    const auto verified = verify(other);
    REQUIRE_MESSAGE(verified, verified.error().message);
    const auto same = check_equivalent(program, other, seed);
    CHECK_MESSAGE(same, same.error().message);
  }
  CHECK(changed >= 200);
}

}  // namespace
}  // namespace hone
