// SPDX-License-Identifier: Apache-2.0
#include "ir/program.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "base/hash.h"

namespace hone {
namespace {

LoopId& parent_slot(Program& program, Node node) {
  return node.loop.valid() ? program.loops[node.loop].parent : program.blocks[node.block].parent;
}

template <typename IdType, typename Row>
std::optional<IdType> find_row(const Table<IdType, Row>& table, std::string_view name) {
  for (int32_t i = 0; i < table.size(); ++i) {
    const Row& row = table[IdType{i}];
    if constexpr (requires { row.alive; })
      if (!row.alive) continue;
    if (row.name == name) return IdType{i};
  }
  return std::nullopt;
}

// `wish`, or with the first number behind it that makes it new. Dead rows keep their names.
template <typename IdType, typename Row>
std::string fresh_name(const Table<IdType, Row>& table, std::string_view wish) {
  const auto taken = [&](std::string_view name) {
    return std::any_of(table.begin(), table.end(), [&](const Row& row) { return row.name == name; });
  };
  if (!taken(wish)) return std::string(wish);
  constexpr int64_t kScanned = 8;  // a replay seldom needs more, and is spared the set
  int64_t i = 1;
  for (; i <= kScanned; ++i) {
    std::string name = fmt::format("{}_{}", wish, i);
    if (!taken(name)) return name;
  }
  std::unordered_set<std::string_view> names;
  for (const Row& row : table) names.insert(row.name);
  for (;; ++i) {
    std::string name = fmt::format("{}_{}", wish, i);
    if (!names.contains(name)) return name;
  }
}

void collect_blocks(const Program& program, const Node& node, std::vector<BlockId>& blocks) {
  if (node.block.valid()) {
    blocks.push_back(node.block);
    return;
  }
  for (const Node& child : program.loops[node.loop].body) collect_blocks(program, child, blocks);
}

// Path of positions from the top down to `node`.
std::vector<size_t> path_of(const Program& program, Node node) {
  std::vector<size_t> path;
  for (;;) {
    const std::vector<Node>& siblings = siblings_of(program, node);
    const auto at = std::find(siblings.begin(), siblings.end(), node);
    ENSURE(at != siblings.end());
    path.push_back(static_cast<size_t>(at - siblings.begin()));
    const LoopId parent = parent_of(program, node);
    if (!parent.valid()) break;
    node = Node{parent, {}};
  }
  std::reverse(path.begin(), path.end());
  return path;
}

void collect_loads(const Expr& expr, std::vector<BufferId>& buffers) {
  walk(expr, [&](const ExprNode& node) {
    if (node.op != Op::load) return;
    const BufferId buffer{node.id};
    if (std::find(buffers.begin(), buffers.end(), buffer) == buffers.end())
      buffers.push_back(buffer);
  });
}

bool reads_own_element(const Block& block, const ExprNode& load) {
  for (const Store& store : block.body) {
    if (store.buffer.value != load.id || store.indices.size() != load.args.size()) continue;
    if (std::equal(store.indices.begin(), store.indices.end(), load.args.begin(),
                   [](const Expr& a, const Expr& b) { return equal(a, b); }))
      return true;
  }
  return false;
}

double operations_of(const Expr& expr) {
  double count = 0;
  switch (expr->op) {
    case Op::constant: case Op::axis: case Op::var: case Op::reg:
    case Op::load: return 0;  // what stands in an index is index arithmetic
    case Op::cast: case Op::bitcast: case Op::broadcast: case Op::ramp: case Op::extract:
      break;
    case Op::fma: count = 2; break;
    default: count = 1;
  }
  if (expr->op == Op::select) {  // the condition is index arithmetic or a comparison: counted as 0
    return std::max(operations_of(expr->args[1]), operations_of(expr->args[2]));
  }
  for (const Expr& arg : expr->args) count += operations_of(arg);
  return count;
}

}  // namespace

const std::vector<Node>& siblings_of(const Program& program, Node node) {
  const LoopId parent = parent_of(program, node);
  return parent.valid() ? program.loops[parent].body : program.body;
}

std::vector<Node>& siblings_of(Program& program, Node node) {
  const LoopId parent = parent_of(program, node);
  return parent.valid() ? program.loops[parent].body : program.body;
}

LoopId parent_of(const Program& program, Node node) {
  return node.loop.valid() ? program.loops[node.loop].parent : program.blocks[node.block].parent;
}

std::vector<LoopId> loops_above(const Program& program, Node node) {
  std::vector<LoopId> loops;
  for (LoopId loop = parent_of(program, node); loop.valid(); loop = program.loops[loop].parent)
    loops.push_back(loop);
  std::reverse(loops.begin(), loops.end());
  return loops;
}

std::vector<BlockId> blocks_below(const Program& program, Node node) {
  std::vector<BlockId> blocks;
  collect_blocks(program, node, blocks);
  return blocks;
}

std::vector<BlockId> all_blocks(const Program& program) {
  std::vector<BlockId> blocks;
  for (const Node& node : program.body) collect_blocks(program, node, blocks);
  return blocks;
}

bool is_inside(const Program& program, Node node, LoopId loop) {
  for (LoopId above = parent_of(program, node); above.valid(); above = program.loops[above].parent)
    if (above == loop) return true;
  return false;
}

bool comes_before(const Program& program, Node first, Node second) {
  return path_of(program, first) < path_of(program, second);
}

std::optional<BlockId> find_block(const Program& program, std::string_view name) {
  return find_row(program.blocks, name);
}
std::optional<LoopId> find_loop(const Program& program, std::string_view name) {
  return find_row(program.loops, name);
}
std::optional<BufferId> find_buffer(const Program& program, std::string_view name) {
  return find_row(program.buffers, name);
}

std::string fresh_loop_name(const Program& program, std::string_view wish) {
  return fresh_name(program.loops, wish);
}
std::string fresh_block_name(const Program& program, std::string_view wish) {
  return fresh_name(program.blocks, wish);
}
std::string fresh_buffer_name(const Program& program, std::string_view wish) {
  return fresh_name(program.buffers, wish);
}

LoopId add_loop(Program& program, Loop loop) { return program.loops.add(std::move(loop)); }
BlockId add_block(Program& program, Block block) { return program.blocks.add(std::move(block)); }

void place(Program& program, Node node, LoopId parent, size_t position) {
  parent_slot(program, node) = parent;
  std::vector<Node>& siblings = parent.valid() ? program.loops[parent].body : program.body;
  ENSURE(position <= siblings.size());
  siblings.insert(siblings.begin() + static_cast<std::ptrdiff_t>(position), node);
}

void remove(Program& program, Node node) {
  const LoopId parent = parent_of(program, node);
  std::vector<Node>& siblings = siblings_of(program, node);
  const auto at = std::find(siblings.begin(), siblings.end(), node);
  ENSURE(at != siblings.end());
  siblings.erase(at);
  parent_slot(program, node) = LoopId{};
  if (parent.valid() && program.loops[parent].body.empty()) {
    remove(program, Node{parent, {}});
    program.loops[parent].alive = false;
  }
}

void substitute_loop(Program& program, Node root, LoopId loop, const Affine& replacement) {
  const LoopExtents extents = program.extents();
  for (const BlockId id : blocks_below(program, root)) {
    Block& block = program.blocks[id];
    for (Axis& axis : block.axes)
      axis.binding = substitute(axis.binding, loop, replacement, extents);
    for (Predicate& predicate : block.predicates)
      predicate.form = substitute(predicate.form, loop, replacement, extents);
  }
}

std::vector<BufferId> reads_of(const Block& block) {
  std::vector<BufferId> buffers;
  for (const std::vector<Store>* stores : {&block.init, &block.body}) {
    for (const Store& store : *stores) {
      for (const Expr& index : store.indices) collect_loads(index, buffers);
      walk(store.value, [&](const ExprNode& node) {
        if (node.op != Op::load || reads_own_element(block, node)) return;
        const BufferId buffer{node.id};
        if (std::find(buffers.begin(), buffers.end(), buffer) == buffers.end())
          buffers.push_back(buffer);
      });
    }
  }
  return buffers;
}

std::vector<BufferId> writes_of(const Block& block) {
  std::vector<BufferId> buffers;
  for (const std::vector<Store>* stores : {&block.init, &block.body})
    for (const Store& store : *stores)
      if (std::find(buffers.begin(), buffers.end(), store.buffer) == buffers.end())
        buffers.push_back(store.buffer);
  return buffers;
}

std::vector<BlockId> writers_of(const Program& program, BufferId buffer) {
  std::vector<BlockId> blocks = all_blocks(program);
  std::erase_if(blocks, [&](BlockId block) {
    const std::vector<BufferId> writes = writes_of(program.blocks[block]);
    return std::find(writes.begin(), writes.end(), buffer) == writes.end();
  });
  return blocks;
}

std::vector<BlockId> readers_of(const Program& program, BufferId buffer) {
  std::vector<BlockId> blocks = all_blocks(program);
  std::erase_if(blocks, [&](BlockId block) {
    const std::vector<BufferId> reads = reads_of(program.blocks[block]);
    return std::find(reads.begin(), reads.end(), buffer) == reads.end();
  });
  return blocks;
}

const Annotation* find_annotation(const std::vector<Annotation>& annotations, std::string_view key) {
  for (const Annotation& annotation : annotations)
    if (annotation.key == key) return &annotation;
  return nullptr;
}

int64_t element_count(const Buffer& buffer) {
  int64_t count = 1;
  for (const int64_t extent : buffer.shape) count *= extent;
  return count;
}

int64_t bytes_of(const Buffer& buffer) { return element_count(buffer) * bytes_of(buffer.dtype); }

double count_operations(const Program& program) {
  double total = 0;
  for (const BlockId id : all_blocks(program)) {
    const Block& block = program.blocks[id];
    double instances = 1;
    for (const Axis& axis : block.axes) instances *= static_cast<double>(axis.extent);
    for (const Store& store : block.body) total += instances * operations_of(store.value);
  }
  return total;
}

namespace {

uint64_t hash_stores(const std::vector<Store>& stores, uint64_t hash) {
  for (const Store& store : stores) {
    hash = hash_combine(hash, static_cast<uint64_t>(store.buffer.value));
    for (const Expr& index : store.indices) hash = hash_combine(hash, hash_of(index));
    hash = hash_combine(hash, hash_of(store.value));
  }
  return hash_combine(hash, stores.size());
}

uint64_t hash_annotations(const std::vector<Annotation>& annotations, uint64_t hash) {
  for (const Annotation& annotation : annotations)
    hash = hash_combine(hash_bytes(annotation.key, hash), static_cast<uint64_t>(annotation.value));
  return hash;
}

uint64_t hash_node(const Program& program, const Node& node, uint64_t hash) {
  if (node.loop.valid()) {
    const Loop& loop = program.loops[node.loop];
    hash = hash_bytes(loop.name, hash);
    for (const uint64_t value :
         {static_cast<uint64_t>(loop.extent), static_cast<uint64_t>(loop.kind),
          static_cast<uint64_t>(loop.tail), static_cast<uint64_t>(loop.body.size())})
      hash = hash_combine(hash, value);
    hash = hash_annotations(loop.annotations, hash);
    for (const Node& child : loop.body) hash = hash_node(program, child, hash);
    return hash;
  }
  const Block& block = program.blocks[node.block];
  hash = hash_bytes(block.name, hash);
  for (const Axis& axis : block.axes) {
    hash = hash_combine(hash_bytes(axis.name, hash), static_cast<uint64_t>(axis.kind));
    hash = hash_combine(hash_combine(hash, static_cast<uint64_t>(axis.extent)), hash_of(axis.binding));
  }
  for (const Predicate& predicate : block.predicates)
    hash = hash_combine(hash_combine(hash, hash_of(predicate.form)),
                        static_cast<uint64_t>(predicate.bound));
  hash = hash_stores(block.body, hash_stores(block.init, hash));
  return hash_annotations(block.annotations, hash);
}

}  // namespace

uint64_t hash_of(const Program& program) {
  uint64_t hash = hash_bytes(program.name);
  for (const Buffer& buffer : program.buffers) {
    hash = hash_bytes(buffer.name, hash);
    for (const uint64_t value :
         {static_cast<uint64_t>(buffer.dtype), static_cast<uint64_t>(buffer.kind),
          static_cast<uint64_t>(buffer.scope), static_cast<uint64_t>(buffer.shape.size())})
      hash = hash_combine(hash, value);
    for (const int64_t extent : buffer.shape) hash = hash_combine(hash, static_cast<uint64_t>(extent));
  }
  for (const Node& node : program.body) hash = hash_node(program, node, hash);
  return hash;
}

}  // namespace hone
