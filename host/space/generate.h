// SPDX-License-Identifier: Apache-2.0
//
// The design space of a Program on a Target: a few skeletons, made by the rules of the target's set.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "space/rule.h"

namespace hone {

struct RuleLogEntry {
  size_t skeleton = 0;  // the schedule looked at: index among those alive at that moment
  std::string block;
  std::string_view rule;
  RuleVerdict verdict = RuleVerdict::skip;
  std::string why;
  size_t results = 0;
};

struct DesignSpace {
  std::vector<Trace> skeletons;  // open, without duplicates; at least one
  std::vector<RuleLogEntry> log;  // every answer of every rule
};

Result<DesignSpace> generate_space(const Program& program, const Target& target);

}  // namespace hone
