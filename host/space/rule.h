// SPDX-License-Identifier: Apache-2.0
//
// A rule looks at one block of a schedule and answers: skip (and why), or here are the schedules that
// come of it. Several results are several skeletons. A rule writes into the trace like a person would; it
// decides nothing that it can leave open for the search.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace hone {

enum class RuleVerdict : uint8_t {
  skip,            // nothing to do for this block; `why` says it
  apply,           // go on with `results`, later rules may still look at the block
  apply_and_stop,  // go on with `results`, the block is done in this stage
};

struct RuleAnswer {
  RuleVerdict verdict = RuleVerdict::skip;
  std::string why;
  std::vector<Schedule> results;
};

RuleAnswer skip(std::string why);
RuleAnswer apply(std::vector<Schedule> results, std::string why);
RuleAnswer apply_and_stop(std::vector<Schedule> results, std::string why);

// Blocks are visited stage by stage: consumers before producers in the first, since what is fused into a
// consumer is decided from its side; then producers first, when every nest has its place.
enum class RuleStage : uint8_t { structure, loops };

struct Rule {
  std::string_view name;
  RuleStage stage;
  std::string_view doc;  // one line
  Result<RuleAnswer> (*run)(const Schedule& schedule, const std::string& block,
                            const Target& target);
};

// In the order in which they are tried. A core's file names a rule set; each set is a row of rule_sets().
std::span<const Rule> rule_table();
struct RuleSet {
  std::string_view name;
  std::vector<std::string_view> rules;
};
const std::vector<RuleSet>& rule_sets();

// One file each.
Result<RuleAnswer> run_inline(const Schedule& schedule, const std::string& block, const Target& target);
Result<RuleAnswer> run_tiling(const Schedule& schedule, const std::string& block, const Target& target);
Result<RuleAnswer> run_loop_kinds(const Schedule& schedule, const std::string& block,
                                  const Target& target);

}  // namespace hone
