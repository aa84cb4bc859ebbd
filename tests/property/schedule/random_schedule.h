// SPDX-License-Identifier: Apache-2.0
//
// Random sequences of primitives on a Program, through the trace layer. Single primitives with
// random arguments find refusals; recipes (tile and reorder, cache and move, decompose, give kinds)
// build the long sequences that a search builds, which single steps would hardly ever reach.
#pragma once

#include <map>
#include <string>

#include "base/rng.h"
#include "schedule/schedule.h"

namespace hone {

struct Tally {
  int accepted = 0;
  int refused = 0;
};
using Tallies = std::map<std::string, Tally>;  // by keyword

class RandomSchedule {
 public:
  RandomSchedule(const Program& program, uint64_t seed, Tallies& tallies);

  void walk(int moves);

  const Schedule& schedule() const { return schedule_; }
  // The first breach: a Program that does not verify, or a refusal that changed something.
  const std::string& fault() const { return fault_; }

 private:
  void move();
  void split_one();
  void fuse_some();
  void reorder_some();
  void unit_loop();
  void give_kind();
  void move_block(bool reverse);
  void sample_location(bool reverse);
  void inline_block(bool reverse);
  void cache(bool write);
  void set_scope();
  void layout();
  void decompose();
  void annotate();
  void tile_block();
  void epilogue();

  // Counts the attempt and looks at the Program. True: the primitive was accepted.
  template <typename T>
  bool did(const char* keyword, const Result<T>& result);
  // Steps that only look things up; they never fail on what is there.
  BlockVar any_block();
  BlockVar block_var(BlockId block);
  std::vector<LoopVar> loops_of(BlockVar block);
  std::vector<LoopVar> split_tile(LoopVar loop, int64_t parts);
  int64_t below(size_t count) { return rng_.below(static_cast<int64_t>(count)); }
  template <typename T>
  const T& pick(const std::vector<T>& values) {
    return values[static_cast<size_t>(below(values.size()))];
  }
  template <typename T>
  void shuffle(std::vector<T>& values) {
    for (size_t i = values.size(); i > 1; --i)
      std::swap(values[i - 1], values[static_cast<size_t>(below(i))]);
  }

  Schedule schedule_;
  Rng rng_;
  Tallies& tallies_;
  uint64_t hash_;  // of the Program after the last accepted step
  std::string fault_;
};

}  // namespace hone
