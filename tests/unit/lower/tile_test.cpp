// SPDX-License-Identifier: Apache-2.0
//
// What the hot loop of a register tile holds, counted; and that the same input gives the same
// Kernel.
#include <map>

#include <doctest/doctest.h>

#include "lowering.h"

namespace hone::test {
namespace {

// A product of rows x columns tiles; 36 and a part of tiles of 14 rows.
std::string tiled_product(int64_t size, int64_t rows, int64_t columns) {
  return fmt::format(R"(program mm
buffer A f32[{0},{0}] input
buffer B f32[{0},{0}] param
buffer C f32[{0},{0}] output
buffer T f32[{0},{0}] temp registers
for i_0 in {3}, j_0 in {4}
  for k in {0}
    for i_1 in {1} unrolled tail=peel
      for j_1 in {2} vectorized tail=peel
        block mm  spatial i:{0}=i_0*{1}+i_1 j:{0}=j_0*{2}+j_1  reduce k=k
          where i_0*{1}+i_1 < {0}
          where j_0*{2}+j_1 < {0}
          init   T[i,j] = 0.0
          update T[i,j] = T[i,j] + A[i,k] * B[k,j]
  for i_3 in {1} unrolled tail=peel
    for j_3 in {2} vectorized tail=peel
      block put  spatial i:{0}=i_0*{1}+i_3 j:{0}=j_0*{2}+j_3
        where i_0*{1}+i_3 < {0}
        where j_0*{2}+j_3 < {0}
        update C[i,j] = T[i,j]
)",
                     size, rows, columns, (size + rows - 1) / rows, (size + columns - 1) / columns);
}

const TargetShape& shape_named(std::string_view name) {
  for (const TargetShape& shape : kTargetShapes)
    if (shape.name == name) return shape;
  FAIL("no such target");
  return kTargetShapes[0];
}

// Innermost loops, in order.
void hot_loops(const KernelBody& body, std::vector<const KernelFor*>& found) {
  for (const KernelStmt& stmt : body) {
    if (const auto* branch = std::get_if<KernelIf>(&stmt.node)) {
      hot_loops(branch->then_body, found);
      hot_loops(branch->else_body, found);
    }
    const auto* loop = std::get_if<KernelFor>(&stmt.node);
    if (loop == nullptr) continue;
    const size_t before = found.size();
    hot_loops(loop->body, found);
    if (found.size() == before) found.push_back(loop);
  }
}

struct Counts {
  int fmas = 0;
  int vector_loads = 0;
  int scalar_loads = 0;
  int broadcasts = 0;
  int divisions = 0;
  int others = 0;  // statements that set no register
};

Counts count(const KernelFor& loop) {
  Counts counts;
  for (const KernelStmt& stmt : loop.body) {
    const auto* set = std::get_if<KernelSet>(&stmt.node);
    if (set == nullptr) {
      ++counts.others;
      continue;
    }
    walk(set->value, [&](const ExprNode& node) {
      counts.fmas += node.op == Op::fma;
      counts.broadcasts += node.op == Op::broadcast;
      counts.divisions += node.op == Op::div || node.op == Op::mod;
      if (node.op == Op::load) ++(node.lanes > 1 ? counts.vector_loads : counts.scalar_loads);
    });
  }
  return counts;
}

Result<Kernel> lowered(const std::string& text, std::string_view target) {
  return lower(parse_program(text, "tile").value(), target_of(shape_named(target)), {});
}

}  // namespace

TEST_CASE("the hot loop of a 14x32 tile is 28 fmas, 2 vector loads and 14 broadcasts") {
  const Result<Kernel> kernel = lowered(tiled_product(512, 14, 32), "wide-masked");
  REQUIRE(kernel.has_value());
  std::vector<const KernelFor*> loops;
  hot_loops(kernel->body, loops);
  REQUIRE(loops.size() == 2);  // full tiles, and the 8 rows that are left
  const Counts full = count(*loops[0]);
  CHECK(full.fmas == 28);
  CHECK(full.vector_loads == 2);
  CHECK(full.scalar_loads == 14);
  CHECK(full.broadcasts == 14);
  CHECK(full.divisions == 0);
  CHECK(full.others == 0);
  CHECK(count(*loops[1]).fmas == 16);
}

TEST_CASE("two cut axes give four bodies") {
  const Result<Kernel> kernel = lowered(tiled_product(44, 6, 16), "wide");  // 2 rows, 8 + 4 lanes
  REQUIRE(kernel.has_value());
  std::vector<const KernelFor*> loops;
  hot_loops(kernel->body, loops);
  REQUIRE(loops.size() == 4);
  CHECK(count(*loops[0]).fmas == 6 * 2);
  CHECK(count(*loops[1]).fmas == 6 * 2);
  CHECK(count(*loops[2]).fmas == 2 * 2);
  CHECK(count(*loops[3]).fmas == 2 * 2);
  for (const KernelFor* loop : loops) CHECK(count(*loop).others == 0);
}

TEST_CASE("with masks 28 columns that are left take 2 vectors, not 16 + 8 + 4 lanes") {
  const Result<Kernel> kernel = lowered(tiled_product(60, 14, 32), "wide-masked");
  REQUIRE(kernel.has_value());
  std::vector<const KernelFor*> loops;
  hot_loops(kernel->body, loops);
  REQUIRE(loops.size() == 4);
  CHECK(count(*loops[1]).fmas == 28);
  CHECK(count(*loops[1]).vector_loads == 2);
}

TEST_CASE("a tile takes the last register and not one more") {
  CHECK(lowered(tiled_product(60, 14, 32), "wide-masked").has_value());
  CHECK_FALSE(lowered(tiled_product(60, 15, 32), "wide-masked").has_value());
  CHECK(lowered(tiled_product(48, 6, 16), "wide").has_value());
  CHECK_FALSE(lowered(tiled_product(48, 7, 16), "wide").has_value());
}

TEST_CASE("the same Program gives the same Kernel, and the log shows each stage") {
  const Program program = parse_program(tiled_product(44, 6, 16), "tile").value();
  const Target target = target_of(shape_named("wide"));
  std::vector<std::string> passes;
  LowerOptions options;
  options.log = [&](std::string_view pass, const std::string& text) {
    passes.emplace_back(pass);
    CHECK(text.find("mm") != std::string::npos);
  };
  const Result<Kernel> first = lower(program, target, options);
  const Result<Kernel> second = lower(program, target, {});
  REQUIRE(first.has_value());
  REQUIRE(second.has_value());
  CHECK(print(*first) == print(*second));
  CHECK(hash_of(*first) == hash_of(*second));
  CHECK(passes.size() >= 4);
  const Result<Kernel> other = lowered(tiled_product(44, 6, 8), "wide");
  REQUIRE(other.has_value());
  CHECK(hash_of(*other) != hash_of(*first));
}

TEST_CASE("the verifier of Kernels refuses what is not well formed") {
  const Kernel good = lowered(tiled_product(16, 2, 8), "wide").value();
  CHECK(verify(good).has_value());
  const auto first_for = [](Kernel& kernel) -> KernelFor& {
    return std::get<KernelFor>(kernel.body[0].node);
  };
  Kernel twice = good;
  twice.body.push_back(twice.body[0]);
  CHECK(verify(twice).error().message == "variable 'i_0' is bound twice");
  Kernel unbound = good;
  first_for(unbound).end = var_expr(first_for(unbound).var.value);
  CHECK(verify(unbound).error().message == "variable 'i_0' is used where it is not bound");
  Kernel read_only = good;
  for (KernelBuffer& buffer : read_only.buffers) buffer.written = false;
  CHECK(verify(read_only).error().message == "argument 'C' is stored to and only read");
  Kernel narrow = good;
  for (Register& reg : narrow.registers) reg.lanes = 2;
  CHECK_FALSE(verify(narrow).has_value());
}

TEST_CASE("temps share workspace only when they do not live at the same time") {
  const Program program = parse_program(R"(program chain
buffer X f32[64] input
buffer P f32[64] temp
buffer Q f32[64] temp
buffer R f32[64] temp
buffer Y f32[64] output
for i in 64
  block p  spatial i=i
    update P[i] = X[i] + 1.0
for i_1 in 64
  block q  spatial i=i_1
    update Q[i] = P[i] * 2.0
for i_2 in 64
  block r  spatial i=i_2
    update R[i] = Q[i] * 3.0
for i_3 in 64
  block y  spatial i=i_3
    update Y[i] = R[63-i]
)",
                                        "chain")
                              .value();
  const Result<Kernel> kernel = lower(program, target_of(shape_named("wide")), {});
  REQUIRE(kernel.has_value());
  CHECK(kernel->workspace_bytes == 512);  // P and R share
  Rng rng(3);
  const Result<Kernel> constants = lower_constants(program, target_of(shape_named("wide")), {});
  REQUIRE(constants.has_value());
  CHECK(check_lowered(program, *constants, *kernel, random_inputs(program, rng)).has_value());
}

}  // namespace hone::test
