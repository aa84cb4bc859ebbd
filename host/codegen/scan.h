// SPDX-License-Identifier: Apache-2.0
//
// What a piece of a Kernel touches: which registers a loop carries, what an outlined body needs
// from around it.
#pragma once

#include <set>

#include "lower/kernel.h"

namespace hone {

struct Touched {
  std::set<int32_t> vars_read;
  std::set<int32_t> vars_bound;
  std::set<int32_t> registers_read;
  std::set<int32_t> registers_set;
  std::set<int32_t> buffers;
  bool parallel = false;  // a parallel loop is inside
};

Touched touched_by(const KernelBody& body);
void add_touched(const Expr& expr, Touched& touched);

// True if evaluating it reads memory, so that it must not be done where the Kernel does not.
bool reads_memory(const Expr& expr);

// Arithmetic of index variables and constants alone, which may be done in the width of a pointer;
// with `allow_casts` also of data that becomes an index.
bool is_pure_index(const Expr& expr, bool allow_casts);

// Where a stack buffer's memory is: in the frame of the only parallel body that touches it, else in
// the entry's. `inside` is such a body; the entry asks with null.
std::set<int32_t> stack_buffers_of(const Kernel& kernel, const KernelFor* inside);

}  // namespace hone
