// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/database.h"

namespace hone {

struct RecordWish {
  std::string workload;  // hash
  std::string target;
  std::optional<std::string> device;
  std::optional<int64_t> threads;
};

// The fastest record. Measurements of unlike kinds do not compare: hardware goes before an
// emulator, and time before cycles before instructions. Where several devices, thread counts or
// fingerprints have measured, a warning says that one was chosen. nullopt: there is none.
Result<std::optional<TrialRow>> best_record(Database& database, const RecordWish& wish,
                                            std::vector<std::string>& warnings);

}  // namespace hone
