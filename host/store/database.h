// SPDX-License-Identifier: Apache-2.0
//
// Everything learnt, kept. One interface; SQLite in one file is the first store behind it.
//
// A trial is written in one transaction when it ended, so that a host killed at any moment loses at most
// trials that had not ended. A trial is only ever found again under its whole key: another target,
// fingerprint (code generator, agent, machine), device or thread count is another measurement.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "measure/outcome.h"

namespace hone {

// What a trial was a trial of.
struct TaskKey {
  std::string workload;  // hash of the graph's canonical text
  std::string target;
  std::string fingerprint;
  std::string device;
  int64_t threads = 1;
};

struct Trial {
  std::string skeleton;   // text of the open trace
  std::string decisions;  // one line
  Outcome outcome;
  std::string created;    // UTC, ISO 8601; set by the store when empty
};

struct TrialRow {
  TaskKey key;
  std::string workload_name;
  Trial trial;
};

// Rows that match every field that is set.
struct TrialFilter {
  std::optional<std::string> workload = std::nullopt;
  std::optional<std::string> target = std::nullopt;
  std::optional<std::string> fingerprint = std::nullopt;
  std::optional<std::string> device = std::nullopt;
  std::optional<int64_t> threads = std::nullopt;
  bool winners_only = false;  // status ok, best score first; otherwise oldest first
  int64_t limit = -1;         // none
};

struct TaskStats {
  TaskKey key;
  std::string workload_name;
  int64_t trials = 0;
  int64_t failures = 0;
  std::optional<double> best;
  std::string unit;
};

class Database {
 public:
  virtual ~Database() = default;

  virtual Result<void> add_workload(const std::string& hash, const std::string& name,
                                    const std::string& text) = 0;
  virtual Result<std::optional<std::string>> workload_text(const std::string& hash) = 0;

  virtual Result<std::optional<std::string>> answer(const std::string& workload, int64_t seed) = 0;
  virtual Result<void> add_answer(const std::string& workload, int64_t seed,
                                  const std::string& outputs) = 0;

  // Keeps the row that is there under the same key, skeleton and decisions, unless that one ended by the
  // device's fault. The workload must have been added.
  virtual Result<void> add_trial(const TaskKey& key, const Trial& trial) = 0;
  virtual Result<std::vector<TrialRow>> trials(const TrialFilter& filter) = 0;
  virtual Result<std::vector<TaskStats>> stats() = 0;

  // One JSON object a line: workloads first, then trials. Import adds what is not there yet and gives the
  // number of trials added; a line that is not understood is an error with its number, and nothing of
  // the file is kept.
  virtual Result<void> export_lines(const std::function<void(const std::string&)>& line) = 0;
  virtual Result<int64_t> import_lines(const std::string& text, const std::string& name) = 0;
};

// Opens or makes the file. Error: not a database, made by a newer Hone, not writable.
Result<std::unique_ptr<Database>> open_sqlite(const std::string& path);

}  // namespace hone
