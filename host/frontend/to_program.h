// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "frontend/graph.h"
#include "ir/program.h"

namespace hone {

// One block a stage in its own nest of loops, in the order of the text: spatial loops outside,
// reduce loops inside. A block, its axes and its buffers carry the names of the text; loops do too,
// with a number behind where an earlier nest took the name. Buffer numbers are the Graph's.
// Intermediate tensors are temps in the workspace.
Program to_program(const Graph& graph, const std::string& name);

}  // namespace hone
