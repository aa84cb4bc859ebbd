// SPDX-License-Identifier: Apache-2.0
#include "frontend/builder.h"

#include <doctest/doctest.h>

#include <fmt/format.h>

namespace hone {
namespace {

using namespace hone::build;

std::string text_of(const GraphBuilder& builder) {
  const auto graph = builder.finish();
  REQUIRE_MESSAGE(graph.has_value(), graph.error().message);
  return print(*graph);
}

std::string error_of(const GraphBuilder& builder) {
  const auto graph = builder.finish();
  return graph ? "no error" : graph.error().message;
}

// "…/builder_test.cpp:LINE:COLUMN: message" without folder and column, which belong to the
// compiler.
std::string without_place(const std::string& message, int line) {
  const std::string place = fmt::format("builder_test.cpp:{}:", line);
  const size_t found = message.find(place);
  if (found == std::string::npos) return message;
  return message.substr(message.find(": ", found + place.size()) + 2);
}

TEST_CASE("the builder makes what the text makes") {
  GraphBuilder b;
  const TensorName X = b.input("X", DType::f32, {1, 56, 56, 64});
  const TensorName W = b.param("W", DType::f32, {3, 3, 64, 64});
  const TensorName bias = b.param("b", DType::f32, {64});
  const AxisName n("n"), y("y"), x("x"), c("c"), k("k"), ry("ry"), rx("rx");
  const TensorName P =
      b.stage("P", {n.of(1), y.of(58), x.of(58), c.of(64)},
              when(1 <= y && y < 57 && (1 <= x && x < 57), X(n, y - 1, x - 1, c), 0));
  const TensorName C = b.stage("C", {n.of(1), y.of(56), x.of(56), k.of(64)},
                               reduce(Reducer::sum, {ry.of(3), rx.of(3), c.of(64)},
                                      P(n, y + ry, x + rx, c) * W(ry, rx, c, k)));
  b.output("R", {n, y, x, k}, max(C(n, y, x, k) + bias(k), 0));

  const auto same = parse_graph({R"(
input X: f32[1, 56, 56, 64]
param W: f32[3, 3, 64, 64]
param b: f32[64]
P[n:1, y:58, x:58, c:64]  = if 1 <= y < 57 && 1 <= x < 57 then X[n, y-1, x-1, c] else 0
C[n:1, y:56, x:56, k:64]  = sum(ry:3, rx:3, c:64) P[n, y+ry, x+rx, c] * W[ry, rx, c, k]
output R[n, y, x, k]      = max(C[n, y, x, k] + b[k], 0)
)",
                                 "t", 1});
  REQUIRE(same.has_value());
  CHECK(text_of(b) == print(*same));
  CHECK(hash_of(*b.finish()) == hash_of(*same));
}

TEST_CASE("every operator of the builder") {
  GraphBuilder b;
  const TensorName A = b.input("A", DType::i32, {4});
  const TensorName F = b.input("F", DType::f32, {4});
  const AxisName i("i");
  b.output("Y", {i},
           ((A(i) + 1) * 2 - A(i) % 3) ^ ((A(i) << 1 | A(i) >> 2) & floor_divide(A(i), 3)));
  b.output("Z", {i}, when(!(F(i) > 1.5 || F(i) >= i + 1), -F(i) / 2, call("exp", {F(i)})));
  CHECK(error_of(b).ends_with("the operands of '>=' are f32 and i64: write 'f32(i + 1)'"));

  GraphBuilder good;
  const TensorName B = good.input("A", DType::i32, {4});
  const TensorName G = good.input("F", DType::f32, {4});
  good.output("Y", {i},
              ((B(i) + 1) * 2 - B(i) % 3) ^ ((B(i) << 1 | B(i) >> 2) & floor_divide(B(i), 3)));
  good.output("Z", {i},
              when(!(G(i) > 1.5 || G(i) >= cast(DType::f32, i)) && i != 2 && i == i,
                   min(-G(i) / 2, 7), call("exp", {G(i)})));
  good.output("Q", {i}, saturate(DType::i8, B(i)));
  CHECK(text_of(good) == R"(input A: i32[4]
input F: f32[4]
output Y[i:4] = (A[i] + 1) * 2 - A[i] % 3 ^ (A[i] << 1 | A[i] >> 2) & A[i] // 3
output Z[i:4] = if !(1.5 < F[i] || f32(i) <= F[i]) && i != 2 && i == i then min(-F[i] / 2, 7) else exp(F[i])
output Q[i:4] = sat_i8(A[i])
)");
}

TEST_CASE("tuples and folds of the builder") {
  GraphBuilder b;
  const TensorName X = b.input("X", DType::f32, {4, 10});
  const AxisName n("n"), k("k");
  b.tuple({"m", "at"}, {n.of(4)}, reduce_pair(Reducer::argmax, {k.of(10)}, X(n, k), k), true);
  const TensorName low("low"), high("high");
  b.tuple({"low", "high"}, {n.of(4)},
          fold({k.of(10)}, {call("f32", {Value(0)}), call("f32", {Value(0)})},
               {min(low.so_far(), X(n, k)), max(high.so_far(), X(n, k))}),
          true);
  CHECK(text_of(b) == R"(input X: f32[4, 10]
output (m, at)[n:4] = argmax(k:10) (X[n, k], k)
output (low, high)[n:4] = fold(k:10) from (f32(0), f32(0)) to (min(low, X[n, k]), max(high, X[n, k]))
)");
}

TEST_CASE("errors of the builder stand at the C++ statement") {
  const AxisName i("i"), j("j");
  GraphBuilder range;
  const TensorName X = range.input("X", DType::f32, {4});
  const int line = __LINE__ + 1;
  range.output("Y", {i.of(4)}, X(i - 1));
  CHECK(without_place(error_of(range), line) ==
        "index 1 of 'X' (i - 1) runs over -1 to 2, outside 0 to 3: guard it with 'if' or change an "
        "extent");

  struct Case {
    const char* expected;
    void (*build)(GraphBuilder&);
  };
  const Case cases[] = {
      {"expected a computation, found no statement", [](GraphBuilder&) {}},
      {"expected a name, found '3x', which is not a word",
       [](GraphBuilder& b) { b.input("3x", DType::f32, {4}); }},
      {"expected a name, found 'if', which is a word of the language",
       [](GraphBuilder& b) { b.input("if", DType::f32, {4}); }},
      {"expected a name, found 'a b', which is not a word",
       [](GraphBuilder& b) {
         const TensorName X = b.input("X", DType::f32, {4});
         b.output("Y", {AxisName("a b")}, X(AxisName("a b")));
       }},
      {"an extent must be positive, found 0",
       [](GraphBuilder& b) { b.input("X", DType::f32, {0}); }},
      {"expected a tensor, found the unknown name 'Image'",
       [](GraphBuilder& b) { b.output("Y", {AxisName("i").of(4)}, TensorName("Image")(0)); }},
      {"'sum' needs an axis to reduce",
       [](GraphBuilder& b) {
         const TensorName X = b.input("X", DType::f32, {4});
         b.output("Y", {}, reduce(Reducer::sum, {}, X(0)));
       }},
      {"expected a function, found 'fourier'",
       [](GraphBuilder& b) {
         const TensorName X = b.input("X", DType::f32, {4});
         b.output("Y", {AxisName("i")}, call("fourier", {X(AxisName("i"))}));
       }},
      {"the operands of '*' are i8 and i32: write 'i32(A[i])'",
       [](GraphBuilder& b) {
         const AxisName i("i");
         const TensorName A = b.input("A", DType::i8, {4});
         const TensorName B = b.input("B", DType::i32, {4});
         b.output("Y", {i}, A(i) * B(i));
       }},
      {"the expression nests deeper than 200 levels",
       [](GraphBuilder& b) {
         const AxisName i("i");
         const TensorName A = b.input("A", DType::i8, {4});
         Value sum = A(i);
         for (int n = 0; n < 300; ++n) sum = sum + 1;
         b.output("Y", {i}, sum);
       }},
      {"the input 'X' is never read",
       [](GraphBuilder& b) {
         b.input("X", DType::f32, {4});
         const TensorName A = b.input("A", DType::f32, {4});
         b.output("Y", {AxisName("i")}, A(AxisName("i")));
       }},
  };
  for (const Case& one : cases) {
    GraphBuilder b;
    one.build(b);
    const std::string message = error_of(b);
    CHECK_MESSAGE(message.ends_with(std::string(": ") + one.expected), message);
  }
}

}  // namespace
}  // namespace hone
