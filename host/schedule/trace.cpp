// SPDX-License-Identifier: Apache-2.0
#include "schedule/trace.h"

#include <algorithm>
#include <array>

#include "base/hash.h"
#include "schedule/trace_fields.h"

namespace hone {
namespace {

template <typename T, size_t I = 0>
consteval size_t index_of() {
  if constexpr (std::is_same_v<T, std::variant_alternative_t<I, Instruction>>) {
    return I;
  } else {
    return index_of<T, I + 1>();
  }
}

struct Row {
  size_t index;
  InstructionFacts facts;
};
template <typename T>
consteval Row row(std::string_view keyword, std::string_view family, std::string_view doc) {
  return {index_of<T>(), {keyword, family, doc}};
}

constexpr std::array kRows = {
    row<GetBlock>("block", "get", "the block of that name"),
    row<GetLoops>("loops", "get", "all loops above a block, outermost first"),
    row<GetChildBlocks>("child_blocks", "get", "all blocks below a loop, in order"),
    row<GetProducers>("producers", "get", "blocks that write what a block reads"),
    row<GetConsumers>("consumers", "get", "blocks that read what a block writes"),
    row<Split>("split", "loops", "one loop into several; tail says what becomes of a remainder"),
    row<Fuse>("fuse", "loops", "directly nested loops into one"),
    row<Reorder>("reorder", "loops", "loops of one path into the given order"),
    row<UnitLoop>("unit_loop", "loops", "a loop of extent 1 around a block or a loop"),
    row<Parallel>("parallel", "loop kinds", "iterations run on several workers"),
    row<Vectorize>("vectorize", "loop kinds", "iterations become lanes"),
    row<Unroll>("unroll", "loop kinds", "the body is repeated"),
    row<ComputeAt>("compute_at", "compute location",
                   "a producer moves under a loop of its consumers"),
    row<ReverseComputeAt>("reverse_compute_at", "compute location",
                          "a consumer moves under a loop of its producers"),
    row<ComputeInline>("compute_inline", "inline", "a block's expression goes into its consumers"),
    row<ReverseComputeInline>("reverse_compute_inline", "inline",
                              "a block's expression goes into its producer"),
    row<CacheRead>("cache_read", "cache", "a block reads a copy; gives the copying block"),
    row<CacheWrite>("cache_write", "cache",
                    "a block writes a copy; gives the block that copies back"),
    row<SetScope>("set_scope", "cache", "where a temp lives"),
    row<TransformLayout>("transform_layout", "layout",
                         "dimensions of a temp in tiles and in another order"),
    row<DecomposeReduction>("decompose_reduction", "reduction",
                            "init into a block of its own before a loop; gives that block"),
    row<Annotate>("annotate", "annotation", "a remark on a block or a loop"),
    row<SampleTile>("sample_tile", "sampling", "tile sizes of a loop that need not divide"),
    row<SampleExactTile>("sample_exact_tile", "sampling", "tile sizes of a loop that divide"),
    row<SampleCategorical>("sample_categorical", "sampling", "one of several integers"),
    row<SampleComputeLocation>("sample_compute_location", "sampling",
                               "a loop that a block may be computed at, or none"),
};

constexpr auto kTable = [] {
  std::array<InstructionFacts, kRows.size()> table;
  for (size_t i = 0; i < kRows.size(); ++i) table[i] = kRows[i].facts;
  return table;
}();

consteval bool rows_in_order() {
  for (size_t i = 0; i < kRows.size(); ++i)
    if (kRows[i].index != i) return false;
  return kRows.size() == std::variant_size_v<Instruction>;
}
static_assert(rows_in_order());

// -- hashing
// ------------------------------------------------------------------------------------------

template <typename T>
uint64_t fold(uint64_t hash, const T& value) {
  if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
    return hash_combine(hash, static_cast<uint64_t>(value));
  } else if constexpr (std::is_same_v<T, std::string>) {
    return hash_bytes(value, hash);
  } else if constexpr (Variable<T>) {
    return fold(hash, value.value);
  } else if constexpr (std::is_same_v<T, NodeParam>) {
    return fold(fold(hash, value.block), value.loop);
  } else if constexpr (std::is_same_v<T, BufferParam>) {
    return fold(fold(fold(fold(hash, value.role), value.name), value.block), value.index);
  } else if constexpr (std::is_same_v<T, Decision>) {
    return value ? fold(hash, *value) : fold(hash, -1);
  } else if constexpr (is_vector<T>) {
    hash = fold(hash, value.size());
    for (const auto& entry : value) hash = fold(hash, entry);
    return hash;
  } else {  // Param
    return fold(fold(hash, value.literal), value.var);
  }
}

template <typename T>
uint64_t hash_instruction(uint64_t hash, const T& instruction) {
  for_each_field(instruction, [&](const auto&, const auto& value) { hash = fold(hash, value); });
  for_each_output(instruction, [&](const auto& variable) { hash = fold(hash, variable); });
  if constexpr (Sampling<T>) hash = fold(hash, instruction.decision);
  return hash;
}

const Decision* decision_of(const Instruction& instruction) {
  return std::visit(
      []<typename T>(const T& it) -> const Decision* {
        if constexpr (Sampling<T>) return &it.decision;
        return nullptr;
      },
      instruction);
}

Decision* decision_of(Instruction& instruction) {
  return const_cast<Decision*>(decision_of(std::as_const(instruction)));
}

// New numbers of the variables of one kind.
template <typename Var>
class Renaming {
 public:
  void define(Var& variable) {
    const size_t at = static_cast<size_t>(variable.value);
    if (numbers_.size() <= at) numbers_.resize(at + 1, -1);
    numbers_[at] = next_;
    variable.value = next_++;
  }
  void use(Var& variable) const {
    const size_t at = static_cast<size_t>(variable.value);
    ENSURE(at < numbers_.size() && numbers_[at] >= 0);
    variable.value = numbers_[at];
  }

 private:
  std::vector<int32_t> numbers_;
  int32_t next_ = 0;
};

}  // namespace

BufferParam BufferParam::read_by(BlockVar block, int64_t index) {
  BufferParam result;
  result.role = Role::read;
  result.block = block;
  result.index = index;
  return result;
}

BufferParam BufferParam::written_by(BlockVar block, int64_t index) {
  BufferParam result = read_by(block, index);
  result.role = Role::written;
  return result;
}

std::span<const InstructionFacts> instruction_table() { return kTable; }

const InstructionFacts& facts(const Instruction& instruction) {
  return kTable[instruction.index()];
}

uint64_t hash_of(const Trace& trace) {
  uint64_t hash = hash_combine(0, kTraceVersion);
  for (const Instruction& instruction : trace.instructions) {
    hash = hash_bytes(facts(instruction).keyword, hash);
    hash = std::visit([&](const auto& it) { return hash_instruction(hash, it); }, instruction);
  }
  return hash;
}

uint64_t hash_of(const Decisions& decisions) { return fold(0, decisions); }

bool is_sampling(const Instruction& instruction) { return decision_of(instruction) != nullptr; }

size_t sampling_count(const Trace& trace) {
  return static_cast<size_t>(
      std::count_if(trace.instructions.begin(), trace.instructions.end(), is_sampling));
}

Decisions decisions_of(const Trace& trace) {
  Decisions decisions;
  for (const Instruction& instruction : trace.instructions)
    if (const Decision* decision = decision_of(instruction))
      decisions.push_back(decision->value_or(std::vector<int64_t>{}));
  return decisions;
}

Trace close(const Trace& trace, const Decisions& decisions) {
  ENSURE(decisions.size() == sampling_count(trace));
  Trace closed = trace;
  size_t next = 0;
  for (Instruction& instruction : closed.instructions) {
    Decision* decision = decision_of(instruction);
    if (!decision) continue;
    if (!decisions[next].empty()) *decision = decisions[next];
    ++next;
  }
  return closed;
}

Trace open(const Trace& trace) {
  Trace opened = trace;
  for (Instruction& instruction : opened.instructions)
    if (Decision* decision = decision_of(instruction)) decision->reset();
  return opened;
}

Trace renumber(const Trace& trace) {
  Trace result = trace;
  std::tuple<Renaming<BlockVar>, Renaming<LoopVar>, Renaming<IntVar>> names;
  for (Instruction& instruction : result.instructions) {
    std::visit(
        [&](auto& it) {
          for_each_input(it, [&]<typename Var>(Var& v) { std::get<Renaming<Var>>(names).use(v); });
          for_each_output(it,
                          [&]<typename Var>(Var& v) { std::get<Renaming<Var>>(names).define(v); });
        },
        instruction);
  }
  return result;
}

}  // namespace hone
