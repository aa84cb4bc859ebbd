// SPDX-License-Identifier: Apache-2.0
#include "random_schedule.h"

#include <algorithm>
#include <numeric>

#include "ir/verify.h"

namespace hone {
namespace {

// Of one block; beyond that further splits say nothing new and only take time.
constexpr size_t kMostLoops = 12;

}  // namespace

RandomSchedule::RandomSchedule(const Program& program, uint64_t seed, Tallies& tallies)
    : schedule_(program, Rng(seed)), rng_(seed ^ 0x5eed), tallies_(tallies) {
  hash_ = hash_of(program);
}

void RandomSchedule::walk(int moves) {
  for (int i = 0; i < moves && fault_.empty(); ++i) {
    const size_t before = schedule_.trace().instructions.size();
    Schedule saved = schedule_;
    move();
    // A move of which nothing was accepted leaves only look-ups: they are dropped.
    const auto& after = schedule_.trace().instructions;
    const bool looked_only =
        std::all_of(after.begin() + static_cast<std::ptrdiff_t>(before), after.end(),
                    [](const Instruction& it) { return facts(it).family == "get"; });
    if (looked_only && fault_.empty()) schedule_ = std::move(saved);
  }
}

void RandomSchedule::move() {
  constexpr double kWeights[] = {12, 6, 10, 2, 8, 4, 6, 3, 6, 4, 5, 5, 5, 3, 3, 2, 14, 10, 4};
  switch (rng_.weighted(kWeights)) {
    case 0:
      return split_one();
    case 1:
      return fuse_some();
    case 2:
      return reorder_some();
    case 3:
      return unit_loop();
    case 4:
      return give_kind();
    case 5:
      return move_block(false);
    case 6:
      return sample_location(false);
    case 7:
      return move_block(true);
    case 8:
      return sample_location(true);
    case 9:
      return inline_block(false);
    case 10:
      return inline_block(true);
    case 11:
      return cache(false);
    case 12:
      return cache(true);
    case 13:
      return set_scope();
    case 14:
      return decompose();
    case 15:
      return annotate();
    case 16:
      return tile_block();
    case 18:
      return layout();
    default:
      return epilogue();
  }
}

template <typename T>
bool RandomSchedule::did(const char* keyword, const Result<T>& result) {
  Tally& tally = tallies_[keyword];
  const uint64_t now = hash_of(schedule_.program());
  if (!result) {
    ++tally.refused;
    if (now != hash_ && fault_.empty())
      fault_ =
          std::string(keyword) + " changed the Program and then failed: " + result.error().message;
    return false;
  }
  ++tally.accepted;
  hash_ = now;
  if (const auto good = verify(schedule_.program()); !good && fault_.empty())
    fault_ = std::string("after ") + keyword + ": " + good.error().message;
  return fault_.empty();
}

BlockVar RandomSchedule::block_var(BlockId block) {
  return *schedule_.block(schedule_.program().blocks[block].name);
}
BlockVar RandomSchedule::any_block() { return block_var(pick(all_blocks(schedule_.program()))); }
std::vector<LoopVar> RandomSchedule::loops_of(BlockVar block) { return *schedule_.loops(block); }

std::vector<LoopVar> RandomSchedule::split_tile(LoopVar loop, int64_t parts) {
  TileOptions options;
  options.parts = parts;
  if (rng_.chance(0.3)) options.max = rng_.between(1, 8);
  if (options.max == 0 && rng_.chance(0.2)) options.multiple_of = rng_.between(2, 4);
  const bool exact = rng_.chance(0.3);
  Result<std::vector<IntVar>> tile;
  if (exact) {
    tile = schedule_.sample_exact_tile(loop, options);
    if (!did("sample_exact_tile", tile)) return {};
  } else {
    tile = schedule_.sample_tile(loop, options);
    if (!did("sample_tile", tile)) return {};
  }
  TailParam tail = Tail::exact;
  if (!exact) {
    constexpr Tail kTails[] = {Tail::exact, Tail::peel, Tail::peel, Tail::shift, Tail::predicate};
    tail = kTails[rng_.below(5)];
    if (rng_.chance(0.2)) {
      const auto chosen = schedule_.sample_categorical({1, 2, 3}, {2, 1, 1});
      if (did("sample_categorical", chosen)) tail = *chosen;
    }
  }
  const auto loops = schedule_.split(loop, params(*tile), tail);
  return did("split", loops) ? *loops : std::vector<LoopVar>{};
}

void RandomSchedule::split_one() {
  const std::vector<LoopVar> loops = loops_of(any_block());
  if (loops.empty() || loops.size() > kMostLoops) return;
  if (rng_.chance(0.7)) {
    split_tile(pick(loops), rng_.between(2, 3));
    return;
  }
  std::vector<IntParam> factors = {rng_.chance(0.7) ? 0 : rng_.between(1, 6)};
  for (int64_t i = rng_.between(1, 2); i > 0; --i) factors.emplace_back(rng_.between(1, 6));
  did("split", schedule_.split(pick(loops), factors, static_cast<Tail>(rng_.below(4))));
}

void RandomSchedule::fuse_some() {
  const std::vector<LoopVar> loops = loops_of(any_block());
  if (loops.size() < 2) return;
  const size_t count = std::min(loops.size(), static_cast<size_t>(rng_.between(2, 3)));
  const auto first = loops.begin() + below(loops.size() - count + 1);
  std::vector<LoopVar> chosen(first, first + static_cast<std::ptrdiff_t>(count));
  if (rng_.chance(0.1)) shuffle(chosen);
  did("fuse", schedule_.fuse(chosen));
}

void RandomSchedule::reorder_some() {
  std::vector<LoopVar> loops = loops_of(any_block());
  if (loops.size() < 2) return;
  shuffle(loops);
  loops.resize(static_cast<size_t>(rng_.between(2, static_cast<int64_t>(loops.size()))));
  did("reorder", schedule_.reorder(loops));
}

void RandomSchedule::unit_loop() {
  const BlockVar block = any_block();
  const std::vector<LoopVar> loops = loops_of(block);
  const bool around_loop = !loops.empty() && rng_.chance(0.5);
  did("unit_loop", schedule_.unit_loop(around_loop ? NodeParam(pick(loops)) : NodeParam(block)));
}

void RandomSchedule::give_kind() {
  const std::vector<LoopVar> loops = loops_of(any_block());
  if (loops.empty()) return;
  switch (rng_.below(3)) {
    case 0:
      did("parallel", schedule_.parallel(pick(loops)));
      return;
    case 1:
      did("vectorize", schedule_.vectorize(pick(loops)));
      return;
    default:
      did("unroll", schedule_.unroll(pick(loops)));
  }
}

void RandomSchedule::move_block(bool reverse) {
  const BlockVar block = any_block();
  const auto others = reverse ? schedule_.producers(block) : schedule_.consumers(block);
  if (!others || others->empty()) return;
  const std::vector<LoopVar> loops = loops_of(pick(*others));
  if (loops.empty()) return;
  if (reverse)
    did("reverse_compute_at", schedule_.reverse_compute_at(block, pick(loops)));
  else
    did("compute_at", schedule_.compute_at(block, pick(loops)));
}

void RandomSchedule::sample_location(bool reverse) {
  const BlockVar block = any_block();
  const auto location = schedule_.sample_compute_location(block, reverse);
  if (!did("sample_compute_location", location)) return;
  if (reverse)
    did("reverse_compute_at", schedule_.reverse_compute_at(block, *location));
  else
    did("compute_at", schedule_.compute_at(block, *location));
}

void RandomSchedule::inline_block(bool reverse) {
  const BlockVar block = any_block();
  if (reverse)
    did("reverse_compute_inline", schedule_.reverse_compute_inline(block));
  else
    did("compute_inline", schedule_.compute_inline(block));
}

void RandomSchedule::cache(bool write) {
  const BlockVar block = any_block();
  const Block& row = schedule_.program().blocks[schedule_.id(block)];
  const size_t count = write ? writes_of(row).size() : reads_of(row).size();
  if (count == 0) return;
  const int64_t index = below(count);
  const Scope scope = static_cast<Scope>(rng_.below(4));
  if (write)
    did("cache_write", schedule_.cache_write(block, BufferParam::written_by(block, index), scope));
  else
    did("cache_read", schedule_.cache_read(block, BufferParam::read_by(block, index), scope));
}

void RandomSchedule::set_scope() {
  const Program& program = schedule_.program();
  const BufferId buffer{static_cast<int32_t>(rng_.below(program.buffers.size()))};
  did("set_scope",
      schedule_.set_scope(program.buffers[buffer].name, static_cast<Scope>(rng_.below(4))));
}

void RandomSchedule::layout() {
  const Program& program = schedule_.program();
  const BufferId id{static_cast<int32_t>(rng_.below(program.buffers.size()))};
  const Buffer& buffer = program.buffers[id];
  if (buffer.kind != BufferKind::temp) return;
  std::vector<IntParam> tiles;
  std::vector<int64_t> order(buffer.shape.size());
  for (const int64_t extent : buffer.shape) {
    tiles.emplace_back(rng_.chance(0.4) ? rng_.between(1, std::min<int64_t>(extent + 1, 5)) : 0);
    if (tiles.back().literal > 0) order.push_back(0);
  }
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[static_cast<size_t>(below(i))]);
  if (rng_.chance(0.2)) order.clear();
  did("transform_layout", schedule_.transform_layout(buffer.name, tiles, order));
}

void RandomSchedule::decompose() {
  const BlockVar block = any_block();
  const std::vector<LoopVar> loops = loops_of(block);
  if (loops.empty()) return;
  did("decompose_reduction", schedule_.decompose_reduction(block, pick(loops)));
}

void RandomSchedule::annotate() {
  const BlockVar block = any_block();
  did("annotate", schedule_.annotate(block, "mark", rng_.between(-3, 3)));
}

// Every loop of a block in tiles; spatial and reduce levels take turns from the outside to the
// inside.
void RandomSchedule::tile_block() {
  const BlockVar block = any_block();
  const BlockId id = schedule_.id(block);
  std::vector<std::vector<LoopVar>> levels(4);
  const std::vector<LoopVar> loops = loops_of(block);
  if (loops.size() > kMostLoops / 2) return;
  for (const LoopVar loop : loops) {
    const Program& program = schedule_.program();
    const Block& row = program.blocks[id];
    const bool reduce = std::any_of(row.axes.begin(), row.axes.end(), [&](const Axis& axis) {
      return axis.kind == AxisKind::reduce && uses(axis.binding, schedule_.id(loop));
    });
    if (program.loops[schedule_.id(loop)].kind != LoopKind::serial) return;
    const std::vector<LoopVar> parts = split_tile(loop, 2);
    if (!fault_.empty()) return;
    if (parts.empty()) {
      levels[reduce ? 1 : 0].push_back(loop);
    } else {
      levels[reduce ? 1 : 0].push_back(parts[0]);
      levels[reduce && rng_.chance(0.5) ? 3 : 2].push_back(parts[1]);
    }
  }
  std::vector<LoopVar> order;
  for (const auto& level : levels) order.insert(order.end(), level.begin(), level.end());
  if (order.size() >= 2) did("reorder", schedule_.reorder(order));
}

// What follows a tiling: a cache for the result, its copy under an outer loop, init on its own,
// kinds.
void RandomSchedule::epilogue() {
  const BlockVar block = any_block();
  const BlockId id = schedule_.id(block);
  if (rng_.chance(0.5)) {
    const Result<BlockVar> copy = schedule_.cache_write(block, BufferParam::written_by(block, 0),
                                                        static_cast<Scope>(rng_.below(3)));
    if (did("cache_write", copy)) {
      const std::vector<LoopVar> loops = loops_of(block);
      if (!loops.empty())
        did("reverse_compute_at", schedule_.reverse_compute_at(
                                      *copy, loops[static_cast<size_t>(below(loops.size()) / 2)]));
    }
  }
  if (!fault_.empty() || !schedule_.program().blocks[id].alive) return;
  std::vector<LoopVar> loops = loops_of(block);
  if (loops.empty()) return;
  if (schedule_.program().blocks[id].is_reduction() && rng_.chance(0.7))
    did("decompose_reduction", schedule_.decompose_reduction(block, pick(loops)));
  if (!fault_.empty()) return;
  if (rng_.chance(0.5)) did("vectorize", schedule_.vectorize(loops.back()));
  if (rng_.chance(0.3) && loops.size() > 1)
    did("unroll", schedule_.unroll(loops[loops.size() - 2]));
  if (rng_.chance(0.5)) did("parallel", schedule_.parallel(loops.front()));
}

}  // namespace hone
