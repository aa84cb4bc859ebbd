// SPDX-License-Identifier: Apache-2.0
//
// A trace: the only description of a schedule. A list of instructions; those that sample carry a
// decision, which may be open. An open trace is a skeleton (a template, a sketch); with Decisions
// it is a candidate; with its decisions filled in it is a closed trace, which says everything.
//
// One plain struct an instruction, all in one variant. Each lists its fields once, in fields() and
// outputs(); printing, parsing, hashing and renaming of variables are written over these lists
// (trace_fields.h), so that a new primitive is: its struct here, its row in trace.cpp, its call in
// replay.cpp. Rejected: a class an instruction kind with virtual print/parse/apply (the same fields
// named five times), and untyped attribute lists.
//
// Variables stand for what earlier instructions gave: blocks, loops, integers. They are numbered in
// the order in which they are defined, each kind for itself.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "base/id.h"
#include "base/result.h"
#include "ir/program.h"

namespace hone {

using BlockVar = Id<struct BlockVarTag>;
using LoopVar = Id<struct LoopVarTag>;
using IntVar = Id<struct IntVarTag>;

// -- parameters
// ---------------------------------------------------------------------------------------

// A value that stands in the trace, or the value of a variable when `var` is valid.
template <typename T>
struct Param {
  T literal{};
  IntVar var;

  Param() = default;
  Param(T value) : literal(value) {}
  Param(IntVar variable) : var(variable) {}
  bool operator==(const Param&) const = default;
};
using IntParam = Param<int64_t>;
using TailParam = Param<Tail>;  // a variable holds the enumerator's number
using ScopeParam = Param<Scope>;

struct NodeParam {  // a block or a loop
  BlockVar block;
  LoopVar loop;

  NodeParam() = default;
  NodeParam(BlockVar variable) : block(variable) {}
  NodeParam(LoopVar variable) : loop(variable) {}
  bool operator==(const NodeParam&) const = default;
};

// A buffer by its name, or as the index-th that a block reads or writes (in the order of reads_of
// and writes_of), for buffers whose names a primitive made up.
struct BufferParam {
  enum class Role : uint8_t { named, read, written };
  Role role = Role::named;
  std::string name;
  BlockVar block;
  int64_t index = 0;

  BufferParam() = default;
  BufferParam(std::string buffer) : name(std::move(buffer)) {}
  BufferParam(const char* buffer) : name(buffer) {}
  static BufferParam read_by(BlockVar block, int64_t index);
  static BufferParam written_by(BlockVar block, int64_t index);
  bool operator==(const BufferParam&) const = default;
};

// The values of one sampling instruction; nullopt: open.
using Decision = std::optional<std::vector<int64_t>>;

// -- instructions
// -------------------------------------------------------------------------------------

// A field: positional when `name` is empty, else written name=value; optional ones are written when
// they differ from what the struct starts with.
template <typename T, typename M>
struct Field {
  std::string_view name;
  M T::* member;
  bool optional = false;
};
template <typename T, typename M>
Field(std::string_view, M T::*) -> Field<T, M>;
template <typename T, typename M>
Field(std::string_view, M T::*, bool) -> Field<T, M>;
inline constexpr bool kOptional = true;

struct GetBlock {
  std::string name;
  BlockVar block;
  static constexpr auto fields() { return std::tuple(Field("", &GetBlock::name)); }
  static constexpr auto output() { return &GetBlock::block; }
  bool operator==(const GetBlock&) const = default;
};

struct GetLoops {  // all loops above the block, outermost first
  BlockVar block;
  std::vector<LoopVar> loops;
  static constexpr auto fields() { return std::tuple(Field("", &GetLoops::block)); }
  static constexpr auto output() { return &GetLoops::loops; }
  bool operator==(const GetLoops&) const = default;
};

struct GetChildBlocks {  // all blocks below the loop, in order of execution
  LoopVar loop;
  std::vector<BlockVar> blocks;
  static constexpr auto fields() { return std::tuple(Field("", &GetChildBlocks::loop)); }
  static constexpr auto output() { return &GetChildBlocks::blocks; }
  bool operator==(const GetChildBlocks&) const = default;
};

struct GetProducers {  // blocks that write what the block reads, in order of execution
  BlockVar block;
  std::vector<BlockVar> blocks;
  static constexpr auto fields() { return std::tuple(Field("", &GetProducers::block)); }
  static constexpr auto output() { return &GetProducers::blocks; }
  bool operator==(const GetProducers&) const = default;
};

struct GetConsumers {  // blocks that read what the block writes, in order of execution
  BlockVar block;
  std::vector<BlockVar> blocks;
  static constexpr auto fields() { return std::tuple(Field("", &GetConsumers::block)); }
  static constexpr auto output() { return &GetConsumers::blocks; }
  bool operator==(const GetConsumers&) const = default;
};

struct Split {
  LoopVar loop;
  std::vector<IntParam> factors;
  TailParam tail;
  std::vector<LoopVar> loops;
  static constexpr auto fields() {
    return std::tuple(Field("", &Split::loop), Field("", &Split::factors),
                      Field("tail", &Split::tail, kOptional));
  }
  static constexpr auto output() { return &Split::loops; }
  bool operator==(const Split&) const = default;
};

struct Fuse {
  std::vector<LoopVar> loops;
  LoopVar fused;
  static constexpr auto fields() { return std::tuple(Field("", &Fuse::loops)); }
  static constexpr auto output() { return &Fuse::fused; }
  bool operator==(const Fuse&) const = default;
};

struct Reorder {
  std::vector<LoopVar> loops;
  static constexpr auto fields() { return std::tuple(Field("", &Reorder::loops)); }
  bool operator==(const Reorder&) const = default;
};

struct UnitLoop {
  NodeParam above;
  LoopVar loop;
  static constexpr auto fields() { return std::tuple(Field("", &UnitLoop::above)); }
  static constexpr auto output() { return &UnitLoop::loop; }
  bool operator==(const UnitLoop&) const = default;
};

struct Parallel {
  LoopVar loop;
  static constexpr auto fields() { return std::tuple(Field("", &Parallel::loop)); }
  bool operator==(const Parallel&) const = default;
};

struct Vectorize {
  LoopVar loop;
  static constexpr auto fields() { return std::tuple(Field("", &Vectorize::loop)); }
  bool operator==(const Vectorize&) const = default;
};

struct Unroll {
  LoopVar loop;
  static constexpr auto fields() { return std::tuple(Field("", &Unroll::loop)); }
  bool operator==(const Unroll&) const = default;
};

// A location that sample_compute_location gave as "stay" makes these two do nothing.
struct ComputeAt {
  BlockVar block;
  LoopVar loop;
  static constexpr auto fields() {
    return std::tuple(Field("", &ComputeAt::block), Field("", &ComputeAt::loop));
  }
  bool operator==(const ComputeAt&) const = default;
};

struct ReverseComputeAt {
  BlockVar block;
  LoopVar loop;
  static constexpr auto fields() {
    return std::tuple(Field("", &ReverseComputeAt::block), Field("", &ReverseComputeAt::loop));
  }
  bool operator==(const ReverseComputeAt&) const = default;
};

struct ComputeInline {
  BlockVar block;
  static constexpr auto fields() { return std::tuple(Field("", &ComputeInline::block)); }
  bool operator==(const ComputeInline&) const = default;
};

struct ReverseComputeInline {
  BlockVar block;
  static constexpr auto fields() { return std::tuple(Field("", &ReverseComputeInline::block)); }
  bool operator==(const ReverseComputeInline&) const = default;
};

struct CacheRead {
  BlockVar block;
  BufferParam buffer;
  ScopeParam scope;
  BlockVar copy;
  static constexpr auto fields() {
    return std::tuple(Field("", &CacheRead::block), Field("", &CacheRead::buffer),
                      Field("scope", &CacheRead::scope));
  }
  static constexpr auto output() { return &CacheRead::copy; }
  bool operator==(const CacheRead&) const = default;
};

struct CacheWrite {
  BlockVar block;
  BufferParam buffer;
  ScopeParam scope;
  BlockVar copy;
  static constexpr auto fields() {
    return std::tuple(Field("", &CacheWrite::block), Field("", &CacheWrite::buffer),
                      Field("scope", &CacheWrite::scope));
  }
  static constexpr auto output() { return &CacheWrite::copy; }
  bool operator==(const CacheWrite&) const = default;
};

struct SetScope {
  BufferParam buffer;
  ScopeParam scope;
  static constexpr auto fields() {
    return std::tuple(Field("", &SetScope::buffer), Field("scope", &SetScope::scope));
  }
  bool operator==(const SetScope&) const = default;
};

struct TransformLayout {
  BufferParam buffer;
  std::vector<IntParam> tiles;  // one a dimension; 0: stays whole
  std::vector<int64_t> order;   // of dimensions and then insides of tiles; empty: as they are
  static constexpr auto fields() {
    return std::tuple(Field("", &TransformLayout::buffer), Field("", &TransformLayout::tiles),
                      Field("order", &TransformLayout::order, kOptional));
  }
  bool operator==(const TransformLayout&) const = default;
};

struct DecomposeReduction {
  BlockVar block;
  LoopVar loop;
  BlockVar init;
  static constexpr auto fields() {
    return std::tuple(Field("", &DecomposeReduction::block), Field("", &DecomposeReduction::loop));
  }
  static constexpr auto output() { return &DecomposeReduction::init; }
  bool operator==(const DecomposeReduction&) const = default;
};

struct Annotate {
  NodeParam node;
  std::string key;
  IntParam value;
  static constexpr auto fields() {
    return std::tuple(Field("", &Annotate::node), Field("", &Annotate::key),
                      Field("", &Annotate::value));
  }
  bool operator==(const Annotate&) const = default;
};

// -- sampling (distributions: sampling.h)
// -------------------------------------------------------------

// Tile sizes that need not divide. The decision is `parts` factors, outermost first; the outermost
// is ceil(extent / product of the others), and every other is at most the ceil of the extent over
// the product of those inside it.
struct SampleTile {
  LoopVar loop;
  int64_t parts = 2;
  int64_t max = 0;          // of the innermost part; 0: no limit
  int64_t multiple_of = 1;  // of the innermost part
  std::vector<IntVar> values;
  Decision decision;
  static constexpr auto fields() {
    return std::tuple(Field("", &SampleTile::loop), Field("parts", &SampleTile::parts),
                      Field("max", &SampleTile::max, kOptional),
                      Field("multiple_of", &SampleTile::multiple_of, kOptional));
  }
  static constexpr auto output() { return &SampleTile::values; }
  bool operator==(const SampleTile&) const = default;
};

// Tile sizes whose product is the extent.
struct SampleExactTile {
  LoopVar loop;
  int64_t parts = 2;
  int64_t max = 0;          // as above
  int64_t multiple_of = 1;  // as above
  std::vector<IntVar> values;
  Decision decision;
  static constexpr auto fields() {
    return std::tuple(Field("", &SampleExactTile::loop), Field("parts", &SampleExactTile::parts),
                      Field("max", &SampleExactTile::max, kOptional),
                      Field("multiple_of", &SampleExactTile::multiple_of, kOptional));
  }
  static constexpr auto output() { return &SampleExactTile::values; }
  bool operator==(const SampleExactTile&) const = default;
};

// One of the candidates. The decision is its index.
struct SampleCategorical {
  std::vector<int64_t> candidates;
  std::vector<int64_t> weights;  // as many as candidates, or none: all alike
  IntVar value;
  Decision decision;
  static constexpr auto fields() {
    return std::tuple(Field("", &SampleCategorical::candidates),
                      Field("weights", &SampleCategorical::weights, kOptional));
  }
  static constexpr auto output() { return &SampleCategorical::value; }
  bool operator==(const SampleCategorical&) const = default;
};

// One of compute_locations(block), or "stay where it is". The decision is the index, or -1 to stay.
struct SampleComputeLocation {
  BlockVar block;
  int64_t reverse = 0;  // 1: a location for reverse_compute_at
  LoopVar location;
  Decision decision;
  static constexpr auto fields() {
    return std::tuple(Field("", &SampleComputeLocation::block),
                      Field("reverse", &SampleComputeLocation::reverse, kOptional));
  }
  static constexpr auto output() { return &SampleComputeLocation::location; }
  bool operator==(const SampleComputeLocation&) const = default;
};

// In the order of the table in trace.cpp.
using Instruction =
    std::variant<GetBlock, GetLoops, GetChildBlocks, GetProducers, GetConsumers, Split, Fuse,
                 Reorder, UnitLoop, Parallel, Vectorize, Unroll, ComputeAt, ReverseComputeAt,
                 ComputeInline, ReverseComputeInline, CacheRead, CacheWrite, SetScope,
                 TransformLayout, DecomposeReduction, Annotate, SampleTile, SampleExactTile,
                 SampleCategorical, SampleComputeLocation>;

struct InstructionFacts {
  std::string_view keyword;
  std::string_view family;
  std::string_view doc;  // one line
};
std::span<const InstructionFacts> instruction_table();  // row = index in the variant
const InstructionFacts& facts(const Instruction& instruction);

// -- traces
// -------------------------------------------------------------------------------------------

struct Trace {
  std::vector<Instruction> instructions;
  bool operator==(const Trace&) const = default;
};

// One row a sampling instruction of a trace, in order. An empty row is open.
using Decisions = std::vector<std::vector<int64_t>>;

inline constexpr int kTraceVersion = 1;

std::string print(const Trace& trace);
std::string print(const Instruction& instruction);
// Variables may have any names in the text; in the Trace they are numbered in order.
Result<Trace> parse_trace(std::string_view text, const std::string& name);

// One line: "9 4 14 | 2 | -1"; an open row is "_".
std::string print(const Decisions& decisions);
Result<Decisions> parse_decisions(std::string_view text, const std::string& name);

uint64_t hash_of(const Trace& trace);  // decisions count
uint64_t hash_of(const Decisions& decisions);

bool is_sampling(const Instruction& instruction);
size_t sampling_count(const Trace& trace);
Decisions decisions_of(const Trace& trace);
Trace close(const Trace& trace, const Decisions& decisions);  // rows that are open stay as they are
Trace open(const Trace& trace);                               // every decision taken out
// Variables numbered without gaps, as parse_trace gives them; every used one must be defined.
Trace renumber(const Trace& trace);

}  // namespace hone
