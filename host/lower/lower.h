// SPDX-License-Identifier: Apache-2.0
//
// Program → Kernel, as one logged pipeline of passes.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "lower/kernel.h"
#include "target/target.h"

namespace hone {

struct LowerOptions {
  // Called after each pass with its name and the text of the result; null: no log, no cost.
  std::function<void(std::string_view pass, const std::string& text)> log;
};

// Arguments of the Kernel: inputs and params, then outputs, each in the order of the Program's
// buffers; behind them, where constants_bytes > 0, one pointer to constants made ahead of time.
// Error: what the target cannot do as scheduled, with block, loop or buffer and the reason (a
// register buffer with a variable index, a shift tail where it is not legal, too many registers,
// …).
Result<Kernel> lower(const Program& program, const Target& target, const LowerOptions& options);

// The Kernel that makes the constants: the nests that lower() leaves out, with the same arguments
// in the same slots. It takes no workspace, and runs in line even where a loop is parallel. Without
// a statement where the Program has no constants.
Result<Kernel> lower_constants(const Program& program, const Target& target,
                               const LowerOptions& options);

}  // namespace hone
