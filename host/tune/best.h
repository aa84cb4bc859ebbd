// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "frontend/tasks.h"
#include "schedule/trace.h"
#include "store/database.h"
#include "target/target.h"

namespace hone {

struct BestRecord {
  Trace trace;  // closed
  TrialRow row;
};

// The fastest measured trial of the task for the target, on any device and thread count that `filter`
// leaves open. Error: there is none.
Result<BestRecord> best_record(Database& database, const Task& task, const Target& target,
                               TrialFilter filter);

}  // namespace hone
