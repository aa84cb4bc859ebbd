// SPDX-License-Identifier: Apache-2.0
//
// Two stages of visits with a list of schedules: each rule sees each block of each schedule, and a
// schedule gives way to the results of the rule that applied. A rule that fails to carry out what it
// meant to is a fault of the rule: it is an error that names rule and block, not a silent skip.
#include "space/generate.h"

#include <algorithm>

#include "base/text.h"

namespace hone {
namespace {

Result<std::vector<const Rule*>> rules_of(const Target& target) {
  std::vector<std::string> names;
  for (const RuleSet& set : rule_sets()) {
    names.emplace_back(set.name);
    if (set.name != target.rules) continue;
    std::vector<const Rule*> rules;
    for (const std::string_view name : set.rules)
      for (const Rule& rule : rule_table())
        if (rule.name == name) rules.push_back(&rule);
    ENSURE(rules.size() == set.rules.size());
    return rules;
  }
  return fail("target {} names the rule set '{}'; there are: {}", target.name, target.rules,
              join(names, ", "));
}

std::vector<std::string> block_names(const Program& program, RuleStage stage) {
  std::vector<std::string> names;
  for (const BlockId block : all_blocks(program)) names.push_back(program.blocks[block].name);
  if (stage == RuleStage::structure) std::reverse(names.begin(), names.end());
  return names;
}

// One schedule through one stage: blocks in order, rules in order; what a rule results in is visited by
// the rules and blocks that are left.
class Visit {
 public:
  Visit(const std::vector<const Rule*>& rules, RuleStage stage, const Target& target, DesignSpace& space)
      : rules_(rules), stage_(stage), target_(target), space_(space) {}

  Result<void> run(const Schedule& schedule, std::vector<Schedule>& finished) {
    return block(schedule, block_names(schedule.program(), stage_), 0, finished);
  }

 private:
  Result<void> block(const Schedule& schedule, const std::vector<std::string>& names, size_t at,
                     std::vector<Schedule>& finished) {
    while (at < names.size() && !find_block(schedule.program(), names[at])) ++at;  // inlined meanwhile
    if (at == names.size()) {
      finished.push_back(schedule);
      return {};
    }
    return rule(schedule, names, at, 0, finished);
  }

  Result<void> rule(const Schedule& schedule, const std::vector<std::string>& names, size_t at,
                    size_t first_rule, std::vector<Schedule>& finished) {
    for (size_t i = first_rule; i < rules_.size(); ++i) {
      if (rules_[i]->stage != stage_) continue;
      auto answer = rules_[i]->run(schedule, names[at], target_);
      if (!answer)
        return std::unexpected(within(answer.error(), "rule {} on block '{}'", rules_[i]->name,
                                      names[at]));
      space_.log.push_back({finished.size(), names[at], rules_[i]->name, answer->verdict,
                            answer->why, answer->results.size()});
      if (answer->verdict == RuleVerdict::skip) continue;
      for (const Schedule& result : answer->results) {
        if (answer->verdict == RuleVerdict::apply && find_block(result.program(), names[at])) {
          TRYV(rule(result, names, at, i + 1, finished));
        } else {
          TRYV(block(result, names, at + 1, finished));
        }
      }
      return {};
    }
    return block(schedule, names, at + 1, finished);
  }

  const std::vector<const Rule*>& rules_;
  RuleStage stage_;
  const Target& target_;
  DesignSpace& space_;
};

}  // namespace

Result<DesignSpace> generate_space(const Program& program, const Target& target) {
  const std::vector<const Rule*> rules = TRY(rules_of(target));
  DesignSpace space;
  std::vector<Schedule> schedules = {Schedule(program, Rng(0))};
  for (const RuleStage stage : {RuleStage::structure, RuleStage::loops}) {
    std::vector<Schedule> finished;
    for (const Schedule& schedule : schedules)
      TRYV(Visit(rules, stage, target, space).run(schedule, finished));
    schedules = std::move(finished);
  }
  for (const Schedule& schedule : schedules) {
    Trace skeleton = open(schedule.trace());
    if (std::find(space.skeletons.begin(), space.skeletons.end(), skeleton) == space.skeletons.end())
      space.skeletons.push_back(std::move(skeleton));
  }
  ENSURE(!space.skeletons.empty());
  return space;
}

}  // namespace hone
