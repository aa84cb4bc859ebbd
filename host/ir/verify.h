// SPDX-License-Identifier: Apache-2.0
//
// What every Program keeps, before and after each primitive. That a schedule computes the same is
// not decided here but by the interpreter (check_equivalent).
#pragma once

#include "base/result.h"
#include "ir/program.h"

namespace hone {

// Error: the first breach, with the names of program, block, loop, axis or buffer.
//   structure   rows reached once, alive, with the right parent; names unique; extents at least 1
//   bindings    over loops around the block; every axis in its domain whenever the predicates hold
//   bodies      types, ranks and axes exist; init only for what the body accumulates; no reduce
//               axis in the index of a store, none bound to a parallel loop
//   memory      every index in its buffer for all values of the axes, under the conditions of the
//               selects around it; inputs never written, outputs written, nothing read before a
//               block above wrote it; scopes only for temps
//   constants   as check_constants says
// Ranges are proved by intervals, and where these are too weak by trying all values if they are few
// (2^18). The index of a load that itself depends on data (E[idx[i]]) is taken on trust.
Result<void> verify(const Program& program);

// Whether a block of the nest writes a buffer of scope constant.
bool makes_constants(const Program& program, const Node& nest);

// Buffers of scope constant are made ahead of all calls: a top-level nest that writes one writes
// nothing else, and reads params and constants alone.
Result<void> check_constants(const Program& program);

}  // namespace hone
