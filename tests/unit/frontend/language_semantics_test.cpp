// SPDX-License-Identifier: Apache-2.0
//
// What texts of the language compute: their Programs, run naively.
#include <doctest/doctest.h>

#include "reference.h"

namespace hone {
namespace {

// -----------------------------------------------------------------------------

Arrays run_text(std::string_view text, const Arrays& inputs) {
  const auto graph = parse_graph({text, "t", 1});
  REQUIRE_MESSAGE(graph.has_value(), graph.error().message);
  return run_naively(*graph, inputs);
}

Array vector_of(std::vector<double> values) {
  Array array({static_cast<int64_t>(values.size())});
  array.data = std::move(values);
  return array;
}

TEST_CASE("argmax and argmin take the lowest index of equal values") {
  const Arrays inputs = {{"X", vector_of({3, 7, -1, 7, -1, 5})}};
  const Arrays got = run_text(
      "input X: f32[6]\noutput (m, i)[] = argmax(k) (X[k], k)\noutput (n, j)[] = argmin(k) (X[k], "
      "i32(k))",
      inputs);
  CHECK(got.at("m").data[0] == 7);
  CHECK(got.at("i").data[0] == 1);
  CHECK(got.at("n").data[0] == -1);
  CHECK(got.at("j").data[0] == 2);
  // Also when the index runs backwards, and when every value is the one it starts from.
  const Arrays back = run_text(
      "input X: f32[6]\ninput U: u8[3]\noutput (m, i)[] = argmax(k:6) (X[5 - k], 5 - k)\n"
      "output (n, j)[] = argmax(k) (U[k], k)",
      {{"X", inputs.at("X")}, {"U", vector_of({0, 0, 0})}});
  CHECK(back.at("i").data[0] == 1);
  CHECK(back.at("n").data[0] == 0);
  CHECK(back.at("j").data[0] == 0);
}

TEST_CASE("reducers") {
  const Arrays got =
      run_text(R"(
input X: f32[4]
input I: i8[4]
output s[] = sum(k) X[k]
output p[] = prod(k) X[k]
output a[] = max(k:4) X[k]
output b[] = min(k:4) X[k]
output w[] = sum(k) I[k]
output c[] = max(k:4) I[k]
output d[] = min(k:4) I[k]
output (first, second)[] = fold(k:4) from (f32(-inf), f32(-inf))
  to (max(first, X[k]), max(second, min(first, X[k])))
)",
               {{"X", vector_of({-3, 2, -5, 4})}, {"I", vector_of({100, 100, -7, 3})}});
  CHECK(got.at("s").data[0] == -2);
  CHECK(got.at("p").data[0] == 120);
  CHECK(got.at("a").data[0] == 4);
  CHECK(got.at("b").data[0] == -5);
  CHECK(got.at("w").data[0] == 196 - 256);  // wraps
  CHECK(got.at("c").data[0] == 100);
  CHECK(got.at("d").data[0] == -7);
  CHECK(got.at("first").data[0] == 4);
  CHECK(got.at("second").data[0] == 2);
}

TEST_CASE("integers: floor division, shifts, saturation, bits") {
  const Arrays got = run_text(R"(
input A: i32[4]
output q[i:4] = A[i] // 3
output r[i:4] = A[i] % 3
output h[i:4] = A[i] >> 1
output l[i:4] = A[i] << 2
output s[i:4] = sat_u8(A[i] * 40)
output x[i:4] = (A[i] & 6) ^ (A[i] | 1)
output f[i:4] = bits_f32(1065353216 + 0 * A[i])
output c[i:4] = if -7 <= A[i] < 7 && A[i] != 0 || i == 3 then A[i] else -1
)",
                              {{"A", vector_of({-7, 0, 5, 8})}});
  CHECK(got.at("q").data == std::vector<double>{-3, 0, 1, 2});
  CHECK(got.at("r").data == std::vector<double>{2, 0, 2, 2});
  CHECK(got.at("h").data == std::vector<double>{-4, 0, 2, 4});
  CHECK(got.at("l").data == std::vector<double>{-28, 0, 20, 32});
  CHECK(got.at("s").data == std::vector<double>{0, 0, 200, 255});
  CHECK(got.at("x").data == std::vector<double>{(-7 & 6) ^ (-7 | 1), 1, 4 ^ 5, 0 ^ 9});
  CHECK(got.at("f").data == std::vector<double>{1, 1, 1, 1});
  CHECK(got.at("c").data == std::vector<double>{-7, -1, 5, 8});
}

TEST_CASE("operators bind as documented") {
  const Arrays got = run_text(R"(
input A: i32[1]
output a[i:1] = A[i] - 1 - 2 * 3 % 4
output b[i:1] = A[i] | 1 ^ 3 & 2 << 1 + 0 * A[i]
output c[i:1] = -A[i] * 2
output d[i:1] = if !(A[i] < 3) && A[i] == 10 || A[i] < 0 && 1 < A[i] then 1 else A[i]
output e[i:1] = A[i] // 4 * 4 + A[i] % 4
output f[i:1] = if A[i] < 3 then 1 else if A[i] < 30 then A[i] + if A[i] == 9 then 0 else 5 else 3
)",
                              {{"A", vector_of({10})}});
  CHECK(got.at("a").data[0] == 10 - 1 - 2);
  CHECK(got.at("b").data[0] == (10 | (1 ^ (3 & (2 << 1)))));
  CHECK(got.at("c").data[0] == -20);
  CHECK(got.at("d").data[0] == 1);
  CHECK(got.at("e").data[0] == 10);
  CHECK(got.at("f").data[0] == 15);
}

}  // namespace
}  // namespace hone
