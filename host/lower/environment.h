// SPDX-License-Identifier: Apache-2.0
//
// What is known about loop variables at a point of the lowered code, and forms under that
// knowledge.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/program.h"
#include "lower/kernel.h"

namespace hone {

// How a loop of the Program stands at this point.
struct Binding {
  enum class Kind : uint8_t {
    unbound,   // the point is outside the loop
    constant,  // unrolled: one known iteration
    variable,  // var * step + offset
    lanes,     // `lanes` iterations at once, the first of them var * step + offset
  };
  Kind kind = Kind::unbound;
  int64_t low = 0;  // bounds of the iteration, all lanes included
  int64_t high = 0;
  VarId var;  // invalid: only the offset counts
  int64_t step = 1;
  int64_t offset = 0;
  int lanes = 1;
};

// What versioning established about the bound part of a predicate's form:
//   limit        part ≤ high (full tiles)
//   replacement  part is `low` = `high` (the tile that is cut), or the variable `var` in [low,
//   high]
//                (a tile that was moved back)
struct Fact {
  Affine part;
  bool replaces = false;
  VarId var;  // invalid: the constant `low`
  int64_t low = INT64_MIN;
  int64_t high = INT64_MAX;
};

// A form at a point: constant + Σ terms + lane_stride · lane, with bounds over all that may vary.
struct Resolved {
  struct Term {
    Expr value;  // i64 scalar over Kernel variables
    int64_t scale;
  };
  std::vector<Term> terms;
  int64_t constant = 0;
  int64_t lane_stride = 0;
  bool lanes_bend = false;  // not linear in the lane: lane_stride means nothing
  Interval range;           // lanes and unbound loops included

  bool is_constant() const { return terms.empty() && lane_stride == 0 && !lanes_bend; }
};

class LoopEnvironment {
 public:
  explicit LoopEnvironment(const Program& program)
      : program_(&program), bindings_(static_cast<size_t>(program.loops.size())) {}

  const Binding& binding(LoopId loop) const { return bindings_[static_cast<size_t>(loop.value)]; }
  void bind_constant(LoopId loop, int64_t value);
  void bind_variable(LoopId loop, VarId var, Interval range);
  void bind_lanes(LoopId loop, int64_t first, int lanes);
  void bind(LoopId loop, const Binding& binding) {
    bindings_[static_cast<size_t>(loop.value)] = binding;
  }
  void add_fact(Fact fact) { facts_.push_back(std::move(fact)); }
  bool is_settled(const Affine& part, int64_t high) const;  // known, or known to be at most `high`
  // A variable that holds (loop / div) mod `mod`, bound where the loop is.
  void add_digit(LoopId loop, int64_t div, int64_t mod, VarId var);
  bool has_digit(LoopId loop, int64_t div, int64_t mod) const;

  // The part of a form whose loops are bound to variables, and the rest (constants and the base
  // stay with the rest, so that equal tiles have equal parts).
  void split(const Affine& form, Affine& bound, Affine& rest) const;

  Resolved resolve(const Affine& form) const;
  Interval range(const Affine& form) const;
  bool has_unbound(const Affine& form) const;  // a loop that is still to come
  // The scalar part of a resolved form (constant added last, so that addresses share the rest).
  static Expr scalar(const Resolved& form);

 private:
  Expr digit_value(const AffineTerm& term) const;
  Interval source_interval(const AffineTerm& term) const;
  void add_term(const AffineTerm& term, Resolved& result) const;
  void add_lane_term(const AffineTerm& term, Resolved& result) const;
  bool uses_lanes(const Affine& form) const;
  void apply_facts(Affine& form, Resolved& result) const;
  void apply_limits(const Affine& form, Interval& range) const;

  struct Digit {
    LoopId loop;
    int64_t div;
    int64_t mod;
    VarId var;
  };

  const Program* program_;
  std::vector<Binding> bindings_;
  std::vector<Fact> facts_;
  std::vector<Digit> digits_;
};

// How often `part` (all its terms, in proportion) stands in `form`, with no other term of its
// loops; then `rest` is what is left. nullopt: it does not.
std::optional<int64_t> multiple_of(const Affine& form, const Affine& part, Affine& rest);

}  // namespace hone
