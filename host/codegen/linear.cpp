// SPDX-License-Identifier: Apache-2.0
#include "codegen/linear.h"

#include <algorithm>

namespace hone {
namespace {

void add_term(LinearForm& form, const Expr& atom, int64_t factor) {
  for (LinearTerm& term : form.terms) {
    if (!equal(term.atom, atom)) continue;
    term.factor += factor;
    return;
  }
  form.terms.push_back({atom, factor});
}

void add_scaled(LinearForm& form, const Expr& expr, int64_t factor) {
  switch (expr->op) {
    case Op::constant:
      form.constant += expr->int_value * factor;
      return;
    case Op::add:
      add_scaled(form, expr->args[0], factor);
      add_scaled(form, expr->args[1], factor);
      return;
    case Op::sub:
      add_scaled(form, expr->args[0], factor);
      add_scaled(form, expr->args[1], -factor);
      return;
    case Op::neg:
      add_scaled(form, expr->args[0], -factor);
      return;
    case Op::mul:
      for (const int i : {0, 1}) {
        const Expr& scale = expr->args[static_cast<size_t>(i)];
        if (!is_constant(scale)) continue;
        add_scaled(form, expr->args[static_cast<size_t>(1 - i)], factor * scale->int_value);
        return;
      }
      break;
    default:
      break;
  }
  add_term(form, expr, factor);
}

LinearForm sum(LinearForm left, const LinearForm& right, int64_t factor) {
  for (const LinearTerm& term : right.terms) add_term(left, term.atom, term.factor * factor);
  left.constant += right.constant * factor;
  std::erase_if(left.terms, [](const LinearTerm& term) { return term.factor == 0; });
  return left;
}

std::optional<int64_t> constant_lanes(const Expr& vector) {
  if (vector->op != Op::broadcast || !is_constant(vector->args[0])) return std::nullopt;
  return vector->args[0]->int_value;
}

std::optional<StridedIndex> scaled(const Expr& vector, int64_t factor) {
  auto form = strided_form(vector);
  if (!form) return std::nullopt;
  return StridedIndex{sum({}, form->first, factor), form->stride * factor};
}

}  // namespace

LinearForm linear_form(const Expr& scalar) {
  LinearForm form;
  // Only i64 is known not to overflow; anything else is one atom.
  if (scalar->dtype == DType::i64 || scalar->op == Op::constant)
    add_scaled(form, scalar, 1);
  else
    add_term(form, scalar, 1);
  std::erase_if(form.terms, [](const LinearTerm& term) { return term.factor == 0; });
  return form;
}

std::optional<StridedIndex> strided_form(const Expr& vector) {
  if (vector->dtype != DType::i64) return std::nullopt;
  switch (vector->op) {
    case Op::broadcast:
      return StridedIndex{linear_form(vector->args[0]), 0};
    case Op::ramp:
      if (!is_constant(vector->args[1])) return std::nullopt;
      return StridedIndex{linear_form(vector->args[0]), vector->args[1]->int_value};
    case Op::add:
    case Op::sub: {
      const auto left = strided_form(vector->args[0]);
      const auto right = strided_form(vector->args[1]);
      if (!left || !right) return std::nullopt;
      const int64_t sign = vector->op == Op::add ? 1 : -1;
      return StridedIndex{sum(left->first, right->first, sign),
                          left->stride + sign * right->stride};
    }
    case Op::mul:
      if (const auto factor = constant_lanes(vector->args[1]))
        return scaled(vector->args[0], *factor);
      if (const auto factor = constant_lanes(vector->args[0]))
        return scaled(vector->args[1], *factor);
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace hone
