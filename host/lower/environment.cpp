// SPDX-License-Identifier: Apache-2.0
#include "lower/environment.h"

#include <algorithm>

namespace hone {
namespace {

// Divisors are positive here.
int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }
int64_t floor_mod(int64_t a, int64_t b) { return a - floor_div(a, b) * b; }

Interval digit_interval(Interval source, const AffineTerm& term) {
  const Interval q{floor_div(source.low, term.div), floor_div(source.high, term.div)};
  if (term.mod == 0) return q;
  if (floor_div(q.low, term.mod) == floor_div(q.high, term.mod))
    return {floor_mod(q.low, term.mod), floor_mod(q.high, term.mod)};
  return {0, term.mod - 1};
}

int64_t digit_of(int64_t source, const AffineTerm& term) {
  const int64_t q = floor_div(source, term.div);
  return term.mod == 0 ? q : floor_mod(q, term.mod);
}

Expr digit_expr(Expr source, const AffineTerm& term) {
  if (term.div != 1) source = binary(Op::div, source, index_constant(term.div));
  if (term.mod != 0) source = binary(Op::mod, source, index_constant(term.mod));
  return source;
}

bool same_digit(const AffineTerm& a, const AffineTerm& b) {
  if (a.loop != b.loop || a.div != b.div || a.mod != b.mod) return false;
  if (!a.inner && !b.inner) return true;
  return a.inner && b.inner && equal(*a.inner, *b.inner);
}

void add_to(Interval& sum, Interval range, int64_t scale) {
  sum.low += scale * (scale > 0 ? range.low : range.high);
  sum.high += scale * (scale > 0 ? range.high : range.low);
}

}  // namespace

std::optional<int64_t> multiple_of(const Affine& form, const Affine& part, Affine& rest) {
  if (part.terms.empty()) return std::nullopt;
  std::optional<int64_t> times;
  rest = form;
  for (const AffineTerm& term : part.terms) {
    const auto at = std::find_if(rest.terms.begin(), rest.terms.end(),
                                 [&](const AffineTerm& other) { return same_digit(term, other); });
    if (at == rest.terms.end() || at->scale % term.scale != 0) return std::nullopt;
    const int64_t ratio = at->scale / term.scale;
    if (times && *times != ratio) return std::nullopt;
    times = ratio;
    rest.terms.erase(at);
  }
  rest.base -= *times * part.base;
  std::vector<LoopId> loops;
  collect_loops(part, loops);
  for (const LoopId loop : loops)
    if (uses(rest, loop)) return std::nullopt;
  return times;
}

void LoopEnvironment::bind_constant(LoopId loop, int64_t value) {
  bind(loop, {Binding::Kind::constant, value, value, {}, 1, value, 1});
}

void LoopEnvironment::bind_variable(LoopId loop, VarId var, Interval range) {
  bind(loop, {Binding::Kind::variable, range.low, range.high, var, 1, 0, 1});
}

void LoopEnvironment::bind_lanes(LoopId loop, int64_t first, int lanes) {
  bind(loop, {Binding::Kind::lanes, first, first + lanes - 1, {}, 1, first, lanes});
}

void LoopEnvironment::add_digit(LoopId loop, int64_t div, int64_t mod, VarId var) {
  digits_.push_back({loop, div, mod, var});
}

bool LoopEnvironment::has_digit(LoopId loop, int64_t div, int64_t mod) const {
  return std::any_of(digits_.begin(), digits_.end(), [&](const Digit& digit) {
    return digit.loop == loop && digit.div == div && digit.mod == mod;
  });
}

void LoopEnvironment::split(const Affine& form, Affine& bound, Affine& rest) const {
  bound = affine_constant(0);
  rest = affine_constant(form.base);
  for (const AffineTerm& term : form.terms) {
    std::vector<LoopId> loops;
    collect_loops(Affine{{term}, 0}, loops);
    const bool varies = std::any_of(loops.begin(), loops.end(), [&](LoopId loop) {
      return binding(loop).kind == Binding::Kind::variable;
    });
    (varies ? bound : rest).terms.push_back(term);
  }
}

bool LoopEnvironment::has_unbound(const Affine& form) const {
  std::vector<LoopId> loops;
  collect_loops(form, loops);
  return std::any_of(loops.begin(), loops.end(),
                     [&](LoopId loop) { return binding(loop).kind == Binding::Kind::unbound; });
}

bool LoopEnvironment::uses_lanes(const Affine& form) const {
  std::vector<LoopId> loops;
  collect_loops(form, loops);
  return std::any_of(loops.begin(), loops.end(),
                     [&](LoopId loop) { return binding(loop).kind == Binding::Kind::lanes; });
}

Interval LoopEnvironment::source_interval(const AffineTerm& term) const {
  if (term.inner) return range(*term.inner);
  const Binding& at = binding(term.loop);
  if (at.kind == Binding::Kind::unbound) return {0, program_->loops[term.loop].extent - 1};
  return {at.low, at.high};
}

Expr LoopEnvironment::digit_value(const AffineTerm& term) const {
  if (term.inner) return digit_expr(scalar(resolve(*term.inner)), term);
  for (const Digit& digit : digits_)  // of loops with step 1 and offset 0
    if (digit.loop == term.loop && digit.div == term.div && digit.mod == term.mod)
      return var_expr(digit.var.value);
  const Binding& at = binding(term.loop);
  Expr value = binary(Op::mul, var_expr(at.var.value), index_constant(at.step));
  return digit_expr(binary(Op::add, value, index_constant(at.offset)), term);
}

// Values at each lane: a straight line gives a stride, anything else bends.
void LoopEnvironment::add_lane_term(const AffineTerm& term, Resolved& result) const {
  if (!term.inner && binding(term.loop).var.valid()) {
    const Binding& at = binding(term.loop);
    result.lanes_bend = result.lanes_bend || term.div != 1 || term.mod != 0;
    result.terms.push_back({var_expr(at.var.value), term.scale * at.step});
    result.constant += term.scale * at.offset;
    result.lane_stride += term.scale;
    add_to(result.range, digit_interval({at.low, at.high}, term), term.scale);
    return;
  }
  if (term.inner) {
    const Resolved source = resolve(*term.inner);
    if (!source.terms.empty() || source.lanes_bend) {
      result.lanes_bend = true;
      add_to(result.range, digit_interval(source.range, term), term.scale);
      return;
    }
  }
  int lanes = 1;
  int64_t first = 0;
  int64_t step = 1;
  if (term.inner) {
    const Resolved source = resolve(*term.inner);
    first = source.constant;
    step = source.lane_stride;
    std::vector<LoopId> loops;
    collect_loops(*term.inner, loops);
    for (const LoopId loop : loops) lanes = std::max(lanes, binding(loop).lanes);
  } else {
    first = binding(term.loop).offset;
    lanes = binding(term.loop).lanes;
  }
  const int64_t start = digit_of(first, term);
  const int64_t stride = lanes > 1 ? digit_of(first + step, term) - start : 0;
  int64_t low = start;
  int64_t high = start;
  for (int lane = 0; lane < lanes; ++lane) {
    const int64_t value = digit_of(first + lane * step, term);
    low = std::min(low, value);
    high = std::max(high, value);
    if (value != start + lane * stride) result.lanes_bend = true;
  }
  result.constant += term.scale * start;
  result.lane_stride += term.scale * stride;
  add_to(result.range, {low, high}, term.scale);
}

void LoopEnvironment::add_term(const AffineTerm& term, Resolved& result) const {
  if (!term.inner && binding(term.loop).kind == Binding::Kind::constant) {  // most terms are
    const int64_t value = term.scale * digit_of(binding(term.loop).low, term);
    result.constant += value;
    result.range.low += value;
    result.range.high += value;
    return;
  }
  const Affine single{{term}, 0};
  const Interval interval = digit_interval(source_interval(term), term);
  if (interval.low == interval.high) {
    result.constant += term.scale * interval.low;
    add_to(result.range, interval, term.scale);
    return;
  }
  if (uses_lanes(single)) return add_lane_term(term, result);
  add_to(result.range, interval, term.scale);
  if (has_unbound(single)) return;  // counts in the range only
  if (!term.inner && term.div == 1 && term.mod == 0) {
    const Binding& at = binding(term.loop);
    result.terms.push_back({var_expr(at.var.value), term.scale * at.step});
    result.constant += term.scale * at.offset;
    return;
  }
  result.terms.push_back({digit_value(term), term.scale});
}

void LoopEnvironment::apply_facts(Affine& form, Resolved& result) const {
  for (const Fact& fact : facts_) {
    if (!fact.replaces) continue;
    Affine rest;
    const auto times = multiple_of(form, fact.part, rest);
    if (!times) continue;
    form = rest;
    add_to(result.range, {fact.low, fact.high}, *times);
    if (fact.var.valid()) {
      result.terms.push_back({var_expr(fact.var.value), *times});
    } else {
      result.constant += *times * fact.low;
    }
  }
}

// Limits whose part stands in the form, each for itself: two may share loops.
void LoopEnvironment::apply_limits(const Affine& form, Interval& range) const {
  for (const Fact& fact : facts_) {
    if (fact.replaces) continue;
    Affine rest;
    const auto times = multiple_of(form, fact.part, rest);
    if (!times) continue;
    Interval part = range_of(fact.part, program_->extents());
    part.high = std::min(part.high, fact.high);
    part.low = std::max(part.low, fact.low);
    Interval limited{rest.base, rest.base};
    add_to(limited, part, *times);
    for (const AffineTerm& term : rest.terms)
      add_to(limited, digit_interval(source_interval(term), term), term.scale);
    range.low = std::max(range.low, limited.low);
    range.high = std::min(range.high, limited.high);
  }
}

bool LoopEnvironment::is_settled(const Affine& part, int64_t high) const {
  return std::any_of(facts_.begin(), facts_.end(), [&](const Fact& fact) {
    return equal(fact.part, part) && (fact.replaces || fact.high <= high);
  });
}

Resolved LoopEnvironment::resolve(const Affine& form) const {
  Resolved result;
  Affine left = form;
  apply_facts(left, result);
  result.constant += left.base;
  result.range.low += left.base;
  result.range.high += left.base;
  for (const AffineTerm& term : left.terms) add_term(term, result);
  apply_limits(form, result.range);
  return result;
}

Interval LoopEnvironment::range(const Affine& form) const { return resolve(form).range; }

Expr LoopEnvironment::scalar(const Resolved& form) {
  Expr sum;
  for (const Resolved::Term& term : form.terms) {
    Expr part = binary(Op::mul, term.value, index_constant(term.scale));
    sum = sum ? binary(Op::add, sum, part) : part;
  }
  if (!sum) return index_constant(form.constant);
  return binary(Op::add, sum, index_constant(form.constant));
}

}  // namespace hone
