// SPDX-License-Identifier: Apache-2.0
//
// An agent behind the stdin and stdout of a command: the agent itself, an emulator that runs it, or
// whatever reaches another machine.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/transport.h"

namespace hone {

// Error: the command cannot be started.
Result<std::unique_ptr<Transport>> start_pipe(const std::vector<std::string>& argv);

}  // namespace hone
