// SPDX-License-Identifier: Apache-2.0
//
// Options that several commands share: which task of which workload file, which target, which schedule.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/command.h"
#include "frontend/tasks.h"
#include "schedule/trace.h"
#include "target/target.h"
#include "tune/tune.h"

namespace hone {

struct Selection {
  std::vector<std::string> workloads;  // files
  std::string task;               // name in them; empty: all, or the only one
  std::string target = "native";
  // -- one schedule of the task, at most one of these ways; none: the naive Program
  std::string trace_file;
  int64_t skeleton = -1;          // of the target's space …
  std::string decisions;          // … with these, or drawn with `seed` when empty
  uint64_t seed = 0;
  std::string best_of;            // database: the best record for the target
};

void add_workload_options(CLI::App& command, Selection& selection);
void add_target_option(CLI::App& command, Selection& selection);
void add_schedule_options(CLI::App& command, Selection& selection);

// All tasks of the files, or the one that is named. Error: no such name, with those there are; two of one
// name.
Result<std::vector<Task>> select_tasks(const Selection& selection);
// Exactly one.
Result<Task> select_task(const Selection& selection);

// The closed trace that the options name (empty for the naive Program).
Result<Trace> select_trace(const Selection& selection, const Task& task, const Target& target);

Places places_of(const Installation& installation);

}  // namespace hone
