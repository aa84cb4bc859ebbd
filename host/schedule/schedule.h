// SPDX-License-Identifier: Apache-2.0
//
// A Schedule applies primitives to a live Program and records them as a Trace: what rules write
// sketches with. It is a value: a rule that has two ideas copies it. Open decisions are drawn from
// the Schedule's own random numbers, so that every step runs on a concrete Program, and stay open
// in the trace.
//
//   Schedule s(program, Rng(1));
//   BlockVar mm = TRY(s.block("mm"));
//   std::vector<LoopVar> ijk = TRY(s.loops(mm));
//   std::vector<IntVar> tile = TRY(s.sample_tile(ijk[0], {.parts = 2, .max = 64}));
//   std::vector<LoopVar> parts = TRY(s.split(ijk[0], params(tile), Tail::peel));
//
// A call that fails leaves the Schedule as it was. What is recorded must not depend on what was
// drawn: the trace is replayed with other decisions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/rng.h"
#include "schedule/replay.h"
#include "schedule/trace.h"

namespace hone {

struct TileOptions {
  int64_t parts = 2;
  int64_t max = 0;          // of the innermost part; 0: no limit
  int64_t multiple_of = 1;  // of the innermost part
  Decision decision;        // given: the trace is closed at this place
};

std::vector<IntParam> params(const std::vector<IntVar>& variables);

class Schedule {
 public:
  Schedule(Program program, Rng rng) : program_(std::move(program)), rng_(rng) {}

  const Program& program() const { return program_; }
  const Trace& trace() const { return trace_; }
  // What the live Program was made with, one row a sampling instruction.
  const Decisions& decisions() const { return decisions_; }
  const std::vector<Domain>& domains() const { return domains_; }
  Rng& rng() { return rng_; }

  BlockId id(BlockVar block) const;
  LoopId id(LoopVar loop) const;  // invalid: the location "stay"
  int64_t value(IntVar variable) const;

  Result<BlockVar> block(const std::string& name);
  Result<std::vector<LoopVar>> loops(BlockVar block);
  Result<std::vector<BlockVar>> child_blocks(LoopVar loop);
  Result<std::vector<BlockVar>> producers(BlockVar block);
  Result<std::vector<BlockVar>> consumers(BlockVar block);

  Result<std::vector<LoopVar>> split(LoopVar loop, std::vector<IntParam> factors, TailParam tail);
  Result<LoopVar> fuse(std::vector<LoopVar> loops);
  Result<void> reorder(std::vector<LoopVar> loops);
  Result<LoopVar> unit_loop(NodeParam above);
  Result<void> parallel(LoopVar loop);
  Result<void> vectorize(LoopVar loop);
  Result<void> unroll(LoopVar loop);
  Result<void> compute_at(BlockVar block, LoopVar loop);
  Result<void> reverse_compute_at(BlockVar block, LoopVar loop);
  Result<void> compute_inline(BlockVar block);
  Result<void> reverse_compute_inline(BlockVar block);
  Result<BlockVar> cache_read(BlockVar block, BufferParam buffer, ScopeParam scope);
  Result<BlockVar> cache_write(BlockVar block, BufferParam buffer, ScopeParam scope);
  Result<void> set_scope(BufferParam buffer, ScopeParam scope);
  Result<void> transform_layout(BufferParam buffer, std::vector<IntParam> tiles,
                                std::vector<int64_t> order);
  Result<BlockVar> decompose_reduction(BlockVar block, LoopVar loop);
  Result<void> annotate(NodeParam node, const std::string& key, IntParam value);

  Result<std::vector<IntVar>> sample_tile(LoopVar loop, const TileOptions& options);
  Result<std::vector<IntVar>> sample_exact_tile(LoopVar loop, const TileOptions& options);
  Result<IntVar> sample_categorical(std::vector<int64_t> candidates, std::vector<int64_t> weights);
  Result<LoopVar> sample_compute_location(BlockVar block, bool reverse);

  // Any instruction; its output variables are numbered here, whatever they were. Gives what was
  // recorded.
  Result<Instruction> apply(Instruction instruction);
  // All of a trace (an open one that a person wrote, say); variables of its own stay its own.
  Result<void> apply(const Trace& trace);

 private:
  template <typename T>
  Result<T> record(T instruction);

  Program program_;
  Rng rng_;
  Trace trace_;
  Environment environment_;
  Decisions decisions_;
  std::vector<Domain> domains_;
};

}  // namespace hone
