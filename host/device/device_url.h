// SPDX-License-Identifier: Apache-2.0
//
// How a user names a device:
//   local                     the agent of this machine
//   exec:COMMAND              any command whose stdin and stdout lead to an agent. Words are split
//   at
//                             blanks, quotes hold them together, {agent} stands for the path of the
//                             agent binary that fits the target.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/transport.h"

namespace hone {

struct DeviceUrl {
  std::string text;                  // as the user wrote it
  std::vector<std::string> command;  // empty: local
  bool emulated = false;             // the command is an emulator: its time is not a core's time

  bool local() const { return command.empty(); }
};

Result<DeviceUrl> parse_device_url(std::string_view text);

// "x86_64", "aarch64", "armv7" or "riscv64": the agent that runs on this machine.
std::string_view host_agent();

// Starts or reaches the agent. `agents_folder` holds hone-agent-<agent>; `agent` is the one that
// fits the target and must be the host's own for `local`.
Result<std::unique_ptr<Transport>> connect(const DeviceUrl& url, const std::string& agents_folder,
                                           std::string_view agent);

}  // namespace hone
