// SPDX-License-Identifier: Apache-2.0
//
// Questions about iterations that several loop primitives ask before they change an order. All
// answers are sound and incomplete: "no" may mean that a proof was not found.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "ir/program.h"

namespace hone {

// Error if the loop is gone, else nothing.
Result<void> check_alive(const Program& program, LoopId loop);

// Whether the values of `forms` determine the value of each loop in `wanted` while the loops in
// `varying` run and all others stand still. (i*4+j with j below 4 determines both; with j up to 5
// neither.)
bool determines(const Program& program, std::span<const Affine> forms,
                std::span<const LoopId> varying, std::span<const LoopId> wanted);

// Loops that drive the axes of one kind of a block, each once. Loops of extent 1 never occur in
// bindings.
std::vector<LoopId> loops_of_axes(const Block& block, AxisKind kind);

// Name of a reduce axis whose binding uses the loop; null: none does.
const Axis* reduce_axis_of(const Block& block, LoopId loop);

// Whether every value that a block below `loop` reads from another block below `loop` was written
// earlier in the same iteration of the loops in `fixed` (which lie above those blocks). Then
// iterations may run in any order. The error names the two blocks.
Result<void> check_iterations_apart(const Program& program, LoopId loop,
                                    const std::vector<LoopId>& fixed);

// Whether the terms of a reduction may be taken in any order: a single update `x = x ∘ term` with
// an associative and commutative ∘, or a tuple (whose combiners are so by contract of the
// language).
bool is_order_free(const Block& block);

}  // namespace hone
