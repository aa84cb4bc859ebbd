// SPDX-License-Identifier: Apache-2.0
#include "frontend/tasks.h"

#include <doctest/doctest.h>

namespace hone {
namespace {

Result<Task> task_of(std::string_view text) {
  auto graph = parse_graph({text, "t", 1});
  REQUIRE_MESSAGE(graph.has_value(), graph.error().message);
  return make_task({"w", 1, std::move(*graph)});
}

struct Fills {
  std::vector<int64_t> bounds;  // low, high of each input
  bool exact;
};

Fills fills_of(std::string_view text) {
  const auto task = task_of(text);
  REQUIRE_MESSAGE(task.has_value(), task.error().message);
  Fills fills{{}, task->check.exact};
  for (const InputFill& fill : task->check.fills) {
    fills.bounds.push_back(fill.low);
    fills.bounds.push_back(fill.high);
  }
  return fills;
}

using Bounds = std::vector<int64_t>;

TEST_CASE("fills keep sums of floats exact") {
  // 8 * 8 * 4096 is far below 2^24.
  Fills fills = fills_of("input A: f32[4096]\noutput S[] = sum(k) A[k] * A[k]");
  CHECK(fills.bounds == Bounds{-8, 8});
  CHECK(fills.exact);
  // 64 * 2^20 is above 2^24; 16 * 2^20 is 2^24 itself.
  fills = fills_of("input A: f32[1048576]\noutput S[] = sum(k) A[k] * A[k]");
  CHECK(fills.bounds == Bounds{-4, 4});
  CHECK(fills.exact);
  // f16: 2^11. 4 * 500 fits, 16 * 500 does not.
  fills = fills_of("input A: f16[500]\noutput S[] = sum(k) A[k] * A[k]");
  CHECK(fills.bounds == Bounds{-2, 2});
  CHECK(fills.exact);
  // bf16: 2^8. 256 ones fit, 257 do not.
  fills = fills_of("input A: bf16[256]\noutput S[] = sum(k) A[k] * A[k]");
  CHECK(fills.bounds == Bounds{-1, 1});
  CHECK(fills.exact);
  fills = fills_of("input A: bf16[257]\noutput S[] = sum(k) A[k] * A[k]");
  CHECK(!fills.exact);
  // In f32 they do.
  fills = fills_of("input A: bf16[257]\noutput S[] = sum(k) f32(A[k]) * f32(A[k])");
  CHECK(fills.bounds == Bounds{-8, 8});
  CHECK(fills.exact);
}

TEST_CASE("integers wrap and have no limit, but for what floats make of them") {
  Fills fills =
      fills_of("input A: i8[99]\ninput B: u8[99]\noutput S[] = sum(k) i32(A[k]) * i32(B[k])");
  CHECK(fills.bounds == Bounds{-128, 127, 0, 255});
  CHECK(fills.exact);
  fills = fills_of("input A: i8[99]\noutput S[] = sum(k) A[k] * A[k]");
  CHECK(fills.bounds == Bounds{-128, 127});
  CHECK(fills.exact);
  fills = fills_of("input A: i32[4]\noutput Y[i] = f32(A[i]) * f32(A[i])");
  CHECK(fills.bounds == Bounds{-127, 127});
  CHECK(fills.exact);
  fills = fills_of("input M: b1[4]\ninput A: i32[4]\noutput Y[i] = if M[i] then A[i] else 0");
  CHECK(fills.bounds == Bounds{0, 1, -1048576, 1048576});
  CHECK(fills.exact);
}

TEST_CASE("which answers are exact") {
  const auto exact = [](const std::string& right) {
    return fills_of("input X: f32[4]\ninput I: i32[4]\noutput Y[i] = " + right +
                    " + 0 * f32(I[i]) + 0 * X[i]")
        .exact;
  };
  CHECK(exact("X[i] * 3"));
  CHECK(exact("max(X[i], -X[i])"));
  CHECK(exact("abs(X[i]) - floor(X[i])"));
  CHECK(exact("(if X[i] < 2 then X[i] else 1)"));
  CHECK(exact("f32(f16(X[i]))"));
  CHECK(exact("f32(i8(X[i]))"));
  CHECK(exact("f32(sat_i8(I[i]))"));
  CHECK(exact("f32(I[i] // 3 % 7)"));
  CHECK(!exact("X[i] * 0.5"));
  CHECK(!exact("X[i] / 2"));
  CHECK(!exact("exp(X[i])"));
  CHECK(!exact("sqrt(X[i])"));
  CHECK(!exact("pow(X[i], 2)"));
  CHECK(!exact("X[i] * 1000000 * 1000000"));
  CHECK(!exact("f32(u8(X[i]))"));  // negative values have no u8
  CHECK(fills_of("input X: f32[4]\noutput (m, i)[] = argmax(k) (X[k], k)").exact);
  CHECK(fills_of("input X: f32[4]\noutput a[] = fold(k) from f32(-inf) to max(a, X[k])").exact);
  CHECK(!fills_of("input X: f32[4]\noutput a[] = fold(k) from f32(0) to a + X[k]").exact);
}

TEST_CASE("tolerances follow type and length") {
  const auto tolerance = [](std::string_view text) { return task_of(text)->check.tolerance; };
  const Tolerance one = tolerance("input X: f32[4]\noutput Y[i] = exp(X[i])");
  CHECK(one.relative == doctest::Approx(20 * 0x1p-23));
  CHECK(one.absolute == 0);
  const Tolerance longer =
      tolerance("input X: f32[10000]\nE[i] = exp(X[i])\noutput S[] = sum(i) E[i]");
  CHECK(longer.relative == doctest::Approx(416 * 0x1p-23));
  CHECK(longer.of_largest == doctest::Approx(29 * 0x1p-23));
  CHECK(tolerance("input X: f16[4]\noutput Y[i] = exp(X[i])").relative ==
        doctest::Approx(20 * 0x1p-10));
  CHECK(tolerance("input X: f32[4]\noutput Y[i] = sat_i8(round(X[i] * 0.3))").absolute == 1);
}

TEST_CASE("indices from data stay in their table") {
  CHECK(
      fills_of("param E: f32[100, 8]\ninput idx: i32[5]\noutput Y[i, j:8] = E[idx[i], j]").bounds ==
      Bounds{-8, 8, 0, 99});
  CHECK(fills_of("param E: f32[100]\ninput idx: i8[5]\noutput Y[i] = E[i32(idx[i]) * 2 + 1]")
            .bounds == Bounds{-8, 8, 0, 49});
  CHECK(fills_of("param E: f32[1000]\ninput idx: u8[5]\noutput Y[i] = E[idx[i]]").bounds ==
        Bounds{-8, 8, 0, 255});
  // Two tables, and an index that is computed first.
  CHECK(fills_of("param E: f32[10]\nparam F: f32[7]\ninput a: i32[5]\nk[i:5] = a[i] // 2\n"
                 "output Y[i:5] = E[k[i]] + F[a[i]]")
            .bounds == Bounds{-8, 8, -8, 8, 0, 6});
  // Guarded and clamped reads take any value.
  CHECK(fills_of("param E: f32[10]\ninput a: i8[5]\noutput Y[i:5] = if 0 <= a[i] < 10 then E[a[i]] "
                 "else E[min(max(a[i], 0), 9)]")
            .bounds == Bounds{-8, 8, -128, 127});
  const auto stray = task_of("param E: f32[10]\ninput a: i32[5]\noutput Y[i] = E[a[i] + 10]");
  REQUIRE(!stray.has_value());
  CHECK(
      stray.error().message ==
      "w: an index of 'E' that is computed from data can be out of range: guard the read with 'if' "
      "or clamp it with min and max");
}

TEST_CASE("an index from argmax is in range by itself") {
  CHECK(task_of("input X: f32[9]\nparam E: f32[9]\n(m, at)[] = argmax(k:9) (X[k], k)\n"
                "output Y[] = E[at[]] + m[]")
            .has_value());
}

OperationCount count(std::string_view text) { return task_of(text)->operations; }

TEST_CASE("useful operations leave out what padding makes zero") {
  const OperationCount plain = count(
      "input A: f32[7, 5]\ninput B: f32[5, 3]\noutput C[i:7, j:3] = sum(k:5) A[i, k] * B[k, j]");
  CHECK(plain.nominal == 2 * 7 * 5 * 3);
  CHECK(plain.useful == plain.nominal);

  // Rows 0..4 of a window of 3: 2 + 3 + 3 + 3 + 2 taps inside.
  const OperationCount padded = count(R"(
input X: f32[5]
param W: f32[3]
P[y:7] = if 1 <= y < 6 then X[y - 1] else 0
output C[y:5] = sum(r:3) P[y + r] * W[r])");
  CHECK(padded.nominal == 2 * 15);
  CHECK(padded.useful == 2 * 13);

  const OperationCount inlined = count(R"(
input X: i8[5]
param W: i8[3]
output C[y:5] = sum(r:3) i32(if 1 <= y + r < 6 then X[y + r - 1] else 0) * i32(W[r]))");
  CHECK(inlined.nominal == 2 * 15);
  CHECK(inlined.useful == 2 * 13);

  // Stride 2 of a transposed convolution: half of the taps, less the border.
  const OperationCount dilated = count(R"(
input X: f32[4]
param W: f32[4]
P[y:11] = if (y - 2) % 2 == 0 && 0 <= (y - 2) // 2 < 4 then X[(y - 2) // 2] else 0
output C[y:8] = sum(r:4) P[y + r] * W[3 - r])");
  CHECK(dilated.nominal == 2 * 32);
  int taps = 0;
  for (int y = 0; y < 8; ++y)
    for (int r = 0; r < 4; ++r) taps += y + r >= 2 && (y + r) % 2 == 0 && (y + r - 2) / 2 < 4;
  CHECK(dilated.useful == 2 * taps);

  // The padding of a maximum is not zero: nothing is left out.
  const OperationCount most = count(R"(
input X: f32[5]
P[y:7] = if 1 <= y < 6 then X[y - 1] else -inf
output C[y:5] = max(r:3) P[y + r])");
  CHECK(most.nominal == 15);
  CHECK(most.useful == 15);
}

}  // namespace
}  // namespace hone
