// SPDX-License-Identifier: Apache-2.0
#include "frontend/range.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace hone {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Range kEverything{-kInfinity, kInfinity};

Range hull(std::initializer_list<double> values) {
  Range range{kInfinity, -kInfinity};
  for (const double value : values) {
    if (std::isnan(value)) return kEverything;
    range.low = std::min(range.low, value);
    range.high = std::max(range.high, value);
  }
  return range;
}

double times(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

Range multiply(const Range& a, const Range& b) {
  return hull(
      {times(a.low, b.low), times(a.low, b.high), times(a.high, b.low), times(a.high, b.high)});
}

Range divide(const Range& a, const Range& b) {
  if (b.low <= 0 && b.high >= 0) return kEverything;
  return hull({a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high});
}

Range floor_divide(const Range& a, const Range& b) {
  Range range = b.low <= 0 && b.high >= 0 ? kEverything : divide(a, b);
  range = {std::floor(range.low), std::floor(range.high)};
  // Division by zero gives 0, and a quotient is never larger than the dividend.
  if (b.low <= 0 && b.high >= 0) {
    const double most = std::max(std::fabs(a.low), std::fabs(a.high));
    range = {-most, most};
  }
  return range;
}

Range modulo(const Range& a, const Range& b) {
  if (b.low == b.high && b.low > 0 && std::floor(a.low / b.low) == std::floor(a.high / b.low)) {
    const double base = std::floor(a.low / b.low) * b.low;
    return {a.low - base, a.high - base};
  }
  return {std::min(0.0, b.low + 1), std::max(0.0, b.high - 1)};
}

Range bit_range(const Range& a, const Range& b, Op op) {
  if (a.low < 0 || b.low < 0) return kEverything;
  if (op == Op::bit_and) return {0, std::min(a.high, b.high)};
  double power = 1;
  while (power <= std::max(a.high, b.high)) power *= 2;
  return {0, power - 1};
}

template <typename Function>
Range rising(const Range& range, Function function) {
  return hull({function(range.low), function(range.high)});
}

Range absolute(const Range& a) {
  if (a.low <= 0 && a.high >= 0) return {0, std::max(-a.low, a.high)};
  return hull({std::fabs(a.low), std::fabs(a.high)});
}

Range function_range(Op op, const Range& a) {
  switch (op) {
    case Op::neg:
      return {-a.high, -a.low};
    case Op::abs:
      return absolute(a);
    case Op::exp:
      return rising(a, [](double x) { return std::exp(x); });
    case Op::log:
      return a.low < 0 ? kEverything : rising(a, [](double x) { return std::log(x); });
    case Op::sqrt:
      return {std::sqrt(std::max(0.0, a.low)), std::sqrt(std::max(0.0, a.high))};
    case Op::rsqrt: {
      const double low = std::max(0.0, a.low);
      return {1 / std::sqrt(std::max(0.0, a.high)), low == 0 ? kInfinity : 1 / std::sqrt(low)};
    }
    case Op::tanh:
      return rising(a, [](double x) { return std::tanh(x); });
    case Op::erf:
      return rising(a, [](double x) { return std::erf(x); });
    case Op::sigmoid:
      return rising(a, [](double x) { return 1 / (1 + std::exp(-x)); });
    case Op::floor:
      return rising(a, [](double x) { return std::floor(x); });
    case Op::ceil:
      return rising(a, [](double x) { return std::ceil(x); });
    case Op::round:
      return rising(a, [](double x) { return std::nearbyint(x); });
    default:
      return kEverything;
  }
}

// Integers that leave their type wrap, and can then be anything in it.
Range wrapped(const Range& range, DType dtype) {
  if (std::isnan(range.low) || std::isnan(range.high)) return range_of(dtype);
  if (is_float(dtype)) return range;
  const Range type = range_of(dtype);
  return range.is_within(type) ? range : type;
}

}  // namespace

Range intersect(const Range& a, const Range& b) {
  return {std::max(a.low, b.low), std::min(a.high, b.high)};
}

Range range_of(DType dtype) {
  if (is_float(dtype)) return kEverything;
  return {static_cast<double>(lowest(dtype)), static_cast<double>(highest(dtype))};
}

double magnitude(const Range& range) {
  return range.is_empty() ? 0 : std::max(std::fabs(range.low), std::fabs(range.high));
}

// -- linear forms
// ------------------------------------------------------------------------------------

void RangeScope::accumulate(const Expr& expr, double factor, Linear& sum) {
  if (expr->dtype == DType::i64) {
    const auto value = [](const Expr& e) { return static_cast<double>(e->int_value); };
    switch (expr->op) {
      case Op::constant:
        sum.base += factor * value(expr);
        return;
      case Op::neg:
        accumulate(expr->args[0], -factor, sum);
        return;
      case Op::add:
      case Op::sub:
        accumulate(expr->args[0], factor, sum);
        accumulate(expr->args[1], expr->op == Op::add ? factor : -factor, sum);
        return;
      case Op::mul:
        for (const size_t side : {0U, 1U})
          if (is_constant(expr->args[side])) {
            accumulate(expr->args[1 - side], factor * value(expr->args[side]), sum);
            return;
          }
        break;
      case Op::cast:
        if (is_integer(expr->args[0]->dtype)) return accumulate(expr->args[0], factor, sum);
        break;
      default:
        break;
    }
  } else if (is_constant(expr) && !is_float(expr->dtype)) {
    sum.base += factor * static_cast<double>(expr->int_value);
    return;
  }
  for (Term& term : sum.terms)
    if (equal(term.atom, expr)) {
      term.factor += factor;
      return;
    }
  sum.terms.push_back({expr, factor});
}

RangeScope::Linear RangeScope::linear(const Expr& expr) {
  Linear sum;
  accumulate(expr, 1, sum);
  std::erase_if(sum.terms, [](const Term& term) { return term.factor == 0; });
  return sum;
}

double RangeScope::ratio(const std::vector<Term>& a, const std::vector<Term>& b) {
  if (a.size() != b.size() || a.empty()) return 0;
  double found = 0;
  for (const Term& term : a) {
    const auto same = std::find_if(b.begin(), b.end(),
                                   [&](const Term& other) { return equal(term.atom, other.atom); });
    if (same == b.end()) return 0;
    const double factor = term.factor / same->factor;
    if (found != 0 && factor != found) return 0;
    found = factor;
  }
  return found;
}

// -- guards
// ------------------------------------------------------------------------------------------

size_t RangeScope::enter(const Expr& condition, bool holds) {
  const size_t mark = guards_.size();
  add_guard(condition, holds);
  return mark;
}

void RangeScope::leave(size_t mark) { guards_.resize(mark); }

void RangeScope::add_guard(const Expr& condition, bool holds) {
  const auto& args = condition->args;
  switch (condition->op) {
    case Op::logical_not:
      add_guard(args[0], !holds);
      return;
    case Op::logical_and:
    case Op::logical_or:
      // A false conjunction and a true disjunction say nothing about either side.
      if ((condition->op == Op::logical_and) != holds) return;
      add_guard(args[0], holds);
      add_guard(args[1], holds);
      return;
    case Op::lt:
    case Op::le: {
      if (!is_integer(args[0]->dtype)) return;
      const double strict = condition->op == Op::lt ? 1 : 0;
      if (holds) add_order(args[0], args[1], strict);
      if (!holds) add_order(args[1], args[0], 1 - strict);
      return;
    }
    case Op::eq:
    case Op::ne:
      if (!is_integer(args[0]->dtype) || (condition->op == Op::eq) != holds) return;
      add_order(args[0], args[1], 0);
      add_order(args[1], args[0], 0);
      return;
    default:
      return;
  }
}

// right - left ≥ least_difference
void RangeScope::add_order(const Expr& left, const Expr& right, double least_difference) {
  Linear difference;
  accumulate(right, 1, difference);
  accumulate(left, -1, difference);
  std::erase_if(difference.terms, [](const Term& term) { return term.factor == 0; });
  if (difference.terms.empty()) return;
  guards_.push_back({difference.terms, {least_difference - difference.base, kInfinity}});
}

Range RangeScope::guarded(const std::vector<Term>& terms, Range range) const {
  for (const Guard& guard : guards_) {
    const double factor = ratio(terms, guard.terms);  // terms = factor * guard
    if (factor == 0) continue;
    const double low = factor > 0 ? guard.bounds.low * factor : guard.bounds.high * factor;
    const double high = factor > 0 ? guard.bounds.high * factor : guard.bounds.low * factor;
    range = intersect(range, {std::ceil(low), std::floor(high)});
  }
  return range;
}

// -- ranges
// ------------------------------------------------------------------------------------------

Range RangeScope::range(const Expr& expr) const {
  if (expr->dtype == DType::i64) return linear_range(expr);
  return atom_range(expr);
}

Range RangeScope::linear_range(const Expr& expr) const {
  const Linear form = linear(expr);
  if (form.terms.size() == 1 && form.terms[0].factor == 1 && form.base == 0 &&
      equal(form.terms[0].atom, expr))
    return atom_range(expr);
  Range sum{0, 0};
  for (const Term& term : form.terms) {
    const Range one = multiply(range(term.atom), {term.factor, term.factor});
    if (one.is_empty()) return one;
    sum = {sum.low + one.low, sum.high + one.high};
  }
  sum = guarded(form.terms, sum);
  return {sum.low + form.base, sum.high + form.base};
}

Range RangeScope::atom_range(const Expr& expr) const {
  const Range range = wrapped(structural_range(expr), expr->dtype);
  return is_integer(expr->dtype) ? guarded({{expr, 1}}, range) : range;
}

Range RangeScope::structural_range(const Expr& expr) const {
  switch (expr->op) {
    case Op::constant: {
      const double value =
          is_float(expr->dtype) ? expr->float_value : static_cast<double>(expr->int_value);
      return hull({value});
    }
    case Op::axis:
      return {0, static_cast<double>(axis_extent_(expr->id) - 1)};
    case Op::load:
      return tensor_range_(BufferId{expr->id});
    case Op::select:
      return select_range(expr);
    case Op::bitcast:
      return range_of(expr->dtype);
    case Op::cast:
    case Op::saturate: {
      Range inner = range(expr->args[0]);
      if (!is_float(expr->dtype) && is_float(expr->args[0]->dtype))
        inner = {std::trunc(inner.low), std::trunc(inner.high)};
      if (expr->op == Op::cast) return inner;
      const Range type = range_of(expr->dtype);
      return {std::clamp(inner.low, type.low, type.high),
              std::clamp(inner.high, type.low, type.high)};
    }
    default:
      break;
  }
  if (expr->dtype == DType::b1) return {0, 1};
  if (expr->args.size() == 1) return function_range(expr->op, range(expr->args[0]));
  return binary_range(expr);
}

Range RangeScope::binary_range(const Expr& expr) const {
  const Range a = range(expr->args[0]);
  const Range b = range(expr->args[1]);
  switch (expr->op) {
    case Op::add:
      return {a.low + b.low, a.high + b.high};
    case Op::sub:
      return {a.low - b.high, a.high - b.low};
    case Op::mul: {
      Range product = multiply(a, b);
      if (equal(expr->args[0], expr->args[1])) product.low = std::max(0.0, product.low);
      return product;
    }
    case Op::div:
      return is_float(expr->dtype) ? divide(a, b) : floor_divide(a, b);
    case Op::mod:
      return modulo(a, b);
    case Op::min:
      return {std::min(a.low, b.low), std::min(a.high, b.high)};
    case Op::max:
      return {std::max(a.low, b.low), std::max(a.high, b.high)};
    case Op::bit_and:
    case Op::bit_or:
    case Op::bit_xor:
      return bit_range(a, b, expr->op);
    case Op::shl:
    case Op::shr:
      if (b.low < 0 || b.low != b.high || b.low >= static_cast<double>(8 * bytes_of(expr->dtype)))
        return kEverything;
      if (expr->op == Op::shl)
        return {std::ldexp(a.low, static_cast<int>(b.low)),
                std::ldexp(a.high, static_cast<int>(b.low))};
      return {std::floor(std::ldexp(a.low, -static_cast<int>(b.low))),
              std::floor(std::ldexp(a.high, -static_cast<int>(b.low)))};
    default:
      return kEverything;
  }
}

Range RangeScope::select_range(const Expr& expr) const {
  // Each side is seen under its own guard; a scope of its own keeps this one as it is.
  Range both{kInfinity, -kInfinity};
  for (const bool holds : {true, false}) {
    RangeScope side = *this;
    side.enter(expr->args[0], holds);
    const Range range = side.range(expr->args[holds ? 1 : 2]);
    if (range.is_empty()) continue;
    both = {std::min(both.low, range.low), std::max(both.high, range.high)};
  }
  return both;
}

}  // namespace hone
