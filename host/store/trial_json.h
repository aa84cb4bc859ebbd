// SPDX-License-Identifier: Apache-2.0
//
// A trial as one JSON object, for export and import. Fields carry the names of schema.sql's columns.
#pragma once

#include <string>
#include <string_view>

#include "store/database.h"

namespace hone {

std::string to_json_line(const TrialRow& row);
// Error: not JSON, a field missing or of the wrong type, an unknown status or unit.
Result<TrialRow> trial_from_json(std::string_view line);

std::string workload_json_line(const std::string& hash, const std::string& name,
                               const std::string& text);
struct WorkloadRow {
  std::string hash;
  std::string name;
  std::string text;
};
Result<WorkloadRow> workload_from_json(std::string_view line);
bool is_workload_line(std::string_view line);

// Columns of a trial that are JSON themselves.
std::string samples_json(const Outcome& outcome);
std::string sizes_json(const Outcome& outcome);
std::string status_of(const Outcome& outcome);  // 'ok', 'abandoned' or the failure's kind
Result<Outcome> outcome_from_columns(const std::string& status, const std::string& reason,
                                     const std::string& unit, bool emulated,
                                     const std::string& samples, const std::string& context,
                                     const std::string& sizes, double seconds);

}  // namespace hone
