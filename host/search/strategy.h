// SPDX-License-Identifier: Apache-2.0
//
// A strategy proposes candidates and learns from how they ended. It is deterministic: the same space,
// seed and outcomes give the same proposals, so that an interrupted run proposes again what it had, finds
// it in the database, and goes on.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ir/program.h"
#include "schedule/trace.h"
#include "space/generate.h"

namespace hone {

struct Candidate {
  size_t skeleton = 0;  // index in the space
  Decisions decisions;
  Program program;      // scheduled
};

// What a strategy works on; outlives it.
struct SearchProblem {
  const Program* program = nullptr;
  const DesignSpace* space = nullptr;
  uint64_t seed = 0;
  // Refuses a scheduled Program before it is built: constraints of the target, and what lowering says.
  // It also refuses what it accepted before in another guise (the same Kernel).
  std::function<Result<void>(const Program&)> accept;
};

class Strategy {
 public:
  virtual ~Strategy() = default;

  // The next candidate that was accepted and not proposed before; nullopt when the space seems exhausted
  // (many draws in a row gave nothing new).
  virtual std::optional<Candidate> propose() = 0;

  // `score`: time, smaller is better; nullopt: failed or abandoned. In the order of the proposals.
  virtual void learn(const Candidate& candidate, std::optional<double> score) = 0;
};

struct StrategyFacts {
  std::string_view name;
  std::string_view doc;
  std::unique_ptr<Strategy> (*make)(const SearchProblem& problem);
};
std::span<const StrategyFacts> strategy_table();
// Error: unknown name, with the names there are.
Result<std::unique_ptr<Strategy>> make_strategy(std::string_view name, const SearchProblem& problem);

}  // namespace hone
