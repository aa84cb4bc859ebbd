// SPDX-License-Identifier: Apache-2.0
//
// Best records → a folder with a static C library: header, archive for the target, the same kernels
// as C99, self-test, manifest, README, CMakeLists. docs/emitting.md says what stands in it and why.
//
// Everything is made in memory first; the folder appears (or changes) in one rename, and the same
// request with the same database gives the same bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "emit/golden.h"
#include "frontend/tasks.h"
#include "store/database.h"
#include "target/target.h"

namespace hone {

struct EmitBudgets {                            // bytes; not set: no limit
  std::optional<int64_t> flash = std::nullopt;  // code and constants of the whole library
  std::optional<int64_t> ram = std::nullopt;    // workspace, constants and stack of any one task
  std::optional<int64_t> stack = std::nullopt;  // of any one task
};

struct EmitRequest {
  std::vector<const Task*> tasks;
  Target target;
  std::string prefix;                 // of every name; a C identifier
  std::string folder;                 // where to; absent, empty or an earlier emit
  Database* database = nullptr;       // null: nothing was tuned
  std::optional<std::string> device;  // only records of it; not set: of any
  std::optional<int64_t> threads;     // only records with as many; not set: of any
  bool allow_untuned = false;  // a task without a record comes as plain loops, with a warning
  EmitBudgets budgets;
  std::optional<int64_t> source_date_epoch;  // seconds; not set: no date stands in the library
  // For messages: "hone tune conv.toml --target cortex-a53 --db hone.db".
  std::string tune_command;
  std::function<Result<GoldenVectors>(const Task&)> golden;  // the self-test's inputs and answers
};

struct EmittedTask {
  std::string name;
  std::string function;  // in C
  bool tuned = false;
  std::string device;  // of the record
  std::string unit;
  bool emulated = false;
  std::optional<double> best;  // of one call, in `unit`
  double gflops = 0;           // 0 unless the unit is ns
  int64_t text_bytes = 0;
  int64_t rodata_bytes = 0;
  int64_t stack_bytes = 0;
  int64_t constants_bytes = 0;             // that its prepare function fills
  int64_t workspace_bytes = 0;             // fixed
  int64_t workspace_bytes_per_thread = 0;  // and this for each thread
};

struct EmitReport {
  std::vector<EmittedTask> tasks;
  std::vector<std::string> files;  // relative to the folder
  std::vector<std::string> warnings;
  int64_t flash_bytes = 0;  // of the whole library
};

// Error: a bad prefix, a task without a record, a record that does not replay, a budget that is
// passed (with task and amount), a folder that holds something else.
Result<EmitReport> emit_library(const EmitRequest& request);

}  // namespace hone
