// SPDX-License-Identifier: Apache-2.0
//
// The textbook way for each: reduce the argument, evaluate a series or a fitted polynomial, scale
// back. Every line works on all lanes at once and takes no branch: special cases are picked at the
// end. Constants of the exponential and the logarithm are those of their Taylor series; those of
// erf are Chebyshev interpolations of erf(x)/x over x², and of exp(x²)erfc(x) over 1/(x+2).
#include "codegen/math.h"

#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "base/result.h"

namespace hone {
namespace {

constexpr std::array kErfNear32 = {1.128379165848350946,     -0.3761262666672033102,
                                   0.1128359471516021773,    -0.02685421201062641244,
                                   0.005189087423433973986,  -0.0008016864287165869529,
                                   0.00007875875062685488341};
constexpr std::array kErfNear64 = {
    1.128379167095512567,     -0.3761263890318354044,     0.1128379167094500627,
    -0.02686617064323777036,  0.005223977607116422732,    -0.0008548325975389692081,
    0.0001205529490483970792, -0.00001492473690741966034, 1.644742470331736241e-6,
    -1.62084838018717059e-7,  1.37200645467776856e-8,     -7.795898827002142242e-10};
constexpr std::array kErfFar32 = {0.2553956762519033542,     0.1423952825381143403,
                                  0.02685091234341382811,    0.002925130491575314515,
                                  0.00004607581915188900916, -0.00002878541322469118338,
                                  -1.147585697734713009e-6,  4.317145103279714555e-7};
constexpr double kErfScale32 = 12.0;
constexpr double kErfShift32 = -3.0;
constexpr std::array kErfFar64 = {
    0.2214295402299318063,     0.1618935680410249446,     0.03856057042518242513,
    0.005588816281841402708,   0.0001971391777279588438,  -0.00008079220428796629955,
    -7.340517938287998311e-6,  1.979561975927600197e-6,   1.63499373834058035e-7,
    -7.005371793736791304e-8,  -5.886053299221601476e-10, 2.625007492297142979e-9,
    -2.686985183485579784e-10, -7.46871181805068482e-11,  2.213573661493375188e-11,
    4.775776110782187854e-13,  -9.36945603286959368e-13};
constexpr double kErfScale64 = 9.6;
constexpr double kErfShift64 = -2.2;

// Expressions over one float type and lane count, with the layout of its bits.
struct Maths {
  DType dtype;
  int lanes;
  DType bits_dtype;  // integer of the same width
  int mantissa;      // explicit bits
  int bias;

  explicit Maths(const Expr& like)
      : dtype(like->dtype),
        lanes(like->lanes),
        bits_dtype(like->dtype == DType::f32 ? DType::i32 : DType::i64),
        mantissa(like->dtype == DType::f32 ? 23 : 52),
        bias(like->dtype == DType::f32 ? 127 : 1023) {
    ENSURE(dtype == DType::f32 || dtype == DType::f64);
  }
  bool single() const { return dtype == DType::f32; }

  Expr number(double value) const { return broadcast_expr(float_constant(value, dtype), lanes); }
  Expr integer(int64_t value) const {
    return broadcast_expr(int_constant(value, bits_dtype), lanes);
  }
  Expr infinity() const { return number(std::numeric_limits<double>::infinity()); }
  Expr nan() const { return number(std::numeric_limits<double>::quiet_NaN()); }
  Expr bits(const Expr& value) const { return cast_expr(Op::bitcast, bits_dtype, value); }
  Expr from_bits(const Expr& value) const { return cast_expr(Op::bitcast, dtype, value); }
  Expr as_float(const Expr& value) const { return cast_expr(Op::cast, dtype, value); }
  Expr as_integer(const Expr& value) const { return cast_expr(Op::cast, bits_dtype, value); }

  // 2 to the power of an integer that is a normal exponent.
  Expr power_of_two(const Expr& exponent) const {
    return from_bits(binary(Op::shl, binary(Op::add, exponent, integer(bias)), integer(mantissa)));
  }
  // coefficients[0] + x * (coefficients[1] + x * …)
  Expr polynomial(const Expr& x, std::span<const double> coefficients) const {
    Expr sum = number(coefficients.back());
    for (size_t i = coefficients.size() - 1; i-- > 0;)
      sum = binary(Op::add, binary(Op::mul, sum, x), number(coefficients[i]));
    return sum;
  }
};

Expr operator+(const Expr& a, const Expr& b) { return binary(Op::add, a, b); }
Expr operator-(const Expr& a, const Expr& b) { return binary(Op::sub, a, b); }
Expr operator*(const Expr& a, const Expr& b) { return binary(Op::mul, a, b); }
Expr operator/(const Expr& a, const Expr& b) { return binary(Op::div, a, b); }
Expr less(const Expr& a, const Expr& b) { return binary(Op::lt, a, b); }
Expr at_most(const Expr& a, const Expr& b) { return binary(Op::le, a, b); }
Expr same(const Expr& a, const Expr& b) { return binary(Op::eq, a, b); }
Expr is_nan(const Expr& a) { return binary(Op::ne, a, a); }
Expr both(const Expr& a, const Expr& b) { return binary(Op::logical_and, a, b); }

// x = count * ln 2 + rest with |rest| ≤ ln 2 / 2; `series` is exp(rest) - 1.
struct Reduced {
  Expr count;  // integer
  Expr series;
};

Reduced reduce_exponential(const Maths& m, const Expr& x) {
  const Expr count = unary(Op::round, x * m.number(1 / std::log(2.0)));
  // The high part has so few bits that its product with the count is exact.
  const double high = m.single() ? 0x1.62e4p-1 : 0x1.62e42feep-1;
  const double low = m.single() ? 0x1.7f7d1cf79abcap-20 : 0x1.a39ef35793c76p-33;
  const Expr rest = (x - count * m.number(high)) - count * m.number(low);
  std::array<double, 13> factorials{};  // 1/1!, 1/2!, …
  double factorial = 1;
  for (size_t i = 0; i < factorials.size(); ++i) {
    factorial *= static_cast<double>(i + 1);
    factorials[i] = 1 / factorial;
  }
  const std::span<const double> all(factorials);
  const Expr tail = m.polynomial(rest, all.subspan(1, m.single() ? 6 : 12));
  return {m.as_integer(count), rest + rest * rest * tail};
}

Expr exponential(const Expr& x) {
  const Maths m(x);
  const double highest = m.single() ? 88.8 : 709.8;
  const double lowest = m.single() ? -104.0 : -746.0;
  const Expr bounded = binary(Op::max, binary(Op::min, x, m.number(highest)), m.number(lowest));
  const Reduced reduced = reduce_exponential(m, bounded);
  // In two steps, because the whole power may be no normal number where the result is one.
  const Expr half = binary(Op::shr, reduced.count, m.integer(1));
  const Expr value =
      (m.number(1) + reduced.series) * m.power_of_two(half) * m.power_of_two(reduced.count - half);
  return select_expr(is_nan(x), x, value);
}

// x = mantissa * 2^exponent with the mantissa in [√½, √2); of finite x > 0.
struct Split {
  Expr mantissa;
  Expr exponent;  // as a float
};

Split split_exponent(const Maths& m, const Expr& x) {
  const Expr tiny = less(x, m.number(m.single() ? 0x1p-126 : 0x1p-1022));
  const double lift = m.single() ? 0x1p24 : 0x1p53;
  const Expr bits = m.bits(select_expr(tiny, x * m.number(lift), x));
  const Expr root = m.bits(m.number(std::sqrt(0.5)));
  const Expr above = binary(Op::shr, bits - root, m.integer(m.mantissa));
  const Expr mantissa = m.from_bits(bits - binary(Op::shl, above, m.integer(m.mantissa)));
  const Expr exponent = m.as_float(above);
  return {mantissa, select_expr(tiny, exponent - m.number(m.single() ? 24 : 53), exponent)};
}

// log of a mantissa near 1: 2 artanh(s), s = (x - 1) / (x + 1).
Expr near_logarithm(const Maths& m, const Expr& x) {
  const Expr f = x - m.number(1);
  const Expr s = f / (m.number(2) + f);
  const Expr z = s * s;
  std::array<double, 11> odd{};  // 2/3, 2/5, …
  for (size_t i = 0; i < odd.size(); ++i) odd[i] = 2 / static_cast<double>(2 * i + 3);
  const Expr tail = m.polynomial(z, std::span<const double>(odd).subspan(0, m.single() ? 4 : 11));
  // 2s = f - s f, so that the largest term is exact.
  return f - s * (f - z * tail);
}

Expr logarithm(const Expr& x) {
  const Maths m(x);
  const Split split = split_exponent(m, x);
  const double high = m.single() ? 0x1.62e4p-1 : 0x1.62e42feep-1;
  const double low = m.single() ? 0x1.7f7d1cf79abcap-20 : 0x1.a39ef35793c76p-33;
  const Expr near = near_logarithm(m, split.mantissa);
  Expr value = split.exponent * m.number(high) + (near + split.exponent * m.number(low));
  value = select_expr(same(x, m.infinity()), x, value);
  value = select_expr(same(x, m.number(0)), m.number(0) - m.infinity(), value);
  return select_expr(at_most(m.number(0), x), value, m.nan());
}

// The exponential only of negative numbers: it neither overflows nor swallows a small result.
Expr logistic(const Expr& x) {
  const Maths m(x);
  const Expr e = exponential(unary(Op::neg, unary(Op::abs, x)));
  return select_expr(less(x, m.number(0)), e, m.number(1)) / (m.number(1) + e);
}

Expr hyperbolic_tangent(const Expr& x) {
  const Maths m(x);
  const Expr size = binary(Op::min, unary(Op::abs, x), m.number(m.single() ? 10 : 20));
  const Reduced reduced = reduce_exponential(m, size + size);
  const Expr power = m.power_of_two(reduced.count);
  const Expr e = power * reduced.series + (power - m.number(1));  // exp(2 size) - 1
  const Expr value = e / (e + m.number(2));
  const Expr with_sign = select_expr(less(x, m.number(0)), unary(Op::neg, value), value);
  return select_expr(is_nan(x), x, with_sign);
}

Expr error_function(const Expr& x) {
  const Maths m(x);
  const Expr size = binary(Op::min, unary(Op::abs, x), m.number(m.single() ? 4 : 6));
  const Expr square = x * x;
  const auto near = m.single() ? std::span<const double>(kErfNear32) : kErfNear64;
  const auto far = m.single() ? std::span<const double>(kErfFar32) : kErfFar64;
  const Expr u = m.number(m.single() ? kErfScale32 : kErfScale64) / (size + m.number(2)) +
                 m.number(m.single() ? kErfShift32 : kErfShift64);
  const Expr rest = exponential(m.number(0) - size * size) * m.polynomial(u, far);
  const Expr value = m.number(1) - rest;
  const Expr outside = select_expr(less(x, m.number(0)), unary(Op::neg, value), value);
  const Expr inside = x * m.polynomial(square, near);
  return select_expr(less(size, m.number(1)), inside, select_expr(is_nan(x), x, outside));
}

Expr power(const Expr& a, const Expr& b) {
  const Maths m(a);
  const Expr zero = m.number(0);
  const Expr one = m.number(1);
  const Expr size = unary(Op::abs, a);
  const Expr magnitude = exponential(b * logarithm(size));
  const Expr whole = same(unary(Op::floor, b), b);
  const Expr half = b * m.number(0.5);
  const Expr odd = both(whole, binary(Op::ne, unary(Op::floor, half), half));
  const Expr negative = less(m.bits(a), m.integer(0));  // of -0 too
  Expr value = select_expr(both(negative, odd), unary(Op::neg, magnitude), magnitude);
  value = select_expr(
      both(both(less(a, zero), less(zero - m.infinity(), a)), unary(Op::logical_not, whole)),
      m.nan(), value);
  // ±1 to any infinite power, anything to the power 0, 1 to any power.
  const Expr infinite = same(unary(Op::abs, b), m.infinity());
  value = select_expr(both(infinite, same(size, one)), one, value);
  value = select_expr(same(b, zero), one, value);
  return select_expr(same(a, one), one, value);
}

// Rounded towards minus infinity. The quotient may have been rounded up to the next whole number,
// which the sign of the remainder shows.
Expr float_modulo(const Expr& a, const Expr& b) {
  const Maths m(a);
  const Expr zero = m.number(0);
  const Expr quotient = unary(Op::floor, a / b);
  Expr rest = fma_expr(unary(Op::neg, quotient), b, a);
  const Expr size = unary(Op::abs, b);
  const Expr wrong_sign = binary(Op::logical_or, both(less(rest, zero), less(zero, b)),
                                 both(less(zero, rest), less(b, zero)));
  rest = select_expr(wrong_sign, rest + b, rest);
  // Finite a, infinite b: a itself, or b where the signs differ.
  const Expr beyond = both(same(size, m.infinity()), less(unary(Op::abs, a), m.infinity()));
  const Expr opposite = binary(Op::logical_or, both(less(a, zero), less(zero, b)),
                               both(less(zero, a), less(b, zero)));
  return select_expr(beyond, select_expr(opposite, b, a), rest);
}

}  // namespace

bool is_expanded(Op op, DType dtype) {
  switch (op) {
    case Op::exp:
    case Op::log:
    case Op::rsqrt:
    case Op::tanh:
    case Op::sigmoid:
    case Op::erf:
    case Op::pow:
      return true;
    case Op::mod:
      return is_float(dtype);
    default:
      return false;
  }
}

Expr expand_math(Op op, const Expr& a, const Expr& b, bool wide) {
  const Maths m(a);
  switch (op) {
    case Op::exp:
      return exponential(a);
    case Op::log:
      return logarithm(a);
    case Op::rsqrt:
      return m.number(1) / unary(Op::sqrt, a);
    case Op::tanh:
      return hyperbolic_tangent(a);
    case Op::sigmoid:
      return logistic(a);
    case Op::erf:
      return error_function(a);
    case Op::pow:
      if (m.single() && wide)
        return cast_expr(
            Op::cast, DType::f32,
            power(cast_expr(Op::cast, DType::f64, a), cast_expr(Op::cast, DType::f64, b)));
      return power(a, b);
    default:
      ENSURE(op == Op::mod, "{} is not expanded", facts(op).name);
      return float_modulo(a, b);
  }
}

}  // namespace hone
