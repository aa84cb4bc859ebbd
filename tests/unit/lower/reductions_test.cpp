// SPDX-License-Identifier: Apache-2.0
//
// Loops of lanes that reduce: every kind of reducer, every length around the widths.
#include <doctest/doctest.h>

#include "lowering.h"

namespace hone::test {
namespace {

std::string reduction(int64_t length, std::string_view dtype, std::string_view start,
                      std::string_view update) {
  return fmt::format(R"(program r
buffer X {1}[2,{0}] input
buffer Y {1}[2] output
for i in 2
  for k in {0} vectorized
    block r  spatial i=i  reduce k=k
      init   Y[i] = {2}
      update Y[i] = {3}
)",
                     length, dtype, start, update);
}

bool has_reduce(const KernelBody& body) {
  bool found = false;
  for (const KernelStmt& stmt : body) {
    const auto look = [&](const ExprNode& node) {
      found = found || (node.op >= Op::reduce_add && node.op <= Op::reduce_max);
    };
    if (const auto* loop = std::get_if<KernelFor>(&stmt.node))
      found = found || has_reduce(loop->body);
    if (const auto* store = std::get_if<KernelStore>(&stmt.node)) walk(store->value, look);
  }
  return found;
}

}  // namespace

TEST_CASE("lanes add up what a vectorised loop reduces") {
  struct Case {
    std::string_view dtype, start, update;
  };
  const Case cases[] = {
      {"f32", "0.0", "Y[i] + X[i,k]"},      {"f32", "1.0", "X[i,k] * X[i,k] + Y[i]"},
      {"f32", "-inf", "max(X[i,k], Y[i])"}, {"i32", "5", "Y[i] + X[i,k] * i32(k)"},
      {"i8", "100", "min(Y[i], X[i,k])"},   {"i32", "1", "Y[i] * (X[i,k] + 1)"},
      {"f16", "0.0", "Y[i] + X[i,k]"},      {"i32", "0", "select(Y[i] < X[i,k], X[i,k], Y[i])"}};
  for (const Case& one : cases) {
    for (const int64_t length : {1, 2, 3, 7, 8, 9, 16, 31, 33, 64, 100, 129, 200, 333}) {
      for (const TargetShape& shape : kTargetShapes) {
        const Program program =
            parse_program(reduction(length, one.dtype, one.start, one.update), "r").value();
        Rng rng(static_cast<uint64_t>(length));
        bool refused = false;
        const Result<void> right =
            check_lowering(program, target_of(shape), random_inputs(program, rng), refused);
        CHECK_MESSAGE(right.has_value(), right.error().message);
      }
    }
  }
}

TEST_CASE("a long sum is added in lanes, a tuple or an f16 is not") {
  const Target target = target_of(kTargetShapes[1]);
  const auto lowered = [&](std::string_view dtype, std::string_view update) {
    return lower(parse_program(reduction(100, dtype, "0.0", update), "r").value(), target, {})
        .value();
  };
  CHECK(has_reduce(lowered("f32", "Y[i] + X[i,k]").body));
  CHECK_FALSE(has_reduce(lowered("f16", "Y[i] + X[i,k]").body));
  CHECK_FALSE(has_reduce(lowered("f32", "select(Y[i] < X[i,k], X[i,k], Y[i])").body));
}

}  // namespace hone::test
