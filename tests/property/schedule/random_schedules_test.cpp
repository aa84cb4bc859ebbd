// SPDX-License-Identifier: Apache-2.0
//
// Whatever primitives accept computes the same, to the bit: random schedules of random Programs,
// run by the interpreter. A failure is printed as a closed trace from which nothing can be left
// out, with the Program that it fails on.
#include <doctest/doctest.h>

#include <cstdio>

#include "ir/interpret.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "random_program.h"
#include "random_schedule.h"

namespace hone {
namespace {

constexpr uint64_t kSeed = 20260;
constexpr int kSequences = 10000;
constexpr int kLeastAccepted = 300;  // of each primitive

// Inputs and results of the Program as it was.
struct Judge {
  explicit Judge(const Program& first, uint64_t seed) : program(first) {
    Rng rng(seed);
    inputs = random_inputs(program, rng);
    results = inputs;
    const auto done = interpret(program, results);
    REQUIRE_MESSAGE(done.has_value(), done.error().message);
  }

  // Error: how `after` differs.
  Result<void> check(const Program& after) const {
    for (const bool backwards : {false, true}) {
      Tensors got = inputs;
      TRYV(interpret(after, got, InterpretOptions{backwards}));
      for (int32_t i = 0; i < program.buffers.size(); ++i) {
        const BufferId id{i};
        if (program.buffers[id].kind != BufferKind::output) continue;
        if (!equal_bits(got.at(id), results.at(id)))
          return fail("output {} differs{}", program.buffers[id].name,
                      backwards ? " when free loops run backwards" : "");
      }
    }
    return {};
  }

  Program program;
  Tensors inputs;
  Tensors results;
};

// What is wrong with what the trace makes; nothing if it does not replay at all.
std::string fault_of(const Judge& judge, const Trace& closed) {
  std::string fault;
  const Result<Program> after =
      replay_steps(judge.program, closed, {}, [&](size_t number, const Program& program) {
        const auto good = verify(program);
        if (!good && fault.empty())
          fault = fmt::format("after instruction {}: {}", number, good.error().message);
      });
  if (!after || !fault.empty()) return after ? fault : "";
  const Result<void> same = judge.check(*after);
  return same ? "" : same.error().message;
}

// Leaves out what is not needed to fail, users before what they use.
Trace shrink(const Judge& judge, Trace trace) {
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (size_t i = trace.instructions.size(); i-- > 0;) {
      Trace shorter = trace;
      shorter.instructions.erase(shorter.instructions.begin() + static_cast<std::ptrdiff_t>(i));
      if (fault_of(judge, shorter).empty()) continue;
      trace = std::move(shorter);
      smaller = true;
    }
  }
  return trace;
}

void report(const Judge& judge, uint64_t seed, const Trace& closed, const std::string& fault) {
  Trace shown = closed;
  std::string why = fault;
  if (!fault_of(judge, closed).empty()) {
    shown = shrink(judge, closed);
    why = fault_of(judge, shown);
    shown = renumber(shown);
  }
  const Result<Program> after = replay(judge.program, shown, {});
  FAIL("seed ", seed, ": ", why, "\n", print(judge.program), print(shown),
       after ? print(*after) : after.error().message);
}

// The trace is the whole of the schedule: it survives text, and gives the same Program again.
std::string trace_fault(const Schedule& schedule, const Program& first) {
  const Trace& trace = schedule.trace();
  const Result<Trace> parsed = parse_trace(print(trace), "printed");
  if (!parsed) return parsed.error().message;
  if (*parsed != trace || hash_of(*parsed) != hash_of(trace)) return "the text says another trace";
  const auto decisions = parse_decisions(print(schedule.decisions()), "printed");
  if (!decisions || *decisions != schedule.decisions()) return "the text says other decisions";
  const Trace closed = close(trace, schedule.decisions());
  if (decisions_of(closed) != schedule.decisions() || open(closed) != open(trace))
    return "close, open and decisions_of do not agree";
  const Result<Program> open_replay = replay(first, *parsed, *decisions);
  if (!open_replay) return open_replay.error().message;
  const Result<Program> closed_replay = replay(first, closed, {});
  if (!closed_replay) return closed_replay.error().message;
  const uint64_t hash = hash_of(schedule.program());
  if (hash_of(*open_replay) != hash || hash_of(*closed_replay) != hash)
    return "replay gives another Program";
  if (print(*open_replay) != print(schedule.program())) return "replay gives another text";
  return "";
}

TEST_CASE("random schedules of random programs compute the same") {
  Tallies tallies;
  Rng seeds(kSeed);
  int resampled = 0;
  int steps = 0;
  for (int i = 0; i < kSequences; ++i) {
    const uint64_t seed = seeds.next();
    Rng rng(seed);
    const Program program = test::random_program(rng, {});
    const Judge judge(program, rng.next());
    RandomSchedule random(program, rng.next(), tallies);
    random.walk(static_cast<int>(rng.between(3, 14)));
    const Schedule& schedule = random.schedule();
    const Trace closed = close(schedule.trace(), schedule.decisions());
    steps += static_cast<int>(closed.instructions.size());
    if (!random.fault().empty()) report(judge, seed, closed, random.fault());
    if (const auto same = judge.check(schedule.program()); !same)
      report(judge, seed, closed, same.error().message);
    if (const std::string fault = trace_fault(schedule, program); !fault.empty())
      report(judge, seed, closed, fault);
    // The same skeleton with other decisions, if those are legal.
    if (const auto other = sample(program, open(schedule.trace()), rng)) {
      ++resampled;
      const Trace again = close(schedule.trace(), other->decisions);
      if (const std::string fault = fault_of(judge, again); !fault.empty())
        report(judge, seed, again, fault);
    }
  }
  std::printf("seed %llu: %d schedules, %d instructions, %d drawn again\n",
              static_cast<unsigned long long>(kSeed), kSequences, steps, resampled);
  for (const auto& [keyword, tally] : tallies) {
    std::printf("  %-24s %6d accepted %6d refused\n", keyword.c_str(), tally.accepted,
                tally.refused);
    CHECK_MESSAGE(tally.accepted >= kLeastAccepted, keyword);
  }
  for (const InstructionFacts& row : instruction_table())
    if (row.family != "get") CHECK_MESSAGE(tallies.contains(std::string(row.keyword)), row.keyword);
}

}  // namespace
}  // namespace hone
