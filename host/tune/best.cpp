// SPDX-License-Identifier: Apache-2.0
#include "tune/best.h"

#include "base/hash.h"

namespace hone {

Result<BestRecord> best_record(Database& database, const Task& task, const Target& target,
                               TrialFilter filter) {
  filter.workload = to_hex(task.hash);
  filter.target = target.name;
  filter.winners_only = true;
  filter.limit = 1;
  auto rows = TRY(database.trials(filter));
  if (rows.empty())
    return fail("the database has no measured trial of '{}' for {}", task.name, target.name);
  const Trial& trial = rows[0].trial;
  const Trace skeleton = TRY(parse_trace(trial.skeleton, "the database's trace"));
  const Decisions decisions = TRY(parse_decisions(trial.decisions, "the database's decisions"));
  if (decisions.size() != sampling_count(skeleton))
    return fail("the database's record of '{}' has {} decisions, its trace takes {}", task.name,
                decisions.size(), sampling_count(skeleton));
  Trace closed = close(skeleton, decisions);
  return BestRecord{std::move(closed), std::move(rows[0])};
}

}  // namespace hone
