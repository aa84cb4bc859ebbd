// SPDX-License-Identifier: Apache-2.0
//
// Functions of f32 as arithmetic on f32 and i32 of the same lanes. Series are Taylor's, cut where the next
// term is below half an ulp at the end of the reduced range; the one fit (erfc) is a Chebyshev interpolation
// of degree 8, whose own error is 7.3e-8. Each rounds a few times, which gives the errors, largest found by
// tests/unit/lower/math_test.cpp on dense samples:
//   exp 1 ulp, log 2, rsqrt 1, sigmoid 3, tanh 4, erf 4; pow: y·log x rounds before exp stretches it, so
//   its relative error is up to |y·ln x| ulp.
// Infinities, NaN, zeros and denormals give what <cmath> gives.
#include "lower/math.h"

#include <cmath>
#include <initializer_list>

namespace hone {
namespace {

// Arithmetic on expressions of one lane count, as formulas read.
struct F {
  Expr e;
};
Expr constant_like(double value, const Expr& like) {
  const Expr scalar = float_constant(value, DType::f32);
  return like->lanes == 1 ? scalar : broadcast_expr(scalar, like->lanes);
}
Expr integer_like(int64_t value, const Expr& like) {
  const Expr scalar = int_constant(value, DType::i32);
  return like->lanes == 1 ? scalar : broadcast_expr(scalar, like->lanes);
}
F operator+(const F& a, const F& b) { return {binary(Op::add, a.e, b.e)}; }
F operator-(const F& a, const F& b) { return {binary(Op::sub, a.e, b.e)}; }
F operator*(const F& a, const F& b) { return {binary(Op::mul, a.e, b.e)}; }
F operator/(const F& a, const F& b) { return {binary(Op::div, a.e, b.e)}; }
F operator+(const F& a, double b) { return a + F{constant_like(b, a.e)}; }
F operator-(const F& a, double b) { return a - F{constant_like(b, a.e)}; }
F operator*(const F& a, double b) { return a * F{constant_like(b, a.e)}; }
F operator/(double a, const F& b) { return F{constant_like(a, b.e)} / b; }
F min(const F& a, double b) { return {binary(Op::min, a.e, constant_like(b, a.e))}; }
F max(const F& a, double b) { return {binary(Op::max, a.e, constant_like(b, a.e))}; }
F magnitude(const F& a) { return {unary(Op::abs, a.e)}; }
F select(const Expr& condition, const F& a, const F& b) { return {select_expr(condition, a.e, b.e)}; }
Expr less(const F& a, double b) { return binary(Op::lt, a.e, constant_like(b, a.e)); }
Expr same(const F& a, double b) { return binary(Op::eq, a.e, constant_like(b, a.e)); }
Expr is_nan(const F& a) { return binary(Op::ne, a.e, a.e); }
F number(double value, const F& like) { return {constant_like(value, like.e)}; }
Expr as_int(const F& a) { return cast_expr(Op::cast, DType::i32, a.e); }
F as_float(const Expr& a) { return {cast_expr(Op::cast, DType::f32, a)}; }
Expr bits_of(const F& a) { return cast_expr(Op::bitcast, DType::i32, a.e); }
F from_bits(const Expr& a) { return {cast_expr(Op::bitcast, DType::f32, a)}; }

// c[0] + x·(c[1] + x·(…))
F polynomial(const F& x, std::initializer_list<double> coefficients) {
  auto c = std::rbegin(coefficients);
  F sum = number(*c, x);
  for (++c; c != std::rend(coefficients); ++c) sum = sum * x + *c;
  return sum;
}

F power_of_two(const Expr& exponent) {  // -126 … 127
  const Expr biased = binary(Op::add, exponent, integer_like(127, exponent));
  return from_bits(binary(Op::shl, biased, integer_like(23, exponent)));
}

constexpr double kLn2High = 0.693145751953125;         // 13 bits: products with small integers are exact
constexpr double kLn2Low = 1.42860682030941723212e-6;  // ln 2 minus the above

// x = n·ln 2 + r, |r| ≤ ln 2 / 2; 2^n in two factors, so that denormal results and infinity come out.
F exp_of(const F& x) {
  const F clamped = min(max(x, -104.0), 89.0);
  const F n = {unary(Op::round, (clamped * 1.44269504088896341).e)};
  const F r = clamped - n * kLn2High - n * kLn2Low;
  const F series = polynomial(r, {1, 1, 1 / 2.0, 1 / 6.0, 1 / 24.0, 1 / 120.0, 1 / 720.0, 1 / 5040.0});
  const Expr exponent = as_int(n);
  const Expr half = binary(Op::shr, exponent, integer_like(1, exponent));
  const F result = series * power_of_two(half) * power_of_two(binary(Op::sub, exponent, half));
  return select(is_nan(x), x, result);
}

// x = 2^e·m, m in [√½, √2); with s = (m-1)/(m+1), log m = 2·(s + s³/3 + s⁵/5 + …), |s| ≤ 0.172.
F log_of(const F& x) {
  const Expr tiny = less(x, 0x1p-126);
  const F scaled = select(tiny, x * 0x1p23, x);
  const Expr bits = bits_of(scaled);
  const Expr offset = binary(Op::sub, bits, integer_like(0x3f3504f3, bits));  // of √½
  const Expr exponent = binary(Op::shr, offset, integer_like(23, bits));
  const F m = from_bits(binary(Op::sub, bits, binary(Op::shl, exponent, integer_like(23, bits))));
  const F e = as_float(exponent) - select(tiny, number(23, x), number(0, x));
  const F f = m - 1.0;
  const F s = f / (m + 1.0);
  const F s2 = s * s;
  const F tail = s2 * polynomial(s2, {2 / 3.0, 2 / 5.0, 2 / 7.0, 2 / 9.0, 2 / 11.0});
  // 2s = f - f·s, which keeps the leading bits of f.
  const F mantissa = f - s * (f - tail);
  const F result = e * kLn2High + (mantissa + e * kLn2Low);
  F guarded = select(less(x, 0.0), number(NAN, x), result);
  guarded = select(same(x, 0.0), number(-INFINITY, x), guarded);
  guarded = select(same(x, INFINITY), x, guarded);
  return select(is_nan(x), x, guarded);
}

F sigmoid_of(const F& x) { return 1.0 / (exp_of(x * -1.0) + 1.0); }

// Taylor below ½; above, 1 - 2 / (e^2x + 1), and the sign put back.
F tanh_of(const F& x) {
  const F x2 = x * x;
  const F series =
      x + x * (x2 * polynomial(x2, {-1 / 3.0, 2 / 15.0, -17 / 315.0, 62 / 2835.0, -1382 / 155925.0,
                                    21844 / 6081075.0, -929569 / 638512875.0}));
  const F size = magnitude(x);
  const F large = number(1, x) - 2.0 / (exp_of(size * 2.0) + 1.0);
  const F with_sign = select(less(x, 0.0), large * -1.0, large);
  return select(less(size, 0.5), series, with_sign);
}

// Taylor up to 1; above, 1 - erfc, with ln(erfc(x)·e^(x²)) as a polynomial in t = 1 / (1 + x/2).
F erf_of(const F& x) {
  constexpr double k = 1.12837916709551257390;  // 2 / √π
  const F x2 = x * x;
  const F series =
      x * polynomial(x2, {k, -k / 3, k / 10, -k / 42, k / 216, -k / 1320, k / 9360, -k / 75600,
                          k / 685440, -k / 6894720, k / 76204800});
  const F size = min(magnitude(x), 4.1);
  const F u = (1.0 / (size * 0.5 + 1.0) - 0.5087620124364047) * 5.528125;
  const F logarithm = polynomial(u, {-1.335767313, 0.59949282, -0.05733800969, 0.01273692833,
                                     -0.004153175709, 0.001171031234, -0.0003266552277,
                                     0.0001276322686, -0.00004054323441});
  const F large = number(1, x) - exp_of(logarithm - size * size);
  const F with_sign = select(less(x, 0.0), large * -1.0, large);
  return select(is_nan(x), x, select(less(magnitude(x), 1.0), series, with_sign));
}

}  // namespace

Expr write_out(Op op, const Expr& x) {
  switch (op) {
    case Op::exp: return exp_of({x}).e;
    case Op::log: return log_of({x}).e;
    case Op::rsqrt: return (1.0 / F{unary(Op::sqrt, x)}).e;
    case Op::sigmoid: return sigmoid_of({x}).e;
    case Op::tanh: return tanh_of({x}).e;
    case Op::erf: return erf_of({x}).e;
    default: ENSURE(false, "no formula for {}", facts(op).name); return nullptr;
  }
}

// A negative base needs a whole exponent, whose oddness gives the sign.
Expr write_out_pow(const Expr& base, const Expr& exponent) {
  const F x{base};
  const F y{exponent};
  const F size = exp_of(y * log_of(magnitude(x)));
  const F half = y * 0.5;
  const Expr odd = binary(Op::ne, unary(Op::floor, half.e), half.e);
  const Expr whole = binary(Op::eq, unary(Op::floor, y.e), y.e);
  const F negative = select(whole, select(odd, size * -1.0, size), number(NAN, x));
  const F result = select(less(x, 0.0), negative, size);
  const F one = number(1, x);
  return select(same(y, 0.0), one, select(same(x, 1.0), one, result)).e;
}

namespace {

class MathWriter {
 public:
  explicit MathWriter(Kernel& kernel) : kernel_(kernel) {}

  Result<void> run() {
    body(kernel_.body);
    if (refused_) return fail("{} of {} is not written out; cast to f32", facts(*refused_).name, "f64");
    return {};
  }

 private:
  static bool is_math(Op op) {
    return op == Op::exp || op == Op::log || op == Op::rsqrt || op == Op::tanh ||
           op == Op::sigmoid || op == Op::erf || op == Op::pow;
  }

  void body(KernelBody& statements) {
    KernelBody result;
    for (KernelStmt& stmt : statements) {
      out_ = &result;
      if (auto* loop = std::get_if<KernelFor>(&stmt.node)) {
        body(loop->body);
      } else if (auto* branch = std::get_if<KernelIf>(&stmt.node)) {
        branch->condition = rewritten(branch->condition);
        body(branch->then_body);
        body(branch->else_body);
      } else if (auto* set = std::get_if<KernelSet>(&stmt.node)) {
        set->value = rewritten(set->value);
      } else if (auto* store = std::get_if<KernelStore>(&stmt.node)) {
        store->value = rewritten(store->value);
      }
      result.push_back(std::move(stmt));
    }
    statements = std::move(result);
  }

  // Formulas use their operand many times; it is computed once, in a register. Inside an arm of a select
  // an operand may only be computed where it is picked, so there it stays in place.
  Expr rewritten(const Expr& expr) {
    bool found = false;
    walk(expr, [&](const ExprNode& node) { found = found || is_math(node.op); });
    return found ? rewrite_tree(expr, false) : expr;
  }

  Expr rewrite_tree(const Expr& expr, bool guarded) {
    std::vector<Expr> args;
    for (size_t i = 0; i < expr->args.size(); ++i)
      args.push_back(rewrite_tree(expr->args[i], guarded || (expr->op == Op::select && i > 0)));
    if (!is_math(expr->op)) return with_args(expr, std::move(args));
    if (expr->dtype != DType::f32) {
      refused_ = expr->op;
      return with_args(expr, std::move(args));
    }
    for (Expr& arg : args)
      if (!guarded) arg = in_register(arg);
    return expr->op == Op::pow ? write_out_pow(args[0], args[1]) : write_out(expr->op, args[0]);
  }

  Expr in_register(const Expr& value) {
    if (value->op == Op::reg || value->op == Op::constant) return value;
    const RegId reg = kernel_.registers.add({"m", value->dtype, value->lanes});
    out_->push_back({KernelSet{reg, value}});
    return reg_expr(reg.value, value->dtype, value->lanes);
  }

  Kernel& kernel_;
  KernelBody* out_ = nullptr;
  std::optional<Op> refused_;
};

}  // namespace

Result<void> write_out_math(Kernel& kernel) { return MathWriter(kernel).run(); }

}  // namespace hone
