// SPDX-License-Identifier: Apache-2.0
#include "ir/verify.h"

#include <doctest/doctest.h>

#include <functional>

#include "ir/text.h"

namespace hone {
namespace {

std::string error_of(const Program& program) {
  const auto verified = verify(program);
  return verified ? "" : verified.error().message;
}

std::string error_of(std::string_view text) {
  const auto program = parse_program(text, "test");
  REQUIRE_MESSAGE(program, program.error().message);
  return error_of(*program);
}

constexpr std::string_view kGood = R"(program p
buffer A f32[8,6] input
buffer T f32[8,6] temp stack
buffer O f32[8] output
for i in 8
  for j in 6
    block copy  spatial vi=i vj=j
      update T[vi,vj] = A[vi,vj]
  for k in 6
    block sum  spatial vi=i  reduce vk=k
      init   O[vi] = 0.0
      update O[vi] = O[vi] + T[vi,vk]
)";

TEST_CASE("a good program passes") { CHECK(error_of(kGood) == ""); }

TEST_CASE("structure: every breach has its message") {
  struct Case {
    std::function<void(Program&)> breach;
    std::string error;
  };
  const LoopId i{0}, j{1}, k{2};
  const BlockId copy{0}, sum{1};
  const Case cases[] = {
      {[](Program& p) { p.name = ""; }, "program : '' is no name for a program"},
      {[](Program& p) { p.buffers[BufferId{1}].name = "A"; },
       "program p: two buffers are called A"},
      {[](Program& p) { p.buffers[BufferId{1}].name = "A B"; },
       "program p: 'A B' is no name for a buffer"},
      {[](Program& p) { p.buffers[BufferId{1}].shape[0] = 0; },
       "program p: buffer T has a dimension of 0"},
      {[](Program& p) { p.buffers[BufferId{1}].shape[0] = int64_t{1} << 40; },
       "program p: buffer T is too large"},
      {[](Program& p) { p.buffers[BufferId{2}].scope = Scope::registers; },
       "program p: buffer O is an output and cannot live in scope registers: only temps can"},
      {[](Program& p) { p.body.push_back({}); },
       "program p: the program holds a node that is neither a loop nor a block (loop -1, block "
       "-1)"},
      {[=](Program& p) { p.loops[i].body.push_back({LoopId{9}, {}}); },
       "program p: loop i holds a node that is neither a loop nor a block (loop 9, block -1)"},
      {[=](Program& p) { p.loops[j].alive = false; },
       "program p: loop i holds loop j, which is dead"},
      {[=](Program& p) { p.loops[i].body.push_back({j, {}}); },
       "program p: loop j stands in two places"},
      {[=](Program& p) { p.loops[j].parent = k; },
       "program p: loop j in loop i has another parent"},
      {[=](Program& p) { p.loops[j].name = "i"; }, "program p: two loops are called i"},
      {[=](Program& p) { p.loops[j].extent = 0; }, "program p: loop j has an extent of 0"},
      {[=](Program& p) { p.loops[j].body.clear(); }, "program p: loop j holds nothing"},
      {[=](Program& p) { p.loops[i].kind = p.loops[j].kind = LoopKind::parallel; },
       "program p: parallel loop j lies in parallel loop i"},
      {[=](Program& p) { p.blocks[copy].alive = false; },
       "program p: loop j holds block copy, which is dead"},
      {[=](Program& p) { p.loops[j].body.push_back({{}, copy}); },
       "program p: block copy stands in two places"},
      {[=](Program& p) { p.blocks[copy].parent = i; },
       "program p: block copy in loop j has another parent"},
      {[=](Program& p) { p.blocks[sum].name = "copy"; }, "program p: two blocks are called copy"},
      {[](Program& p) { p.loops.add(Loop()); }, "program p: loop  is alive but stands nowhere"},
      {[](Program& p) { p.blocks.add(Block()); }, "program p: block  is alive but stands nowhere"},
      {[=](Program& p) { p.blocks[copy].axes[0].binding = affine_loop(k); },
       "program p: block copy: the binding of axis vi uses loop k, which is not around the block"},
      {[=](Program& p) { p.blocks[copy].axes[0].binding = affine_loop(LoopId{7}); },
       "program p: block copy: the binding of axis vi uses loop ?7, which is not around the block"},
      {[=](Program& p) { p.blocks[copy].axes[0].binding.terms[0].mod = 1; },
       "program p: block copy: the binding of axis vi has a term that is not canonical: i%1"},
      {[=](Program& p) { p.blocks[copy].predicates.push_back({affine_loop(k), 3}); },
       "program p: block copy: a predicate uses loop k, which is not around the block"},
      {[=](Program& p) { p.blocks[copy].predicates.push_back({affine_loop(i), 0}); },
       "program p: block copy: predicate i < 0 never holds"},
      {[=](Program& p) { p.blocks[copy].axes[1].name = "vi"; },
       "program p: block copy: two axes are called vi"},
      {[=](Program& p) { p.blocks[copy].axes[1].name = "1"; },
       "program p: block copy: '1' is no name for an axis"},
      {[=](Program& p) { p.blocks[copy].axes[1].extent = 0; },
       "program p: block copy: axis vj has an extent of 0"},
      {[=](Program& p) { p.blocks[copy].axes[1].extent = 5; },
       "program p: block copy: axis vj=j is between 0 and 5 as far as can be shown, outside its "
       "domain of 5"},
      {[=](Program& p) { p.loops[k].kind = LoopKind::parallel; },
       "program p: block sum: parallel loop k carries reduce axis vk"},
      {[=](Program& p) { p.blocks[copy].body.clear(); },
       "program p: block copy: it stores nothing"},
      {[=](Program& p) { p.blocks[copy].body.push_back(p.blocks[copy].body[0]); },
       "program p: block copy: it stores to T twice"},
      {[=](Program& p) { p.blocks[copy].body[0].buffer = BufferId{8}; },
       "program p: block copy: it stores to a buffer that does not exist (?8)"},
      {[=](Program& p) { p.blocks[copy].body[0].buffer = BufferId{0}; },
       "program p: block copy: it stores to A, which is an input"},
      {[=](Program& p) { p.blocks[copy].body[0].value = nullptr; },
       "program p: block copy: a store to T has no value"},
      {[=](Program& p) { p.blocks[copy].body[0].value = index_constant(1); },
       "program p: block copy: it stores i64 to T, which holds f32"},
      {[=](Program& p) { p.blocks[copy].body[0].indices.pop_back(); },
       "program p: block copy: T has 2 dimensions, found 1 indices"},
      {[=](Program& p) {
         p.blocks[copy].body[0].value =
             load_expr(BufferId{0}, DType::f32, {axis_expr(0), axis_expr(2)});
       },
       "program p: block copy: it uses axis 2, which does not exist"},
      {[=](Program& p) { p.blocks[copy].body[0].value = load_expr(BufferId{5}, DType::f32, {}); },
       "program p: block copy: it reads a buffer that does not exist (?5)"},
      {[=](Program& p) { p.buffers[BufferId{0}].dtype = DType::i32; },
       "program p: block copy: it reads A as f32, which holds i32"},
      {[=](Program& p) { p.blocks[copy].body[0].value = reg_expr(0, DType::f32, 1); },
       "program p: block copy: ?reg0 belongs in a Kernel, not in a Program"},
      {[=](Program& p) { p.blocks[sum].body[0].indices[0] = axis_expr(1); },
       "program p: block sum: the index vk of a store to O uses a reduce axis"},
      {[=](Program& p) { p.blocks[copy].init = p.blocks[copy].body; },
       "program p: block copy: it has an init but no reduce axis"},
      {[=](Program& p) { p.blocks[sum].init.push_back(p.blocks[sum].init[0]); },
       "program p: block sum: 2 stores in its init, 1 in its body"},
      {[=](Program& p) { p.blocks[sum].init[0].indices[0] = index_constant(0); },
       "program p: block sum: its init sets another element than O updates"},
      {[=](Program& p) {
         p.blocks[sum].init[0].value =
             load_expr(BufferId{0}, DType::f32, {axis_expr(0), axis_expr(1)});
       },
       "program p: block sum: the init of O uses a reduce axis"},
      {[=](Program& p) {
         p.blocks[sum].body[0].value = load_expr(BufferId{2}, DType::f32, {index_constant(0)});
       },
       "program p: block sum: it reads another element of O than the one that it updates"},
      {[=](Program& p) { std::swap(p.loops[i].body[0], p.loops[i].body[1]); },
       "program p: block sum: it reads T, which no block above it writes"},
      {[=](Program& p) { p.blocks[sum].init.clear(); },
       "program p: block sum: it reads O, which no block above it writes"},
      {[](Program& p) {
         p.buffers.add(Buffer{"Z", DType::f32, {}, BufferKind::output, Scope::workspace});
       },
       "program p: output Z is never written"},
  };
  for (const Case& c : cases) {
    Program program = *parse_program(kGood, "test");
    c.breach(program);
    CHECK(error_of(program) == c.error);
  }
}

// One block over a loop nest; `binding` and what stands below it vary.
std::string with_binding(const std::string& loops, const std::string& axes,
                         const std::string& predicates) {
  return "program p\nbuffer O f32[] output\nfor " + loops + "\n  block b  spatial " + axes + "\n" +
         predicates + "    update O[] = 1.0\n";
}

TEST_CASE("axes stay in their domains under the predicates") {
  const std::string f = "    where f0*8+f1 < 60\n";
  CHECK(error_of(with_binding("i in 5, j in 4", "v:18=i*4+j", "    where i*4+j < 18\n")) == "");
  CHECK(error_of(with_binding("i in 5, j in 4", "v:18=i*4+j", "    where i*4+j < 19\n")) ==
        "program p: block b: axis v=i*4+j is between 0 and 18 as far as can be shown, outside its "
        "domain of 18");
  CHECK(error_of(with_binding("i in 5, j in 4", "v:18=i*4+j-1", "    where i*4+j-1 < 18\n")) == "");
  CHECK(
      error_of(with_binding("i in 5, j in 4", "v:18=i*4+j-1", "    where i*4+j < 18\n")) ==
      "program p: block b: axis v=i*4+j-1 is between -1 and 16 as far as can be shown, outside its "
      "domain of 18");
  // A fused loop, split again: the axes are digits of what the predicate bounds.
  CHECK(error_of(with_binding("f0 in 8, f1 in 8", "v:12=(f0*8+f1)/5 w:5=(f0*8+f1)%5", f)) == "");
  CHECK(error_of(with_binding("f0 in 8, f1 in 8", "v:11=(f0*8+f1)/5 w:5=(f0*8+f1)%5", f)) != "");
  CHECK(error_of(with_binding("f0 in 8000000, f1 in 8", "v:12=(f0*8+f1)/5", f)) == "");
  // Intervals are too weak here, trying all values is not.
  CHECK(error_of(with_binding("i in 9, j in 4", "v:9=i+j", "    where i*2+j*2 < 17\n")) == "");
  CHECK(error_of(with_binding("i in 9, j in 4", "v:8=i+j", "    where i*2+j*2 < 17\n")) != "");
  CHECK(error_of(with_binding("i in 90000, j in 4", "v:9=i+j", "    where i*2+j*2 < 17\n")) != "");
  CHECK(error_of(with_binding("i in 4", "v:4=3-i", "")) == "");
}

// Loads from X f32[56] in a block with axes y:58, z:4.
std::string load_error(const std::string& value) {
  return error_of(
      "program p\nbuffer X f32[56] input\nbuffer K i32[58] input\nbuffer Q u8[58] input\n"
      "buffer O f32[58,4] output\nfor i in 58, j in 4\n  block b  spatial y=i z=j\n"
      "    update O[y,z] = " +
      value + "\n");
}

TEST_CASE("indices are proved inside, through guards") {
  for (const std::string good : {"select(1 <= y && y < 57, X[y-1], 0.0)",
                                 "select(1 > y || y >= 57, 0.0, X[y-1])",
                                 "select(y < 1, 0.0, select(y > 56, 0.0, X[y-1]))",
                                 "X[min(y, 55)]",
                                 "X[max(y-3, 0)]",
                                 "X[y%56]",
                                 "X[y/2]",
                                 "X[y*13/14]",
                                 "X[(y*4+z)/5]",
                                 "select(y == 3, X[y*10], 0.0)",
                                 "select(y != 3, 0.0, X[y*10])",
                                 "select(not(y < 2), X[y-2], 0.0)",
                                 "select(0 <= y*2+z-3 && y*2+z-3 < 56, X[y*2+z-3], 0.0)",
                                 "X[select(y < 56, y, 0)]",
                                 "select(y + z < 56, X[y], 0.0)",
                                 "select(y*2 < 56, X[y*2], 0.0)",
                                 "X[K[y]]",
                                 "X[i64(Q[y]) / 5]",
                                 "X[saturate_u8(K[y]) / 5]",
                                 "select(y < 58 && K[y] < 3, X[y/2], 0.0)",
                                 "X[y/2*2 % 56]",
                                 "X[K[y]+1]"})
    CHECK_MESSAGE(load_error(good) == "", good);
  for (const std::string bad :
       {"select(1 <= y && y < 58, X[y-1], 0.0)", "select(1 > y && y >= 57, 0.0, X[y-1])", "X[y]",
        "X[y-2]", "select(y == 3, X[y*20], 0.0)", "select(K[y] < 3, X[y], 0.0)",
        "select(y < 56, 0.0, X[y])", "X[max(y, 55)]"})
    CHECK_MESSAGE(load_error(bad) != "", bad);
  CHECK(load_error("X[y-2]") ==
        "program p: block b: index 0 of X is y - 2, between -2 and 55 as far as can be shown, "
        "outside its size of 56");
}

// With too many values to try, only the intervals can tell.
TEST_CASE("conditions bound an index exactly in large spaces too") {
  const auto large = [](const std::string& condition, const std::string& index) {
    return error_of(
        "program p\nbuffer X f32[56] input\nbuffer O f32[9000000] output\n"
        "for i in 9000000\n  block b  spatial y=i\n    update O[y] = select(" +
        condition + ", X[" + index + "], 0.0)\n");
  };
  CHECK(large("y < 56", "y") == "");
  CHECK(large("y < 57", "y") != "");
  CHECK(large("y <= 55", "y") == "");
  CHECK(large("y <= 56", "y") != "");
  CHECK(large("not(y >= 56)", "y") == "");
  CHECK(large("not(y > 56)", "y") != "");
  CHECK(large("y == 55", "y") == "");
  CHECK(large("y == 56", "y") != "");
  CHECK(large("1 <= y && y*2 < 113", "y-1") == "");
  CHECK(large("0 <= y && y*2 < 113", "y-1") != "");
  CHECK(large("y*2 < 112", "y") == "");
  CHECK(large("y*2 < 113", "y") != "");
}

TEST_CASE("an index of a store is never taken on trust") {
  CHECK(
      error_of("program p\nbuffer K i32[4] input\nbuffer O f32[4] output\nfor i in 4\n"
               "  block b  spatial v=i\n    update O[K[v]] = 1.0\n") ==
      "program p: block b: index 0 of O is K[v], between -2147483648 and 2147483647 as far as can "
      "be shown, outside its size of 4");
}

}  // namespace
}  // namespace hone
