// SPDX-License-Identifier: Apache-2.0
//
// Devices to test with, and the hand-made candidates (candidates.c) linked for each of them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/session.h"

namespace hone {

struct TestDevice {
  std::string name;
  std::string url;
  std::string agent;
};
const std::vector<TestDevice>& test_devices();

Result<Session> open_session(const TestDevice& device);

// All candidates in one image; each is another entry.
struct CandidateImage {
  std::vector<uint8_t> bytes;
  int64_t bss_bytes = 0;
  std::map<std::string, int64_t> entries;  // offsets
};
// Compiles and links tests/device/candidates.c for the device's load address.
Result<CandidateImage> build_candidates(const TestDevice& device, const DeviceInfo& info);

}  // namespace hone
