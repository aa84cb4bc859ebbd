// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "frontend/tasks.h"
#include "measure/answer.h"
#include "store/database.h"
#include "tune/tune.h"

namespace hone {

// A task's arguments in the order of a Kernel's slots, with what the device fills them with.
TaskData to_task_data(const Task& task);

// The right answer: of the unscheduled Program, built for this machine and run here by the local agent,
// whatever device is tuned. Kept in the database, since it may take seconds.
Result<Answer> reference_answer(const Task& task, const TaskData& data, const Places& places,
                                Database& database);

}  // namespace hone
