// SPDX-License-Identifier: Apache-2.0
//
// A byte stream to an agent. It may lose and damage bytes; frames take care of that.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/process.h"
#include "base/result.h"

namespace hone {

class Transport {
 public:
  virtual ~Transport() = default;
  // All of `bytes`. Error: the other side is gone, or did not take them before the deadline.
  virtual Result<void> send(std::span<const uint8_t> bytes, Deadline deadline) = 0;
  // At least one byte; nullopt: none came before the deadline. Error: the other side is gone, and
  // why.
  virtual Result<std::optional<size_t>> receive(std::span<uint8_t> space, Deadline deadline) = 0;
  virtual void close() = 0;
  virtual std::string describe() const = 0;  // for messages: "a pipe to hone-agent-x86_64"
};

}  // namespace hone
