// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "lower/kernel.h"

namespace hone {

// Writes exp, log, rsqrt, tanh, sigmoid, erf and pow of f32 out as arithmetic on the same lanes, so that no
// target needs a library. Error: such a function of f64.
Result<void> write_out_math(Kernel& kernel);

// One function of an f32 expression, written out.
Expr write_out(Op op, const Expr& x);
Expr write_out_pow(const Expr& x, const Expr& y);

}  // namespace hone
