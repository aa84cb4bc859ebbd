// SPDX-License-Identifier: Apache-2.0
//
// Where each buffer of a Program lives in a Kernel. A temp is shrunk to the region that is live at
// its place: the deepest loop that holds all its accesses. Inside that loop an element's address is
// its index minus the region's base.
#pragma once

#include <vector>

#include "ir/program.h"
#include "ir/region.h"
#include "lower/kernel.h"

namespace hone {

struct Storage {
  LoopId place;                  // deepest loop around all accesses; invalid: the whole Program
  Region region;                 // base over `place` and the loops above it
  std::vector<int64_t> strides;  // elements, row-major over the region's extents
  int64_t elements = 1;
  bool in_registers = false;
  BufferId kernel_buffer;  // row of Kernel::buffers, unless in registers
};

// By BufferId; adds the rows to kernel.buffers and sets its workspace sizes. Temps get storage for
// `nests`, those of program.body that the Kernel runs. Constants keep their whole shape: they are
// written by one Kernel and read by another. Error: a register buffer whose accesses are not all
// inside one parallel iteration.
Result<std::vector<Storage>> plan_storage(const Program& program, const std::vector<Node>& nests,
                                          Kernel& kernel);

}  // namespace hone
