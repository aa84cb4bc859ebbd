// SPDX-License-Identifier: Apache-2.0
//
// Running traces on Programs. One function, execute(), gives every instruction its meaning; replay,
// sampling, repair and recording (schedule.h) differ only in where decisions come from and in who
// names the results.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/rng.h"
#include "ir/program.h"
#include "schedule/sampling.h"
#include "schedule/trace.h"

namespace hone {

// What the variables of a trace stand for, by their numbers. A loop variable may hold no loop: the
// location "stay".
struct Environment {
  std::vector<std::optional<BlockId>> blocks;
  std::vector<std::optional<LoopId>> loops;
  std::vector<std::optional<int64_t>> ints;
};

// What an instruction gave, before it is named; at most one of the three is not empty.
struct Outputs {
  std::vector<BlockId> blocks;
  std::vector<LoopId> loops;
  std::vector<int64_t> ints;
};

// Gives the decision of a sampling instruction; `own` is the decision that the instruction carries.
using Decide =
    std::function<Result<std::vector<int64_t>>(const Domain& domain, const Decision& own)>;

// Runs one instruction. On an error the Program is unchanged.
Result<Outputs> execute(Program& program, const Environment& environment,
                        const Instruction& instruction, const Decide& decide);

// The candidate (trace, decisions): a row of `decisions` stands in the place of the instruction's
// own decision; with no rows at all the trace must be closed. Error: number and text of the
// instruction, and what is wrong.
Result<Program> replay(const Program& program, const Trace& trace, const Decisions& decisions);

// The same, with a call after each instruction (its number from 0, and the Program after it).
using AfterStep = std::function<void(size_t number, const Program& program)>;
Result<Program> replay_steps(const Program& program, const Trace& trace, const Decisions& decisions,
                             const AfterStep& after_step);

struct Sampled {
  Program program;
  Decisions decisions;
  std::vector<Domain> domains;  // one a row of decisions
};

// Draws what is open, in one pass; decisions that the trace carries are kept. Each sampling
// instruction draws from a stream of its own.
Result<Sampled> sample(const Program& program, const Trace& trace, Rng& rng);

// The same with decisions taken from `decisions` and made legal where they are not: for rows that
// were mutated, recombined, or found on another shape. Open rows are drawn.
Result<Sampled> sample_near(const Program& program, const Trace& trace, const Decisions& decisions,
                            Rng& rng);

}  // namespace hone
