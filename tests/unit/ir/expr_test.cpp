// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "ir/expr.h"
#include "ir/expr_text.h"

namespace hone {
namespace {

TEST_CASE("integers wrap, divide towards minus infinity, and shift modulo the width") {
  CHECK(fold_int(Op::add, DType::i8, 127, 1) == -128);
  CHECK(fold_int(Op::mul, DType::u8, 200, 2) == 144);
  CHECK(fold_int(Op::sub, DType::i64, INT64_MIN, 1) == INT64_MAX);
  CHECK(fold_int(Op::neg, DType::i16, -32768, 0) == -32768);
  CHECK(fold_int(Op::abs, DType::i32, INT32_MIN, 0) == INT32_MIN);
  CHECK(fold_int(Op::div, DType::i32, -7, 2) == -4);
  CHECK(fold_int(Op::div, DType::i32, 7, -2) == -4);
  CHECK(fold_int(Op::div, DType::i64, INT64_MIN, -1) == INT64_MIN);
  CHECK(fold_int(Op::div, DType::i32, 5, 0) == 0);
  CHECK(fold_int(Op::mod, DType::i32, -7, 2) == 1);
  CHECK(fold_int(Op::mod, DType::i32, 7, -2) == -1);
  CHECK(fold_int(Op::mod, DType::i32, 7, 0) == 0);
  CHECK(fold_int(Op::shl, DType::i8, 1, 9) == 2);
  CHECK(fold_int(Op::shr, DType::i8, -128, 3) == -16);
  CHECK(fold_int(Op::shr, DType::u8, 128, 3) == 16);
  CHECK(fold_int(Op::shl, DType::i32, 1, -1) == INT32_MIN);
  CHECK(fold_int(Op::bit_xor, DType::u8, 0xf0, 0xff) == 0x0f);
}

TEST_CASE("floats round to their type, min and max pass over NaN") {
  CHECK(fold_float(Op::add, DType::f32, 16777216, 1) == 16777216);
  CHECK(fold_float(Op::add, DType::f16, 2048, 1) == 2048);
  CHECK(fold_float(Op::mul, DType::f16, 300, 300) == INFINITY);
  CHECK(fold_float(Op::add, DType::bf16, 256, 1) == 256);
  CHECK(fold_float(Op::div, DType::f32, 1, 0) == INFINITY);
  CHECK(fold_float(Op::mod, DType::f64, -7.5, 2) == 0.5);
  CHECK(fold_float(Op::round, DType::f32, 2.5, 0) == 2);
  CHECK(fold_float(Op::max, DType::f32, NAN, 3) == 3);
  CHECK(fold_float(Op::min, DType::f32, 3, NAN) == 3);
  CHECK(std::isnan(fold_float(Op::sqrt, DType::f32, -1, 0)));
  // 1 + 2^-24 is lost by a rounded product, kept by an fma.
  const double a = 1 + 0x1p-12;
  CHECK(fold_fma(DType::f32, a, a, -1) == 0x1p-11 + 0x1p-24);
  CHECK(fold_compare(Op::lt, DType::f32, 0, 0, NAN, 1) == false);
  CHECK(fold_compare(Op::ne, DType::f32, 0, 0, NAN, NAN) == true);
  CHECK(fold_compare(Op::le, DType::i32, -1, -1, 0, 0) == true);
}

TEST_CASE("casts wrap, truncate, clamp and reinterpret") {
  const auto to_int = [](Op op, DType to, DType from, int64_t i, double f) {
    return fold_cast(op, to, from, {i, f}).as_int;
  };
  CHECK(to_int(Op::cast, DType::i8, DType::i32, 300, 0) == 44);
  CHECK(to_int(Op::cast, DType::i32, DType::f32, 0, -2.9) == -2);
  CHECK(to_int(Op::cast, DType::b1, DType::f32, 0, 0.5) == 1);
  CHECK(to_int(Op::saturate, DType::i8, DType::i32, 300, 0) == 127);
  CHECK(to_int(Op::saturate, DType::u8, DType::i32, -5, 0) == 0);
  CHECK(to_int(Op::saturate, DType::i8, DType::f32, 0, -1e30) == -128);
  CHECK(to_int(Op::saturate, DType::i8, DType::f32, 0, NAN) == 0);
  CHECK(to_int(Op::bitcast, DType::i32, DType::f32, 0, 1.0) == 0x3f800000);
  CHECK(to_int(Op::bitcast, DType::i16, DType::bf16, 0, -2.0) == static_cast<int16_t>(0xc000));
  CHECK(fold_cast(Op::cast, DType::f32, DType::i64, {(int64_t{1} << 24) + 1, 0}).as_float ==
        16777216);
  CHECK(fold_cast(Op::bitcast, DType::f16, DType::i16, {0x3c00, 0}).as_float == 1);
}

TEST_CASE("makers fold constants and the stated identities, and nothing more") {
  const Expr x = axis_expr(0);
  CHECK(equal(binary(Op::add, x, index_constant(0)), x));
  CHECK(equal(binary(Op::add, index_constant(0), x), x));
  CHECK(equal(binary(Op::mul, index_constant(1), x), x));
  CHECK(is_constant(binary(Op::mul, x, index_constant(0)), 0));
  CHECK(is_constant(binary(Op::mul, index_constant(6), index_constant(7)), 42));
  CHECK(binary(Op::sub, x, x)->op == Op::sub);
  CHECK(is_constant(binary(Op::lt, index_constant(1), index_constant(2)), 1));
  const Expr f = load_expr(BufferId{0}, DType::f32, {x});
  CHECK(binary(Op::add, f, float_constant(0, DType::f32))->op == Op::add);
  CHECK(binary(Op::mul, f, float_constant(0, DType::f32))->op == Op::mul);
  const Expr yes = int_constant(1, DType::b1);
  CHECK(select_expr(yes, f, float_constant(1, DType::f32)) == f);
  CHECK(cast_expr(Op::cast, DType::f32, f) == f);
  CHECK(float_constant(0.1, DType::f32)->float_value == static_cast<double>(0.1F));
}

TEST_CASE("rewriting keeps what does not change and folds what does") {
  const Expr x = axis_expr(0);
  const Expr y = axis_expr(1);
  const Expr sum = binary(Op::add, binary(Op::mul, x, index_constant(3)), y);
  CHECK(rewrite(sum, [](const Expr& e) { return e; }) == sum);
  const std::vector<Expr> values = {index_constant(5), index_constant(2)};
  CHECK(is_constant(substitute_axes(sum, values), 17));
  const std::vector<Expr> swapped = {y, x};
  const Expr other = substitute_axes(sum, swapped);
  CHECK_FALSE(equal(other, sum));
  CHECK(hash_of(other) != hash_of(sum));
  CHECK(equal(substitute_axes(other, swapped), sum));
  CHECK(hash_of(substitute_axes(other, swapped)) == hash_of(sum));
  int nodes = 0;
  walk(sum, [&](const ExprNode&) { ++nodes; });
  CHECK(nodes == 5);
}

// -- text
// ------------------------------------------------------------------------------------------

struct World {
  ExprNames names;
  ExprSymbols symbols;
};

const World& world() {
  static const World kWorld = [] {
    static const std::vector<std::string> axes = {"i", "j", "k"};
    struct Named {
      std::string name;
      DType dtype;
    };
    static const std::vector<Named> buffers = {
        {"F", DType::f32}, {"H", DType::f16}, {"I", DType::i32}, {"Q", DType::i8},
        {"B", DType::b1},  {"D", DType::f64}, {"U", DType::u8}};
    World w;
    w.names.axis = [](int32_t i) { return axes[static_cast<size_t>(i)]; };
    w.names.buffer = [](BufferId b) { return buffers[static_cast<size_t>(b.value)].name; };
    w.symbols.value = [](std::string_view name) -> Expr {
      for (size_t i = 0; i < axes.size(); ++i)
        if (axes[i] == name) return axis_expr(static_cast<int32_t>(i));
      return nullptr;
    };
    w.symbols.buffer = [](std::string_view name) -> std::optional<BufferSymbol> {
      for (size_t i = 0; i < buffers.size(); ++i)
        if (buffers[i].name == name)
          return BufferSymbol{BufferId{static_cast<int32_t>(i)}, buffers[i].dtype, std::nullopt};
      return std::nullopt;
    };
    w.symbols.all_names = [] { return axes; };
    return w;
  }();
  return kWorld;
}

Result<Expr> parsed(std::string_view text, std::optional<DType> wanted) {
  TextCursor cursor(text, "t");
  const Expr expr = TRY(parse_expr(cursor, world().symbols, wanted));
  if (!cursor.at_end()) return cursor.expected("the end");
  return expr;
}

std::string again(std::string_view text, std::optional<DType> wanted) {
  const auto expr = parsed(text, wanted);
  return expr ? print(*expr, world().names, wanted) : expr.error().message;
}

TEST_CASE("expressions print as written: precedence, calls, casts, types of constants") {
  for (const std::string_view text : {"F[i] + F[j] * F[k]",
                                      "(F[i] + F[j]) * F[k]",
                                      "F[i] - (F[j] - F[k])",
                                      "F[i] - F[j] - F[k]",
                                      "max(F[i*2+1], 0.0)",
                                      "F[(i+1)*2]",
                                      "F[i,j/3,k%4]",
                                      "select(1 <= i && i < 57, F[i-1], 0.0)",
                                      "exp(F[i] - 1.5e-10)",
                                      "f32(I[i] + 1)",
                                      "f32(saturate_i8(I[i] >> 3))",
                                      "f32(select(B[i], 1:i32, 2:i32))",
                                      "bitcast_f32(I[i])",
                                      "fma(F[i], F[j], 1.0)",
                                      "neg(F[i])",
                                      "F[i] + -1.0",
                                      "F[i] - -1.0",
                                      "F[i] * inf",
                                      "max(F[i], -inf)",
                                      "F[I[i]+1]",
                                      "F[I[i],2]",
                                      "F[]",
                                      "nan",
                                      "-0.0",
                                      "0.1",
                                      "select(not(B[i]) || true, 1.0, F[i])",
                                      "f32(select(1:i64 < i, 1:f16, 2:f16))",
                                      "broadcast(F[i], 8) + F[i : 8]",
                                      "F[ramp(i,2,4) : 4]",
                                      "F[i : 4, ramp(i,1,4)<broadcast(j,4)]",
                                      "reduce_add(F[i : 8])",
                                      "extract(F[i : 8], 3)",
                                      "floor(F[i] % 2.0)",
                                      "pow(F[i], 3.0)",
                                      "F[i] / 3.0"}) {
    // The bare constant of a comparison follows from the other side.
    const std::string wanted(text == "f32(select(1:i64 < i, 1:f16, 2:f16))"
                                 ? "f32(select(1 < i, 1.0:f16, 2.0:f16))"
                                 : text);
    CHECK(again(text, DType::f32) == wanted);
    CHECK(again(wanted, DType::f32) == wanted);
  }
}

TEST_CASE("constants keep their type and value, whatever the place wants") {
  const Expr constants[] = {int_constant(-5, DType::i8),
                            int_constant(1, DType::b1),
                            index_constant(INT64_MIN),
                            int_constant(200, DType::u8),
                            float_constant(0.1, DType::f32),
                            float_constant(0.1, DType::f64),
                            float_constant(0.1, DType::f16),
                            float_constant(0.1, DType::bf16),
                            float_constant(3, DType::f64),
                            float_constant(1e300, DType::f64),
                            float_constant(-0.0, DType::f32),
                            float_constant(INFINITY, DType::f16),
                            float_constant(NAN, DType::f32),
                            float_constant(16777217, DType::f64),
                            float_constant(std::numeric_limits<float>::denorm_min(), DType::f32),
                            float_constant(0x1.fffffep127, DType::f32)};
  for (const Expr& constant : constants)
    for (const std::optional<DType> wanted :
         {std::optional<DType>(), std::optional(DType::i64), std::optional(DType::f32),
          std::optional(constant->dtype)}) {
      const std::string text = print(constant, world().names, wanted);
      const auto back = parsed(text, wanted);
      REQUIRE_MESSAGE(back, text << ": " << (back ? "" : back.error().message));
      CHECK_MESSAGE(equal(*back, constant), text);
    }
}

TEST_CASE("gt and ge are lt and le with operands exchanged") {
  CHECK(again("i > j", DType::b1) == "j < i");
  CHECK(again("F[i] >= 2", DType::b1) == "2.0 <= F[i]");
}

TEST_CASE("errors in expressions name the place and the types") {
  CHECK(
      again("1 + 2", std::nullopt) ==
      "t:1:1: the type of this constant does not follow from what stands around it; write it like "
      "'1:i32'");
  CHECK(again("F[i] + H[i]", DType::f32) == "t:1:6: the operands of '+' are f32 and f16");
  CHECK(again("Q[i] + 300", DType::i8) == "t:1:8: 300 does not fit i8");
  CHECK(again("Q[i] + 1.0", DType::i8) == "t:1:8: expected a constant of type i8, found a float");
  CHECK(again("F[i] << 1", DType::f32) == "t:1:6: '<<' does not take f32");
  CHECK(again("exp(I[i])", DType::f32) == "t:1:1: 'exp' does not take i32");
  CHECK(again("select(i, F[i], F[j])", DType::f32) ==
        "t:1:1: expected a condition of b1, found i64");
  CHECK(again("F[F[i]]", DType::f32) == "t:1:3: expected an integer index, found f32");
  CHECK(again("bitcast_f32(Q[i])", DType::f32) == "t:1:1: no bitcast from i8 to f32");
  CHECK(again("max(F[i])", DType::f32) == "t:1:9: expected ',', found ')'");
  CHECK(again("F[i]:f32", DType::f32) == "t:1:5: expected the end, found ':'");
  CHECK(again("1:f33", DType::f32) == "t:1:3: expected a type, found 'f33'");
  CHECK(again("l", DType::i64) == "t:1:1: unknown name 'l', did you mean 'i'?");
}

}  // namespace
}  // namespace hone
