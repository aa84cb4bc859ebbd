// SPDX-License-Identifier: Apache-2.0
#include "frontend/to_program.h"

#include <doctest/doctest.h>

#include <limits>
#include <set>

#include "base/text.h"
#include "ir/text.h"
#include "ir/verify.h"

namespace hone {
namespace {

Program program_of(std::string_view text) {
  const auto graph = parse_graph({text, "t", 1});
  REQUIRE_MESSAGE(graph.has_value(), graph.error().message);
  return to_program(*graph, "named");
}

// "n:1 y:4 r:3" of the loops above a block, outermost first.
std::string nest_of(const Program& program, BlockId block) {
  std::vector<std::string> loops;
  for (const LoopId loop : loops_above(program, Node{{}, block}))
    loops.push_back(fmt::format("{}:{}", program.loops[loop].name, program.loops[loop].extent));
  return join(loops, " ");
}

// Every axis is bound to its own loop, in the order of the nest, and to 0 where the loop runs once.
void check_bindings(const Program& program) {
  std::set<std::string> names;
  for (const Loop& loop : program.loops) {
    CHECK(names.insert(loop.name).second);
    CHECK(loop.kind == LoopKind::serial);
    CHECK(loop.tail == Tail::exact);
    CHECK(loop.body.size() == 1);
  }
  for (const BlockId id : all_blocks(program)) {
    const Block& block = program.blocks[id];
    const std::vector<LoopId> loops = loops_above(program, Node{{}, id});
    REQUIRE(loops.size() == block.axes.size());
    CHECK(block.predicates.empty());
    for (size_t i = 0; i < loops.size(); ++i) {
      const Axis& axis = block.axes[i];
      CHECK(axis.extent == program.loops[loops[i]].extent);
      if (axis.extent == 1) {
        CHECK(axis.binding.is_constant());
        CHECK(axis.binding.base == 0);
      } else {
        CHECK(axis.binding.as_loop() == loops[i]);
      }
    }
  }
}

TEST_CASE("fresh names count on from one wish, over every gap, past what is scanned") {
  Program program;
  const auto add = [&](const std::string& name) {
    Loop loop;
    loop.name = name;
    add_loop(program, loop);
  };
  CHECK_EQ(fresh_loop_name(program, "i"), "i");
  add("i");
  add("i_20");
  add("j");
  for (int number = 1; number < 40; ++number) {
    if (number == 20) continue;
    const std::string name = fresh_loop_name(program, "i");
    CHECK_EQ(name, fmt::format("i_{}", number));
    add(name);
  }
}

TEST_CASE("a chain of thousands of stages is a Program within seconds, its names all different") {
  std::string text = "input X: f32[2]\nA0[i:2] = X[i]\n";
  for (int stage = 1; stage < 3000; ++stage)
    text += fmt::format("A{}[i:2] = A{}[i]\n", stage, stage - 1);
  const Program program = program_of(text + "output Y[i:2] = A2999[i]\n");
  std::set<std::string> names;
  for (const Loop& loop : program.loops) CHECK(names.insert(loop.name).second);
  CHECK_EQ(names.size(), 3001);
}

TEST_CASE("the largest tensor that the language takes is one that the Program's text takes") {
  const Program program = program_of(
      "input X: f32[1048576, 1048576]\noutput Y[i, j] = X[i, j]\n");
  const auto again = parse_program(print(program), "p");
  REQUIRE_MESSAGE(again.has_value(), again.error().message);
  CHECK_EQ(print(*again), print(program));
  CHECK(verify(program).has_value());
}

TEST_CASE("one block a stage in a nest of its own") {
  const Program program = program_of(R"(
input X: f32[1, 6, 4]
param W: f32[3, 4, 5]
P[n:1, y:8, c:4] = if 1 <= y < 7 then X[n, y - 1, c] else 0
C[n:1, y:6, k:5] = sum(r:3, c:4) P[n, y + r, c] * W[r, c, k]
output R[n, y, k] = max(C[n, y, k], 0)
)");
  CHECK(program.name == "named");
  const std::vector<BlockId> blocks = all_blocks(program);
  REQUIRE(blocks.size() == 3);
  CHECK(program.body.size() == 3);
  check_bindings(program);
  CHECK(program.blocks[blocks[0]].name == "P");
  CHECK(program.blocks[blocks[1]].name == "C");
  CHECK(program.blocks[blocks[2]].name == "R");
  CHECK(nest_of(program, blocks[0]) == "n:1 y:8 c:4");

  const Block& sum = program.blocks[blocks[1]];
  REQUIRE(sum.axes.size() == 5);
  const char* const names[] = {"n", "y", "k", "r", "c"};
  for (size_t i = 0; i < 5; ++i) {
    CHECK(sum.axes[i].name == names[i]);
    CHECK(sum.axes[i].kind == (i < 3 ? AxisKind::spatial : AxisKind::reduce));
  }
  REQUIRE(sum.init.size() == 1);
  CHECK(sum.init[0].value->op == Op::constant);
  CHECK(sum.init[0].value->float_value == 0);
  CHECK(sum.body[0].value->op == Op::add);
  CHECK(sum.body[0].value->args[0]->op == Op::load);
  CHECK(BufferId{sum.body[0].value->args[0]->id} == sum.body[0].buffer);
  CHECK(program.blocks[blocks[0]].init.empty());

  const auto kind = [&](std::string_view name) {
    return program.buffers[*find_buffer(program, name)].kind;
  };
  CHECK(kind("X") == BufferKind::input);
  CHECK(kind("W") == BufferKind::param);
  CHECK(kind("P") == BufferKind::temp);
  CHECK(kind("R") == BufferKind::output);
  CHECK(program.buffers[*find_buffer(program, "P")].scope == Scope::workspace);
  CHECK(program.buffers[*find_buffer(program, "C")].shape == std::vector<int64_t>{1, 6, 5});
}

TEST_CASE("identities follow reducer and type") {
  const Program program = program_of(R"(
input X: f32[4]
input I: i8[4]
input U: u8[4]
output a[] = prod(k) X[k]
output b[] = max(k:4) X[k]
output c[] = min(k:4) X[k]
output d[] = max(k:4) I[k]
output e[] = min(k:4) I[k]
output f[] = max(k:4) U[k]
output g[] = min(k:4) U[k]
output h[] = sum(k) I[k]
)");
  check_bindings(program);
  const auto init = [&](std::string_view name) {
    return program.blocks[*find_block(program, name)].init.at(0).value;
  };
  CHECK(init("a")->float_value == 1);
  CHECK(init("b")->float_value == -std::numeric_limits<double>::infinity());
  CHECK(init("c")->float_value == std::numeric_limits<double>::infinity());
  CHECK(init("d")->int_value == -128);
  CHECK(init("e")->int_value == 127);
  CHECK(init("f")->int_value == 0);
  CHECK(init("g")->int_value == 255);
  CHECK(init("h")->int_value == 0);
}

TEST_CASE("a tuple is one block with two stores, a scalar has no loop") {
  const Program program = program_of(R"(
input X: f32[3, 4]
output (m, i)[n] = argmax(k) (X[n, k], i32(k))
output Z[] = X[0, 0] + 1
)");
  check_bindings(program);
  const std::vector<BlockId> blocks = all_blocks(program);
  REQUIRE(blocks.size() == 2);
  const Block& pair = program.blocks[blocks[0]];
  CHECK(pair.name == "m");
  CHECK(pair.body.size() == 2);
  REQUIRE(pair.init.size() == 2);
  CHECK(pair.init[1].value->int_value == INT32_MAX);
  CHECK(nest_of(program, blocks[1]).empty());
  CHECK(program.blocks[blocks[1]].axes.empty());
}

}  // namespace
}  // namespace hone
