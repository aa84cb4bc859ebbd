// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "lower/kernel.h"
#include "target/target.h"

namespace hone {

// Loops that carry registers (register tiles) must fit the machine's registers, or the tile would
// live in memory after all. Error: the loop, how many it needs, how many there are. Other code may
// spill.
Result<void> check_registers(const Kernel& kernel, const Target& target);

}  // namespace hone
