// SPDX-License-Identifier: Apache-2.0
//
// Functions that no instruction set has, as expressions of the operations that all have. Both code
// generators use these, so machine code and C agree, and neither needs a libm on the device.
#pragma once

#include "ir/expr.h"

namespace hone {

// exp, log, rsqrt, tanh, sigmoid, erf, pow, and mod of floats.
bool is_expanded(Op op, DType dtype);

// `a` and `b` are leaves (they appear many times) of f32 or f64; b is null where the operation
// takes one operand. `wide`: f64 is there to compute f32's pow in. Errors are a few units in the
// last place; pow without `wide` and of f64 loses up to log2(|b * log2 a|) bits more, and mod is
// exact while the quotient has fewer bits than the type's mantissa.
Expr expand_math(Op op, const Expr& a, const Expr& b, bool wide);

}  // namespace hone
