// SPDX-License-Identifier: Apache-2.0
//
// Small tasks of many kinds, their right answers, and a database as if they had been tuned.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "emit/emit.h"
#include "frontend/tasks.h"
#include "store/database.h"
#include "target/target.h"

namespace hone {

// Nothing divides anything, each dtype occurs, names need changing.
std::vector<Task> sample_tasks();

// By the naive Program, evaluated one expression at a time; as the device agent says it.
Result<GoldenVectors> evaluated_golden(const Task& task);

// One candidate a task, drawn with `seed` among those that the target accepts, as a record of
// `device`.
void add_random_records(Database& database, const std::vector<Task>& tasks, const Target& target,
                        const std::string& device, uint64_t seed);

}  // namespace hone
