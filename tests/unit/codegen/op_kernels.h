// SPDX-License-Identifier: Apache-2.0
//
// Kernels that apply every operation of a type to the same operands, and what must come out.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lower/kernel.h"
#include "runner.h"

namespace hone::test {

struct OpCheck {
  std::string name;
  DType dtype = DType::f32;  // of the result
  BufferId buffer;
  std::vector<Expr> expected;  // constants
  // How far a float may be off, in units of the last place of its type; infinite: not compared.
  double tolerance = 0;
};

struct OpKernel {
  Kernel kernel;
  Run run;
  std::vector<OpCheck> checks;
  bool denormals = true;  // false: the machine may give 0 for a denormal f32
};

struct OpKernelOptions {
  DType dtype = DType::f32;
  int lanes = 1;
  bool denormals = true;  // operands that are denormal, where the machine does not flush them
  bool casts = false;     // casts to every type; else all other operations
  bool f64 = true;        // may casts have f64 on their other side
};

OpKernel make_op_kernel(const OpKernelOptions& options);

// What is wrong in `after`, one line a check; empty: nothing.
std::string compare(const OpKernel& kernel, const std::vector<Bytes>& after);

}  // namespace hone::test
