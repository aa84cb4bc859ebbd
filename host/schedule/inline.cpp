// SPDX-License-Identifier: Apache-2.0
//
// compute_inline, reverse_compute_inline: a block becomes part of the blocks around it and is gone.
//
//   compute_inline A                              reverse_compute_inline R
//     for i in 8                                    for i in 8, j in 4
//       block A  spatial i=i                          block A  spatial i=i j=j
//         update A[i] = X[i] + 1                        update A[i,j] = X[j,i] + 1
//     for i_1 in 4                                  for y in 8, x in 4
//       block B  spatial i=i_1                        block R  spatial y=y x=x
//         update B[i] = A[2*i] * A[i]                   update R[y,x] = max(A[y,x], 0)
//   -->                                           -->
//     for i_1 in 4                                  for i in 8, j in 4
//       block B  spatial i=i_1                        block A  spatial i=i j=j
//         update B[i] = (X[2*i]+1) * (X[i]+1)           update R[i,j] = max(X[j,i] + 1, 0)
//
// The value of an element is an expression over the block's axes, and an element says which
// instance made it: the store's indices are the axes, in any order. So a load is replaced by the
// value with the load's indices in place of the axes. What stood behind a select stays behind it.
//
// compute_inline may compute a value several times. reverse_compute_inline makes the producer write
// in the consumer's place, so each element must have one instance there, which must run once.
#include <algorithm>
#include <span>

#include "schedule/legality.h"
#include "schedule/nest.h"
#include "schedule/primitives.h"

namespace hone {
namespace {

constexpr std::string_view kForward = "compute_inline";
constexpr std::string_view kReverse = "reverse_compute_inline";

// Indices that are all the axes of `block`, each once; axes of extent 1 may be missing, and where
// the dimension has extent 1 there may be a constant.
bool are_all_axes(const Program& program, const Block& block, BufferId buffer,
                  const std::vector<Expr>& indices) {
  std::vector<bool> seen(block.axes.size());
  for (size_t dim = 0; dim < indices.size(); ++dim) {
    const std::optional<size_t> axis = plain_axis(indices[dim]);
    if (!axis && is_constant(indices[dim], 0) && program.buffers[buffer].shape[dim] == 1) continue;
    if (!axis || seen[*axis]) return false;
    seen[*axis] = true;
  }
  for (size_t axis = 0; axis < block.axes.size(); ++axis)
    if (!seen[axis] && block.axes[axis].extent != 1) return false;
  return true;
}

Result<void> check_spatial(std::string_view primitive, const Block& block) {
  if (!block.alive) return fail("{}: block '{}' is gone: it was inlined", primitive, block.name);
  if (block.is_reduction()) return fail("{}: block '{}' is a reduction", primitive, block.name);
  if (block.body.size() != 1 || !block.init.empty())
    return fail("{}: block '{}' writes more than one value", primitive, block.name);
  return {};
}

// The block alone gives the buffer its values, and they say which instance made them.
Result<void> check_maker(std::string_view primitive, const Program& program, BlockId id) {
  const Block& block = program.blocks[id];
  TRYV(check_spatial(primitive, block));
  const Store& store = block.body[0];
  const Buffer& buffer = program.buffers[store.buffer];
  if (buffer.kind == BufferKind::output)
    return fail("{}: block '{}' writes output '{}', which must stay", primitive, block.name,
                buffer.name);
  for (const BlockId writer : writers_of(program, store.buffer))
    if (writer != id)
      return fail("{}: block '{}' writes '{}', which block '{}' writes as well", primitive,
                  block.name, buffer.name, program.blocks[writer].name);
  if (!are_all_axes(program, block, store.buffer, store.indices))
    return fail("{}: the indices of '{}' in block '{}' are not all its axes, each once", primitive,
                buffer.name, block.name);
  return {};
}

// For each axis what stands in its place: an index of `like`, or 0 for axes that no index needs.
std::vector<Expr> axes_from(const Block& block, const std::vector<Expr>& indices,
                            const std::vector<Expr>& like) {
  std::vector<Expr> values(block.axes.size(), index_constant(0));
  for (size_t dim = 0; dim < indices.size(); ++dim)
    if (const std::optional<size_t> axis = plain_axis(indices[dim]))
      values[*axis] = like[dim]->dtype == DType::i64
                          ? like[dim]
                          : cast_expr(Op::cast, DType::i64, like[dim]);  // an axis is i64
  return values;
}

Expr replace_loads(const Expr& expr, const Block& maker) {
  const Store& store = maker.body[0];
  return rewrite(expr, [&](const Expr& node) {
    if (node->op != Op::load || node->id != store.buffer.value) return node;
    return substitute_axes(store.value, axes_from(maker, store.indices, node->args));
  });
}

void replace_loads(std::vector<Store>& stores, const Block& maker) {
  for (Store& store : stores) {
    for (Expr& index : store.indices) index = replace_loads(index, maker);
    store.value = replace_loads(store.value, maker);
  }
}

void bury(Program& program, BlockId block) {
  remove(program, Node{{}, block});
  program.blocks[block].alive = false;
}

// All loads of the producer's buffer in `block` have the same indices; null: they do not.
const std::vector<Expr>* common_indices(const Block& block, BufferId buffer) {
  const std::vector<Expr>* indices = nullptr;
  bool same = true;
  visit_loads(block, buffer, [&](const ExprNode& load) {
    if (!indices) indices = &load.args;
    same = same && std::equal(indices->begin(), indices->end(), load.args.begin(), load.args.end(),
                              [](const Expr& a, const Expr& b) { return equal(a, b); });
  });
  return same ? indices : nullptr;
}

// Each instance of the consumer is one of the producer, and that one runs once.
Result<void> check_one_to_one(const Program& program, BlockId producer_id, const Block& consumer) {
  const Block& producer = program.blocks[producer_id];
  const BufferId buffer = producer.body[0].buffer;
  const std::vector<Expr>* indices = common_indices(consumer, buffer);
  if (!indices)
    return fail("reverse_compute_inline: block '{}' reads '{}' at several indices", consumer.name,
                program.buffers[buffer].name);
  if (!are_all_axes(program, consumer, buffer, *indices))
    return fail(
        "reverse_compute_inline: the indices at which block '{}' reads '{}' are not all its "
        "axes, each once",
        consumer.name, program.buffers[buffer].name);
  for (size_t dim = 0; dim < indices->size(); ++dim) {
    const auto made = plain_axis(producer.body[0].indices[dim]);
    const auto read = plain_axis((*indices)[dim]);
    const int64_t made_extent = made ? producer.axes[*made].extent : 1;
    const int64_t read_extent = read ? consumer.axes[*read].extent : 1;
    if (made_extent != read_extent)
      return fail(
          "reverse_compute_inline: block '{}' reads {} of {} elements along dimension {} of '{}'",
          consumer.name, read_extent, made_extent, dim, program.buffers[buffer].name);
  }
  std::vector<Affine> forms;
  for (const Axis& axis : producer.axes) forms.push_back(axis.binding);
  const std::vector<LoopId> loops = loops_above(program, Node{{}, producer_id});
  for (const LoopId loop : loops)
    if (!determines(program, forms, loops, std::span(&loop, 1)))
      return fail(
          "reverse_compute_inline: block '{}' may run several times for one element, in loop '{}'",
          producer.name, program.loops[loop].name);
  return {};
}

// The block that the consumer goes into: of those that make a temp for it alone, the last that
// fits.
Result<BlockId> find_producer(const Program& program, BlockId id) {
  const Block& block = program.blocks[id];
  Result<BlockId> found = fail(
      "reverse_compute_inline: block '{}' reads no temp that it alone reads and that one block "
      "writes",
      block.name);
  for (const BufferId buffer : reads_of(block)) {
    const std::vector<BlockId> writers = writers_of(program, buffer);
    if (writers.size() != 1 || readers_of(program, buffer).size() != 1 ||
        program.buffers[buffer].kind != BufferKind::temp)
      continue;
    const auto check = [&]() -> Result<void> {
      TRYV(check_maker(kReverse, program, writers[0]));
      return check_one_to_one(program, writers[0], block);
    };
    if (const Result<void> fits = check(); fits) {
      found = writers[0];
    } else if (!found) {
      found = std::unexpected(fits.error());
    }
  }
  return found;
}

// The producer with the consumer's store.
Block joined(const Block& producer, const Block& consumer) {
  const Store& made = producer.body[0];
  const Store& store = consumer.body[0];
  const std::vector<Expr> axes =
      axes_from(consumer, *common_indices(consumer, made.buffer), made.indices);
  const auto rewritten = [&](const Expr& expr) {
    // The load's indices become the producer's own, so that its value stands there as it is.
    return rewrite(substitute_axes(expr, axes), [&](const Expr& node) {
      return node->op == Op::load && node->id == made.buffer.value ? made.value : node;
    });
  };
  Block result = producer;
  result.body[0].buffer = store.buffer;
  result.body[0].value = rewritten(store.value);
  result.body[0].indices.clear();
  for (const Expr& index : store.indices) result.body[0].indices.push_back(rewritten(index));
  return result;
}

}  // namespace

Result<void> compute_inline(Program& program, BlockId id) {
  TRYV(check_maker(kForward, program, id));
  const Block& block = program.blocks[id];
  const std::vector<BlockId> consumers = readers_of(program, block.body[0].buffer);
  if (consumers.empty())
    return fail("compute_inline: no block reads '{}', which block '{}' writes",
                program.buffers[block.body[0].buffer].name, block.name);
  for (const BlockId consumer : consumers)
    TRYV(check_leaves_no_producer(kForward, program, id, loops_above(program, Node{{}, consumer})));
  for (const BlockId consumer : consumers) {
    replace_loads(program.blocks[consumer].init, block);
    replace_loads(program.blocks[consumer].body, block);
  }
  bury(program, id);
  return {};
}

Result<void> reverse_compute_inline(Program& program, BlockId id) {
  const Block& consumer = program.blocks[id];
  TRYV(check_spatial(kReverse, consumer));
  for (const BlockId writer : writers_of(program, consumer.body[0].buffer))
    if (writer != id)
      return fail("reverse_compute_inline: block '{}' writes '{}', which block '{}' writes as well",
                  consumer.name, program.buffers[consumer.body[0].buffer].name,
                  program.blocks[writer].name);
  const BlockId producer = TRY(find_producer(program, id));
  const std::vector<LoopId> path = loops_above(program, Node{{}, producer});
  TRYV(check_leaves_no_producer(kReverse, program, id, path));
  const Nest nest{joined(program.blocks[producer], consumer), {}, {}};
  const LoopId parent = parent_of(program, Node{{}, producer});
  const Place place{parent, position_in(program, parent, producer)};
  TRYV(check_reads(kReverse, program, nest, producer, place));
  program.blocks[producer] = nest.block;
  bury(program, id);
  return {};
}

}  // namespace hone
