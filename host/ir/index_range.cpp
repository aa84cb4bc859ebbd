// SPDX-License-Identifier: Apache-2.0
#include "ir/index_range.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace hone {
namespace {

constexpr int64_t kFar = INT64_MAX / 4;  // stands for "as far as it goes"

int64_t clamp(int64_t value) { return std::clamp(value, -kFar, kFar); }

int64_t times(int64_t a, int64_t b) {
  int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return clamp(product);
  return (a < 0) == (b < 0) ? kFar : -kFar;
}

Interval operator+(Interval a, Interval b) {
  return {clamp(a.low + b.low), clamp(a.high + b.high)};
}
Interval scaled(Interval a, int64_t factor) {
  const int64_t x = times(a.low, factor);
  const int64_t y = times(a.high, factor);
  return {std::min(x, y), std::max(x, y)};
}
Interval product(Interval a, Interval b) {
  const Interval x = scaled(a, b.low);
  const Interval y = scaled(a, b.high);
  return {std::min(x.low, y.low), std::max(x.high, y.high)};
}

Interval range_of_type(DType dtype) {
  if (is_float(dtype)) return {-kFar, kFar};
  return {clamp(lowest(dtype)), clamp(highest(dtype))};
}

// base + Σ factor · atom, where an atom is anything that is not a sum or a multiple.
struct Linear {
  struct Term {
    Expr atom;
    int64_t factor;
  };
  std::vector<Term> terms;
  int64_t base = 0;
};

void add_scaled(Linear& sum, const Linear& other, int64_t factor) {
  sum.base = clamp(sum.base + times(other.base, factor));
  for (const Linear::Term& term : other.terms) {
    const auto same = std::find_if(sum.terms.begin(), sum.terms.end(),
                                   [&](const Linear::Term& t) { return equal(t.atom, term.atom); });
    if (same == sum.terms.end()) {
      sum.terms.push_back({term.atom, times(term.factor, factor)});
    } else {
      same->factor = clamp(same->factor + times(term.factor, factor));
      if (same->factor == 0) sum.terms.erase(same);
    }
  }
}

// Only i64 is taken apart: it is the type that does not wrap.
Linear linear_of(const Expr& expr) {
  if (expr->op == Op::constant) return {{}, clamp(expr->int_value)};
  Linear result;
  if (expr->dtype == DType::i64) {
    switch (expr->op) {
      case Op::neg:
        add_scaled(result, linear_of(expr->args[0]), -1);
        return result;
      case Op::add:
      case Op::sub:
        result = linear_of(expr->args[0]);
        add_scaled(result, linear_of(expr->args[1]), expr->op == Op::add ? 1 : -1);
        return result;
      case Op::mul:
        for (size_t i = 0; i < 2; ++i) {
          if (!is_constant(expr->args[i])) continue;
          add_scaled(result, linear_of(expr->args[1 - i]), clamp(expr->args[i]->int_value));
          return result;
        }
        break;
      default:
        break;
    }
  }
  result.terms.push_back({expr, 1});
  return result;
}

class Prover {
 public:
  Prover(std::span<const Axis> axes, std::span<const Guard> guards) : axes_(axes) {
    for (const Guard& guard : guards) learn(guard.condition, guard.holds);
  }

  Interval bounds(const Linear& form, int depth) const {
    Interval result = plain_bounds(form, depth);
    if (depth == 0) return result;
    for (const Linear& fact : facts_) {
      for (const int64_t factor : useful_factors(form, fact)) {
        // fact ≤ 0, so form ≤ form - factor·fact for a factor ≥ 0, and ≥ for one ≤ 0.
        Linear rest = form;
        add_scaled(rest, fact, -factor);
        const Interval other = bounds(rest, depth - 1);
        if (factor > 0) result.high = std::min(result.high, other.high);
        if (factor < 0) result.low = std::max(result.low, other.low);
      }
    }
    return result;
  }

 private:
  // Factors with which the fact cancels a term of the form.
  static std::vector<int64_t> useful_factors(const Linear& form, const Linear& fact) {
    std::vector<int64_t> factors;
    for (const Linear::Term& mine : form.terms)
      for (const Linear::Term& theirs : fact.terms)
        if (mine.factor % theirs.factor == 0 && equal(mine.atom, theirs.atom))
          factors.push_back(mine.factor / theirs.factor);
    return factors;
  }

  Interval plain_bounds(const Linear& form, int depth) const {
    Interval total{form.base, form.base};
    for (const Linear::Term& term : form.terms)
      total = total + scaled(atom_bounds(term.atom, depth), term.factor);
    return total;
  }

  Interval bounds_of(const Expr& expr, int depth) const { return bounds(linear_of(expr), depth); }

  Interval atom_bounds(const Expr& atom, int depth) const {
    if (is_float(atom->dtype)) return {-kFar, kFar};
    const Interval whole = range_of_type(atom->dtype);
    const Interval result = value_bounds(*atom, depth);
    // What does not fit the type may have wrapped.
    if (atom->dtype != DType::i64 && (result.low < whole.low || result.high > whole.high))
      return whole;
    return result;
  }

  Interval value_bounds(const ExprNode& node, int depth) const {
    const Interval whole = range_of_type(node.dtype);
    const auto arg = [&](size_t i) {
      return is_float(node.args[i]->dtype) ? Interval{-kFar, kFar} : bounds_of(node.args[i], depth);
    };
    switch (node.op) {
      case Op::axis:
        return {0, axes_[static_cast<size_t>(node.id)].extent - 1};
      case Op::cast:
        return is_float(node.args[0]->dtype) ? whole : arg(0);
      case Op::saturate: {
        const Interval value = arg(0);
        return {std::clamp(value.low, whole.low, whole.high),
                std::clamp(value.high, whole.low, whole.high)};
      }
      case Op::neg:
        return scaled(arg(0), -1);
      case Op::add:
        return arg(0) + arg(1);
      case Op::sub:
        return arg(0) + scaled(arg(1), -1);
      case Op::mul:
        return product(arg(0), arg(1));
      case Op::min: {
        const Interval a = arg(0), b = arg(1);
        return {std::min(a.low, b.low), std::min(a.high, b.high)};
      }
      case Op::max: {
        const Interval a = arg(0), b = arg(1);
        return {std::max(a.low, b.low), std::max(a.high, b.high)};
      }
      case Op::select: {
        const Interval a = arg(1), b = arg(2);
        return {std::min(a.low, b.low), std::max(a.high, b.high)};
      }
      case Op::div:
      case Op::mod:
        return division_bounds(node, arg(0), arg(1));
      default:
        return whole;
    }
  }

  static Interval division_bounds(const ExprNode& node, Interval a, Interval b) {
    if (b.low != b.high || b.low <= 0) return range_of_type(node.dtype);
    const auto quotient = [&](int64_t x) { return fold_int(Op::div, DType::i64, x, b.low); };
    if (node.op == Op::div) return {quotient(a.low), quotient(a.high)};
    if (quotient(a.low) != quotient(a.high)) return {0, b.low - 1};
    return {a.low - quotient(a.low) * b.low, a.high - quotient(a.low) * b.low};
  }

  // g·form + base ≤ 0 of integers says form + ceil(base / g) ≤ 0.
  void add_fact(Linear fact) {
    int64_t g = 0;
    for (const Linear::Term& term : fact.terms) g = std::gcd(g, term.factor);
    if (g > 1) {
      for (Linear::Term& term : fact.terms) term.factor /= g;
      fact.base = -fold_int(Op::div, DType::i64, -fact.base, g);
    }
    facts_.push_back(std::move(fact));
  }

  void learn(const Expr& condition, bool holds) {
    const ExprNode& node = *condition;
    switch (node.op) {
      case Op::logical_not:
        return learn(node.args[0], !holds);
      case Op::logical_and:
      case Op::logical_or:
        if ((node.op == Op::logical_and) != holds) return;  // one of them, unknown which
        learn(node.args[0], holds);
        learn(node.args[1], holds);
        return;
      case Op::eq:
      case Op::ne:
      case Op::lt:
      case Op::le:
        break;
      default:
        return;
    }
    if (is_float(node.args[0]->dtype)) return;
    Linear difference = linear_of(node.args[0]);  // left - right
    add_scaled(difference, linear_of(node.args[1]), -1);
    if (node.op == Op::eq || node.op == Op::ne) {
      if ((node.op == Op::eq) != holds) return;
      Linear opposite;
      add_scaled(opposite, difference, -1);
      add_fact(std::move(opposite));
    } else if (holds) {
      difference.base += node.op == Op::lt ? 1 : 0;
    } else {
      Linear opposite;
      add_scaled(opposite, difference, -1);
      opposite.base += node.op == Op::le ? 1 : 0;
      difference = std::move(opposite);
    }
    add_fact(std::move(difference));
  }

  std::span<const Axis> axes_;
  std::vector<Linear> facts_;  // each is at most 0
};

// -- trying all values
// -----------------------------------------------------------------------------

bool has_load(const Expr& expr) {
  bool found = false;
  walk(expr, [&](const ExprNode& node) { found = found || node.op == Op::load; });
  return found;
}

void collect_axes(const Expr& expr, std::vector<int32_t>& axes) {
  walk(expr, [&](const ExprNode& node) {
    if (node.op == Op::axis && std::find(axes.begin(), axes.end(), node.id) == axes.end())
      axes.push_back(node.id);
  });
}

// The value at one point, for integers; nullopt if floats come in.
std::optional<int64_t> value_at(const Expr& expr, std::span<const Expr> point) {
  const Expr value = substitute_axes(expr, point);
  if (!is_constant(value) || is_float(value->dtype)) return std::nullopt;
  return value->int_value;
}

bool holds_everywhere(const Expr& index, int64_t size, std::span<const Axis> axes,
                      std::span<const Guard> guards) {
  std::vector<int32_t> used;
  collect_axes(index, used);
  std::vector<const Guard*> usable;
  for (const Guard& guard : guards) {
    if (has_load(guard.condition)) continue;
    usable.push_back(&guard);
    collect_axes(guard.condition, used);
  }
  double points = 1;
  for (const int32_t axis : used)
    points *= static_cast<double>(axes[static_cast<size_t>(axis)].extent);
  if (points > static_cast<double>(kMostTried)) return false;
  std::vector<int64_t> values(axes.size(), 0);
  std::vector<Expr> point(axes.size(), index_constant(0));
  for (;;) {
    const auto value = value_at(index, point);
    if (!value) return false;
    if (*value < 0 || *value >= size) {
      const bool excluded = std::any_of(usable.begin(), usable.end(), [&](const Guard* guard) {
        const auto truth = value_at(guard->condition, point);
        return truth && (*truth != 0) != guard->holds;
      });
      if (!excluded) return false;
    }
    size_t i = 0;
    for (; i < used.size(); ++i) {
      const size_t axis = static_cast<size_t>(used[i]);
      values[axis] = values[axis] + 1 == axes[axis].extent ? 0 : values[axis] + 1;
      point[axis] = index_constant(values[axis]);
      if (values[axis] != 0) break;
    }
    if (i == used.size()) return true;
  }
}

}  // namespace

IndexRange prove_index(const Expr& index, int64_t size, std::span<const Axis> axes,
                       std::span<const Guard> guards) {
  IndexRange result;
  result.found = Prover(axes, guards).bounds(linear_of(index), 2);
  if (result.found.low >= 0 && result.found.high < size) return result;
  if (has_load(index)) {
    result.proof = RangeProof::data;
  } else if (!holds_everywhere(index, size, axes, guards)) {
    result.proof = RangeProof::outside;
  }
  return result;
}

}  // namespace hone
