// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "space/rule.h"

namespace hone {
namespace {

constexpr std::array<Rule, 3> kRules = {{
    {"inline", RuleStage::structure,
     "puts cheap elementwise blocks into the elementwise blocks that read them", run_inline},
    {"tiling", RuleStage::structure,
     "tiles a reduction with reuse down to a register tile; epilogue, packing and padding move along",
     run_tiling},
    {"loop-kinds", RuleStage::loops,
     "runs what is left in parallel outside and in vectors inside", run_loop_kinds},
}};

}  // namespace

RuleAnswer skip(std::string why) { return {RuleVerdict::skip, std::move(why), {}}; }

RuleAnswer apply(std::vector<Schedule> results, std::string why) {
  return {RuleVerdict::apply, std::move(why), std::move(results)};
}

RuleAnswer apply_and_stop(std::vector<Schedule> results, std::string why) {
  return {RuleVerdict::apply_and_stop, std::move(why), std::move(results)};
}

std::span<const Rule> rule_table() { return kRules; }

const std::vector<RuleSet>& rule_sets() {
  static const std::vector<RuleSet> sets = {
      {"cpu", {"inline", "tiling", "loop-kinds"}},
  };
  return sets;
}

}  // namespace hone
