// SPDX-License-Identifier: Apache-2.0
//
// The straight path: workload → task → space → candidates → images → outcomes → records. tune.cpp is
// this path as code.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "frontend/tasks.h"
#include "measure/outcome.h"
#include "space/generate.h"
#include "store/database.h"
#include "target/target.h"

namespace hone {

// Where things are that a run needs beside its workload.
struct Places {
  std::string targets_folder;
  std::string agents_folder;
  std::vector<std::string> worker_command;  // starts a build worker; the target's name is appended
};

struct TuneOptions {
  std::string device = "local";
  std::string target;          // empty: native for local, else it must be given
  std::string strategy = "random";
  int64_t trials = 128;        // for each task, those in the database included
  double seconds = 0;          // for each task, 0: no limit
  int64_t threads = 1;         // of parallel loops
  int64_t workers = 0;         // build workers; 0: one less than the machine has cores, at least one
  uint64_t seed = 0;
  double deadline_seconds = 2;  // of one candidate; more where the best so far says so
};

struct Progress {
  const Task* task = nullptr;
  int64_t trials = 0;  // ended, with those found in the database
  int64_t wanted = 0;
  int64_t failures = 0;
  std::optional<double> best;  // of one call
  TimeUnit unit = TimeUnit::ns;
  bool new_best = false;
  double seconds = 0;
  double seconds_left = 0;
};

struct TaskReport {
  std::string task;
  std::string target;
  std::string device;
  TimeUnit unit = TimeUnit::ns;
  bool emulated = false;
  std::optional<double> best;
  double gflops = 0;  // useful operations of the task over the best time; 0 unless the unit is ns
  int64_t trials = 0;
  int64_t resumed = 0;  // of them found in the database
  std::map<std::string, int64_t> failures;  // kind → count
  double seconds = 0;   // of this run
  double trials_per_second = 0;
  bool interrupted = false;
  bool exhausted = false;  // the space had no further candidates
};

// Tunes one task. `stop` ends it early but cleanly. Error: what makes going on pointless (no device, no
// rule for the target, a database that cannot be written).
Result<TaskReport> tune_task(const Task& task, const TuneOptions& options, const Places& places,
                             Database& database, const std::function<void(const Progress&)>& progress,
                             const std::atomic<bool>& stop);

}  // namespace hone
