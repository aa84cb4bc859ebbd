// SPDX-License-Identifier: Apache-2.0
//
// A Program: what a computation is and in which loops it runs, before and after scheduling. It is a
// value; copying it is a snapshot. Primitives (schedule/) edit it in place and keep what verify()
// checks.
//
//   program matmul_relu
//   buffer A f32[512,512] input
//   buffer C f32[512,512] temp
//   for i in 512, j in 512, k in 512
//     block mm  spatial vi=i vj=j  reduce vk=k
//       init   C[vi,vj] = 0
//       update C[vi,vj] = C[vi,vj] + A[vi,vk] * B[vk,vj]
//
// A block instance is one assignment of its axes. Its body speaks only of axes; loops reach it
// through the axes' bindings, so that loop primitives never touch a body. For each assignment of
// the spatial axes, `init` runs once before the first update, in loop order: that is when all
// reduce axes are 0 in the naive nest; after reordering it is still "the first instance that
// touches the element", which for every legal schedule is the one whose reduce bindings are all 0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/id.h"
#include "ir/affine.h"
#include "ir/dtype.h"
#include "ir/expr.h"

namespace hone {

using BlockId = Id<struct BlockTag>;

enum class BufferKind : uint8_t {
  input,   // given by the caller, read only
  param,   // like input, but constant at deployment: may be re-laid-out ahead of time
  temp,    // lives within one call
  output,  // written for the caller
};

// Where a temp lives. Lowering shrinks it to the region that is live at its place in the loops.
enum class Scope : uint8_t {
  workspace,  // memory that the caller gives, of known size
  stack,      // the function's frame; for small tiles
  registers,  // SSA values: every index must be a constant once loops are unrolled and vectorised
  constant,   // made of params alone, once, ahead of all calls: re-laid-out weights
              // (check_constants)
};
inline constexpr Scope kLastScope = Scope::constant;

struct Buffer {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;  // elements, row-major; empty for a scalar
  BufferKind kind = BufferKind::temp;
  Scope scope = Scope::workspace;  // temps only
};

enum class LoopKind : uint8_t { serial, parallel, vectorized, unrolled };

// What becomes of the iterations of a split that does not divide. The Program keeps a predicate on
// the blocks below; lowering turns it into code by this strategy.
enum class Tail : uint8_t {
  exact,      // divides: no predicate
  peel,       // full tiles, and a body of the remainder's constant extent
  shift,      // the last tile moves back and recomputes
  predicate,  // masks or tests
};

struct Annotation {
  std::string key;
  int64_t value = 0;
};

struct Node {  // a child in a body: one of the two is valid
  LoopId loop;
  BlockId block;
  bool operator==(const Node&) const = default;
};

struct Loop {
  std::string name;  // unique in the Program
  int64_t extent = 1;
  LoopKind kind = LoopKind::serial;
  Tail tail = Tail::exact;  // of the split that made this loop an inner part
  LoopId parent;            // invalid: at the top
  std::vector<Node> body;
  std::vector<Annotation> annotations;
  bool alive = true;
};

enum class AxisKind : uint8_t { spatial, reduce };

struct Axis {
  std::string name;
  AxisKind kind = AxisKind::spatial;
  int64_t extent = 1;  // domain [0, extent)
  Affine binding;
};

// The instance runs only if 0 ≤ form < bound.
struct Predicate {
  Affine form;
  int64_t bound = 0;
};

struct Store {
  BufferId buffer;
  std::vector<Expr> indices;  // over axes
  Expr value;
};

struct Block {
  std::string name;  // unique in the Program
  std::vector<Axis> axes;
  std::vector<Predicate> predicates;
  std::vector<Store> init;  // empty: not a reduction, or decomposed
  std::vector<Store>
      body;       // more than one (tuple reduction): all values are read before any is written
  LoopId parent;  // invalid: at the top
  std::vector<Annotation> annotations;
  bool alive = true;

  bool is_reduction() const {
    for (const Axis& axis : axes)
      if (axis.kind == AxisKind::reduce) return true;
    return false;
  }
};

struct Program {
  std::string name;
  Table<BufferId, Buffer> buffers;
  Table<LoopId, Loop> loops;     // dead rows stay
  Table<BlockId, Block> blocks;  // dead rows stay
  std::vector<Node> body;        // in order of execution

  LoopExtents extents() const {
    return [this](LoopId loop) { return loops[loop].extent; };
  }
};

// -- tree queries and edits
// ------------------------------------------------------------------------

std::vector<Node>& siblings_of(Program& program, Node node);  // the body that holds `node`
const std::vector<Node>& siblings_of(const Program& program, Node node);
LoopId parent_of(const Program& program, Node node);
std::vector<LoopId> loops_above(const Program& program, Node node);    // outermost first
std::vector<BlockId> blocks_below(const Program& program, Node node);  // in order of execution
std::vector<BlockId> all_blocks(const Program& program);               // in order of execution
bool is_inside(const Program& program, Node node, LoopId loop);
// True if `first` runs before `second` in the text of the Program (neither inside the other).
bool comes_before(const Program& program, Node first, Node second);

std::optional<BlockId> find_block(const Program& program, std::string_view name);
std::optional<LoopId> find_loop(const Program& program, std::string_view name);
std::optional<BufferId> find_buffer(const Program& program, std::string_view name);
std::string fresh_loop_name(const Program& program, std::string_view wish);
std::string fresh_block_name(const Program& program, std::string_view wish);
std::string fresh_buffer_name(const Program& program, std::string_view wish);

LoopId add_loop(Program& program, Loop loop);  // not placed yet
BlockId add_block(Program& program, Block block);
void place(Program& program, Node node, LoopId parent, size_t position);  // sets the parent
void remove(Program& program, Node node);  // detaches it; a loop left empty above goes too
// Rewrites every binding and predicate below `root` that uses `loop`.
void substitute_loop(Program& program, Node root, LoopId loop, const Affine& replacement);

// Buffers that a block reads (not counting its own element in a reduction's update) and writes.
std::vector<BufferId> reads_of(const Block& block);
std::vector<BufferId> writes_of(const Block& block);
std::vector<BlockId> writers_of(const Program& program, BufferId buffer);  // in order of execution
std::vector<BlockId> readers_of(const Program& program, BufferId buffer);

const Annotation* find_annotation(const std::vector<Annotation>& annotations, std::string_view key);
int64_t element_count(const Buffer& buffer);
int64_t bytes_of(const Buffer& buffer);
// Arithmetic operations (adds, multiplications, … of any type, not index arithmetic) of the whole
// Program if every block instance ran once; an fma counts 2.
double count_operations(const Program& program);

uint64_t hash_of(const Program& program);  // of everything that text shows

}  // namespace hone
