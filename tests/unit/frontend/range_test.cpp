// SPDX-License-Identifier: Apache-2.0
#include "frontend/range.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "base/rng.h"
#include "frontend/graph.h"

namespace hone {
namespace {

constexpr int64_t kExtents[] = {7, 5, 4};

Expr axis(int64_t number) { return axis_expr(static_cast<int32_t>(number)); }

// A random index over three axes.
Expr random_index(Rng& rng, int depth) {
  if (depth == 0 || rng.chance(0.2))
    return rng.chance(0.7) ? axis(rng.below(3)) : index_constant(rng.between(-6, 6));
  const Expr a = random_index(rng, depth - 1);
  switch (rng.below(9)) {
    case 0:
      return binary(Op::div, a, index_constant(rng.between(1, 4)));
    case 1:
      return binary(Op::mod, a, index_constant(rng.between(1, 4)));
    case 2:
      return binary(Op::mul, a, index_constant(rng.between(-3, 3)));
    case 3:
      return binary(Op::min, a, random_index(rng, depth - 1));
    case 4:
      return binary(Op::max, a, random_index(rng, depth - 1));
    case 5:
      return binary(Op::sub, a, random_index(rng, depth - 1));
    case 6:
      return unary(rng.chance(0.5) ? Op::neg : Op::abs, a);
    case 7:
      return binary(Op::mul, a, random_index(rng, depth - 1));
    default:
      return binary(Op::add, a, random_index(rng, depth - 1));
  }
}

Expr random_condition(Rng& rng, int depth) {
  if (depth > 0 && rng.chance(0.5)) {
    if (rng.chance(0.2)) return unary(Op::logical_not, random_condition(rng, depth - 1));
    return binary(rng.chance(0.7) ? Op::logical_and : Op::logical_or,
                  random_condition(rng, depth - 1), random_condition(rng, depth - 1));
  }
  constexpr Op kOps[] = {Op::lt, Op::le, Op::eq, Op::ne};
  return binary(kOps[rng.below(4)], random_index(rng, 2), random_index(rng, 1));
}

int64_t at(const Expr& expr, int64_t i, int64_t j, int64_t k) {
  const Expr values[] = {index_constant(i), index_constant(j), index_constant(k)};
  const Expr folded = substitute_axes(expr, values);
  REQUIRE(is_constant(folded));
  return folded->int_value;
}

TEST_CASE("a range holds every value that a guard lets through") {
  constexpr uint64_t kSeed = 20260101;
  MESSAGE("seed " << kSeed);
  Rng rng(kSeed);
  int narrowed = 0;
  for (int round = 0; round < 4000; ++round) {
    const Expr condition = random_condition(rng, 2);
    // Half of the indices are those of the guard, as guards of reads are.
    Expr index = random_index(rng, 3);
    if (rng.chance(0.5) && condition->args.size() == 2 && condition->args[0]->dtype == DType::i64)
      index = binary(Op::add, condition->args[0], index_constant(rng.between(-2, 2)));
    const bool holds = rng.chance(0.7);
    RangeScope scope([](int32_t number) { return kExtents[number]; },
                     [](BufferId) { return Range{}; });
    const Range before = scope.range(index);
    const size_t mark = scope.enter(condition, holds);
    const Range range = scope.range(index);
    scope.leave(mark);
    const Range after = scope.range(index);
    CHECK(after.low == before.low);
    CHECK(after.high == before.high);
    narrowed += range.low > before.low || range.high < before.high;
    for (int64_t i = 0; i < kExtents[0]; ++i)
      for (int64_t j = 0; j < kExtents[1]; ++j)
        for (int64_t k = 0; k < kExtents[2]; ++k) {
          if ((at(condition, i, j, k) != 0) != holds) continue;
          const double value = static_cast<double>(at(index, i, j, k));
          if (value < range.low || value > range.high) {
            CAPTURE(round);
            FAIL_CHECK(value << " is outside " << range.low << " to " << range.high);
          }
        }
  }
  CHECK(narrowed > 150);
}

Range range_in(std::string_view text) {
  const auto graph = parse_graph({text, "t", 1});
  REQUIRE_MESSAGE(graph.has_value(), graph.error().message);
  const Stage& stage = graph->stages[0];
  const RangeScope scope([&](int32_t number) { return stage.extent_of(number); },
                         [&](BufferId tensor) {
                           return is_float(graph->tensors[tensor].dtype)
                                      ? Range{-8, 8}
                                      : range_of(graph->tensors[tensor].dtype);
                         });
  return scope.range(stage.values[0]);
}

void check_range(std::string_view right, double low, double high) {
  const Range range =
      range_in("input X: f32[4]\ninput I: i8[4]\noutput Y[i] = " + std::string(right) +
               " + 0 * f32(I[i]) + 0 * X[i]");
  CHECK((range.low == low || range.low == doctest::Approx(low)));
  CHECK((range.high == high || range.high == doctest::Approx(high)));
}

TEST_CASE("ranges of values") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  check_range("X[i] * X[i]", 0, 64);
  check_range("X[i] * X[3 - i]", -64, 64);
  check_range("exp(X[i]) * 0", 0, 0);
  check_range("sqrt(X[i])", 0, std::sqrt(8.0));
  check_range("tanh(X[i])", std::tanh(-8.0), std::tanh(8.0));
  check_range("1 / (X[i] + 9)", 1.0 / 17, 1);
  check_range("1 / X[i]", -kInfinity, kInfinity);
  check_range("log(X[i])", -kInfinity, kInfinity);
  check_range("rsqrt(X[i] + 8)", 0.25, kInfinity);
  check_range("f32(i32(I[i]) * 2 + 1)", -255, 255);
  check_range("f32(I[i] * 2)", -128, 127);  // wraps
  check_range("f32(I[i] & 3)", -128, 127);
  check_range("f32(u8(I[i]) & 3)", 0, 3);
  check_range("f32(u8(I[i]) >> 4)", 0, 15);
  check_range("f32(sat_u8(I[i]))", 0, 127);
  check_range("(if X[i] < 1 then f32(3) else 5)", 3, 5);
  check_range("abs(X[i] - 2)", 0, 10);
}

// -- printing
// ----------------------------------------------------------------------------------------

// A random value over two inputs of each type and the axis.
Expr random_value(Rng& rng, DType dtype, int depth) {
  const auto load = [&](int32_t buffer) { return load_expr(BufferId{buffer}, dtype, {axis(0)}); };
  const int32_t first = dtype == DType::f32 ? 0 : 2;
  if (depth == 0 || rng.chance(0.15)) {
    if (rng.chance(0.6)) return load(first + static_cast<int32_t>(rng.below(2)));
    if (dtype == DType::f32)
      return float_constant(rng.chance(0.1) ? -0.0 : static_cast<double>(rng.between(-99, 99)) / 7,
                            dtype);
    return int_constant(rng.between(-99, 99), dtype);
  }
  const auto sub = [&] { return random_value(rng, dtype, depth - 1); };
  const DType other = dtype == DType::f32 ? DType::i32 : DType::f32;
  switch (rng.below(8)) {
    case 0:
      return cast_expr(Op::cast, dtype, random_value(rng, other, depth - 1));
    case 1: {
      constexpr Op kOrders[] = {Op::lt, Op::le, Op::eq, Op::ne};
      const Expr a = sub(), b = sub(), c = sub();
      const Expr one = binary(kOrders[rng.below(4)], a, b);
      Expr condition = binary(rng.chance(0.7) ? Op::logical_and : Op::logical_or, one,
                              binary(kOrders[rng.below(4)], b, c));
      if (rng.chance(0.3)) condition = unary(Op::logical_not, condition);
      return select_expr(condition, sub(), sub());
    }
    case 2:
      return unary(rng.chance(0.5) ? Op::neg : Op::abs, sub());
    case 3:
      return binary(rng.chance(0.5) ? Op::min : Op::max, sub(), sub());
    default:
      break;
  }
  constexpr Op kBoth[] = {Op::add, Op::sub, Op::mul, Op::div};
  constexpr Op kIntegers[] = {Op::mod, Op::bit_and, Op::bit_or, Op::bit_xor, Op::shl, Op::shr};
  const Op op =
      dtype == DType::f32 || rng.chance(0.5) ? kBoth[rng.below(4)] : kIntegers[rng.below(6)];
  return binary(op, sub(), sub());
}

TEST_CASE("what prints parses to the same expression") {
  constexpr uint64_t kSeed = 4711;
  MESSAGE("seed " << kSeed);
  Rng rng(kSeed);
  int printed = 0;
  for (int round = 0; round < 3000; ++round) {
    Graph graph;
    for (const auto& [name, dtype] : {std::pair{"A", DType::f32}, std::pair{"B", DType::f32},
                                      std::pair{"I", DType::i32}, std::pair{"J", DType::i32}}) {
      GraphTensor tensor;
      tensor.name = name;
      tensor.dtype = dtype;
      tensor.shape = {7};
      tensor.role = TensorRole::input;
      graph.tensors.add(tensor);
    }
    // The second stage uses every input and the axis, so that nothing is unused.
    const auto load = [&](int32_t buffer) {
      return load_expr(BufferId{buffer}, graph.tensors[BufferId{buffer}].dtype, {axis(0)});
    };
    const auto as_float = [](Expr expr) {
      return cast_expr(Op::cast, DType::f32, std::move(expr));
    };
    Expr all = as_float(axis(0));
    for (int32_t i = 0; i < 4; ++i) all = binary(Op::add, all, as_float(load(i)));
    const Expr first = binary(Op::add, load(0), random_value(rng, DType::f32, 5));
    // The sign of a NaN that folding made is not kept.
    bool has_nan = false;
    walk(first, [&](const ExprNode& node) { has_nan |= std::isnan(node.float_value); });
    if (has_nan) continue;
    ++printed;
    for (const Expr& value : {first, all}) {
      GraphTensor tensor;
      tensor.name = graph.stages.empty() ? "Y" : "Z";
      tensor.shape = {7};
      tensor.output = true;
      tensor.stage = static_cast<int>(graph.stages.size());
      Stage stage;
      stage.results = {graph.tensors.add(tensor)};
      stage.axes = {{"i", 7}};
      stage.values = {value};
      graph.stages.push_back(stage);
    }
    const std::string text = print(graph);
    CAPTURE(text);
    const auto again = parse_graph({text, "t", 1});
    REQUIRE_MESSAGE(again.has_value(), again.error().message);
    CHECK(equal(again->stages[0].values[0], first));
    CHECK(print(*again) == text);
  }
  CHECK(printed > 2500);
}

}  // namespace
}  // namespace hone
