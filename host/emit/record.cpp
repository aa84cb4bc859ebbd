// SPDX-License-Identifier: Apache-2.0
#include "emit/record.h"

#include <set>
#include <tuple>

namespace hone {
namespace {

auto rank(const TrialRow& row) {
  const Outcome& outcome = row.trial.outcome;
  return std::tuple(outcome.emulated, outcome.unit, score(outcome));
}

}  // namespace

Result<std::optional<TrialRow>> best_record(Database& database, const RecordWish& wish,
                                            std::vector<std::string>& warnings) {
  TrialFilter filter;
  filter.workload = wish.workload;
  filter.target = wish.target;
  filter.device = wish.device;
  filter.threads = wish.threads;
  filter.winners_only = true;
  std::optional<TrialRow> best;
  std::set<std::string> circumstances;
  for (TrialRow& row : TRY(database.trials(filter))) {
    circumstances.insert(fmt::format("{}, {} thread(s), fingerprint {}", row.key.device,
                                     row.key.threads, row.key.fingerprint));
    if (!best || rank(row) < rank(*best)) best = std::move(row);
  }
  if (circumstances.size() > 1)
    warnings.push_back(
        fmt::format("task '{}' was measured under {} circumstances that do not compare; taken: {}, "
                    "{} thread(s), "
                    "fingerprint {}",
                    best->workload_name, circumstances.size(), best->key.device, best->key.threads,
                    best->key.fingerprint));
  return best;
}

}  // namespace hone
