// SPDX-License-Identifier: Apache-2.0
//
// The bytes of each message, as device-agent/PROTOCOL.md lists them. Readers do not trust the
// sender.
#pragma once

#include <span>

#include "device/session.h"

namespace hone {

Message set_up_message(std::span<const BufferSpec> buffers);
// A part of an image; `crc` is of the whole.
Message image_message(uint64_t hash, std::span<const uint8_t> image, uint32_t crc, size_t offset,
                      size_t count);
Message run_message(const RunRequest& request, uint64_t image_hash);

Result<DeviceInfo> read_hello(const Message& message);
Result<SetUpReply> read_set_up_reply(const Message& message);
Result<OutputCheck> read_check(const Message& message);
Result<RunReply> read_run_reply(const Message& message);
// What the agent said about a message that it could not serve.
std::string read_refusal(const Message& message);

constexpr size_t kImageHeaderBytes = 20;

}  // namespace hone
