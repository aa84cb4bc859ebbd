// SPDX-License-Identifier: Apache-2.0
#include "search/strategy.h"

#include <array>

#include "base/text.h"
#include "search/random.h"

namespace hone {
namespace {

constexpr std::array<StrategyFacts, 1> kStrategies = {{
    {"random", "independent draws from every skeleton's own distributions", make_random},
}};

}  // namespace

std::span<const StrategyFacts> strategy_table() { return kStrategies; }

Result<std::unique_ptr<Strategy>> make_strategy(std::string_view name,
                                                const SearchProblem& problem) {
  std::vector<std::string> names;
  for (const StrategyFacts& row : kStrategies) {
    if (row.name == name) return row.make(problem);
    names.emplace_back(row.name);
  }
  return fail("unknown search strategy '{}'; there are: {}", name, join(names, ", "));
}

}  // namespace hone
