// SPDX-License-Identifier: Apache-2.0
//
// Offsets: buffers are placed in order of size, largest first, each at the lowest 64-byte aligned
// offset where nothing that lives at the same time lies. Life is counted in top-level nests, which
// run one after the other.
#include "lower/storage.h"

#include <algorithm>
#include <optional>

#include "ir/verify.h"

namespace hone {
namespace {

constexpr int64_t kAlignment = 64;

int64_t align(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

bool accesses(const Block& block, BufferId buffer) {
  const std::vector<BufferId> writes = writes_of(block);
  const std::vector<BufferId> reads = reads_of(block);
  return std::find(writes.begin(), writes.end(), buffer) != writes.end() ||
         std::find(reads.begin(), reads.end(), buffer) != reads.end();
}

std::vector<BlockId> accessors_of(const Program& program, const std::vector<Node>& nests,
                                  BufferId buffer) {
  std::vector<BlockId> blocks;
  for (const Node& nest : nests)
    for (const BlockId block : blocks_below(program, nest))
      if (accesses(program.blocks[block], buffer)) blocks.push_back(block);
  return blocks;
}

// Whether `block` carries what it adds up in `buffer` from one iteration of the loop to the next.
bool carries(const Program& program, BlockId id, BufferId buffer, LoopId loop) {
  const Block& block = program.blocks[id];
  const std::vector<BufferId> writes = writes_of(block);
  if (std::find(writes.begin(), writes.end(), buffer) == writes.end()) return false;
  return std::any_of(block.axes.begin(), block.axes.end(), [&](const Axis& axis) {
    return axis.kind == AxisKind::reduce && uses(axis.binding, loop);
  });
}

// The loops around all blocks, outermost first, up to the first that carries the buffer, or whose
// iterations run at the same time as lanes: each lane needs elements of its own.
std::vector<LoopId> common_loops(const Program& program, BufferId buffer,
                                 const std::vector<BlockId>& blocks) {
  std::vector<LoopId> common = loops_above(program, Node{{}, blocks[0]});
  for (const BlockId block : blocks) {
    const std::vector<LoopId> loops = loops_above(program, Node{{}, block});
    size_t same = 0;
    while (same < common.size() && same < loops.size() && common[same] == loops[same]) ++same;
    common.resize(same);
  }
  const auto shared = std::find_if(common.begin(), common.end(), [&](LoopId loop) {
    if (program.loops[loop].kind == LoopKind::vectorized) return true;
    return std::any_of(blocks.begin(), blocks.end(),
                       [&](BlockId block) { return carries(program, block, buffer, loop); });
  });
  common.erase(shared, common.end());
  return common;
}

std::vector<LoopId> with_above(const Program& program, LoopId loop) {
  if (!loop.valid()) return {};
  std::vector<LoopId> loops = loops_above(program, Node{loop, {}});
  loops.push_back(loop);
  return loops;
}

bool is_parallel(const Program& program, LoopId loop) {
  for (const LoopId above : with_above(program, loop))
    if (program.loops[above].kind == LoopKind::parallel) return true;
  return false;
}

void set_strides(Storage& storage) {
  storage.strides.assign(storage.region.size(), 1);
  for (size_t i = storage.region.size(); i-- > 0;) {
    storage.strides[i] = storage.elements;
    storage.elements *= storage.region[i].extent;
  }
}

struct Touched {
  std::optional<Region> written;
  std::optional<Region> read;
};

Touched touched(const Program& program, BufferId buffer, const std::vector<BlockId>& accessors,
                const std::vector<LoopId>& fixed) {
  Touched result;
  const auto cover = [&](std::optional<Region>& region, const Region& more) {
    region = region ? hull(program, buffer, *region, more) : more;
  };
  for (const BlockId block : accessors) {
    const std::vector<BufferId> writes = writes_of(program.blocks[block]);
    const std::vector<BufferId> reads = reads_of(program.blocks[block]);
    if (std::find(writes.begin(), writes.end(), buffer) != writes.end())
      cover(result.written, region_of(program, block, buffer, true, fixed));
    if (std::find(reads.begin(), reads.end(), buffer) != reads.end())
      cover(result.read, region_of(program, block, buffer, false, fixed));
  }
  return result;
}

bool covers(const Region& outer, const Region& inner) {
  for (size_t i = 0; i < outer.size(); ++i) {
    const Affine distance = add(inner[i].base, scale(outer[i].base, -1));
    if (!distance.is_constant() || distance.base < 0 ||
        distance.base + inner[i].extent > outer[i].extent)
      return false;
  }
  return true;
}

// The deepest place at which all that is read is written in the same iteration, and what is live
// there.
void set_place(const Program& program, BufferId buffer, const std::vector<BlockId>& accessors,
               Storage& storage) {
  std::vector<LoopId> fixed = common_loops(program, buffer, accessors);
  for (;; fixed.pop_back()) {
    const Touched region = touched(program, buffer, accessors, fixed);
    storage.place = fixed.empty() ? LoopId{} : fixed.back();
    if (!region.read || !region.written) {
      storage.region = region.read ? *region.read : *region.written;
      return;
    }
    if (!fixed.empty() && !covers(*region.written, *region.read)) continue;
    storage.region = hull(program, buffer, *region.written, *region.read);
    return;
  }
}

struct Life {
  BufferId buffer;  // of the Kernel
  int64_t bytes = 0;
  size_t first = 0;  // top-level nests
  size_t last = 0;
};

size_t top_index(const Program& program, BlockId block) {
  Node node{{}, block};
  for (LoopId parent = parent_of(program, node); parent.valid(); parent = parent_of(program, node))
    node = Node{parent, {}};
  return static_cast<size_t>(std::find(program.body.begin(), program.body.end(), node) -
                             program.body.begin());
}

// Gives offsets and returns the bytes that all need together.
int64_t assign_offsets(std::vector<Life> lives, Kernel& kernel) {
  std::sort(lives.begin(), lives.end(), [](const Life& a, const Life& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.buffer < b.buffer;
  });
  int64_t total = 0;
  std::vector<Life> placed;
  for (const Life& life : lives) {
    int64_t offset = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (const Life& other : placed) {
        const int64_t begin = kernel.buffers[other.buffer].offset;
        const bool apart = other.last < life.first || life.last < other.first ||
                           begin + align(other.bytes) <= offset ||
                           offset + align(life.bytes) <= begin;
        if (apart) continue;
        offset = begin + align(other.bytes);
        moved = true;
      }
    }
    kernel.buffers[life.buffer].offset = offset;
    placed.push_back(life);
    total = std::max(total, offset + align(life.bytes));
  }
  return total;
}

void set_whole(const Buffer& buffer, Storage& storage) {
  for (const int64_t extent : buffer.shape) storage.region.push_back({affine_constant(0), extent});
  set_strides(storage);
}

// Arguments: inputs and params, then outputs, each with its whole extent. Gives their number.
int add_arguments(const Program& program, std::vector<Storage>& storage, Kernel& kernel) {
  int slot = 0;
  for (const bool outputs : {false, true}) {
    for (int32_t i = 0; i < program.buffers.size(); ++i) {
      const Buffer& buffer = program.buffers[BufferId{i}];
      if (buffer.kind == BufferKind::temp || (buffer.kind == BufferKind::output) != outputs)
        continue;
      Storage& row = storage[static_cast<size_t>(i)];
      set_whole(buffer, row);
      KernelBuffer argument;
      argument.name = buffer.name;
      argument.dtype = buffer.dtype;
      argument.elements = row.elements;
      argument.slot = slot++;
      argument.written = outputs;
      row.kernel_buffer = kernel.buffers.add(std::move(argument));
    }
  }
  return slot;
}

// One behind the other, at places that do not depend on the nests.
void add_constants(const Program& program, const std::vector<Node>& nests, int slot,
                   std::vector<Storage>& storage, Kernel& kernel) {
  for (int32_t i = 0; i < program.buffers.size(); ++i) {
    const BufferId id{i};
    const Buffer& buffer = program.buffers[id];
    if (buffer.scope != Scope::constant || writers_of(program, id).empty()) continue;
    Storage& row = storage[static_cast<size_t>(i)];
    set_whole(buffer, row);
    KernelBuffer constant;
    constant.name = buffer.name;
    constant.dtype = buffer.dtype;
    constant.elements = row.elements;
    constant.space = Space::constants;
    constant.slot = slot;
    constant.offset = kernel.constants_bytes;
    constant.written = std::any_of(nests.begin(), nests.end(), [&](const Node& nest) {
      return makes_constants(program, nest);
    });
    row.kernel_buffer = kernel.buffers.add(std::move(constant));
    kernel.constants_bytes += align(row.elements * bytes_of(buffer.dtype));
  }
}

}  // namespace

Result<std::vector<Storage>> plan_storage(const Program& program, const std::vector<Node>& nests,
                                          Kernel& kernel) {
  std::vector<Storage> storage(static_cast<size_t>(program.buffers.size()));
  const int slots = add_arguments(program, storage, kernel);
  add_constants(program, nests, slots, storage, kernel);
  std::vector<Life> shared;
  std::vector<Life> per_worker;
  for (int32_t i = 0; i < program.buffers.size(); ++i) {
    const BufferId id{i};
    const Buffer& buffer = program.buffers[id];
    if (buffer.kind != BufferKind::temp || buffer.scope == Scope::constant) continue;
    const std::vector<BlockId> accessors = accessors_of(program, nests, id);
    if (accessors.empty()) continue;
    Storage& row = storage[static_cast<size_t>(i)];
    set_place(program, id, accessors, row);
    set_strides(row);
    if (buffer.scope == Scope::registers) {
      row.in_registers = true;
      for (const BlockId block : accessors)
        if (is_parallel(program, parent_of(program, Node{{}, block})) &&
            !is_parallel(program, row.place))
          return fail("register buffer '{}' crosses the iterations of a parallel loop",
                      buffer.name);
      continue;
    }
    KernelBuffer memory;
    memory.name = buffer.name;
    memory.dtype = buffer.dtype;
    memory.elements = row.elements;
    memory.written = true;
    Life life;
    life.bytes = row.elements * bytes_of(buffer.dtype);
    life.first = life.last = top_index(program, accessors[0]);
    for (const BlockId block : accessors) {
      life.first = std::min(life.first, top_index(program, block));
      life.last = std::max(life.last, top_index(program, block));
    }
    if (buffer.scope == Scope::stack) {
      memory.space = Space::stack;
      kernel.stack_bytes += align(life.bytes);
    } else {
      memory.space = is_parallel(program, row.place) ? Space::per_worker : Space::workspace;
    }
    row.kernel_buffer = life.buffer = kernel.buffers.add(memory);
    if (memory.space == Space::workspace) shared.push_back(life);
    if (memory.space == Space::per_worker) per_worker.push_back(life);
  }
  kernel.workspace_bytes = assign_offsets(std::move(shared), kernel);
  kernel.workspace_bytes_per_worker = assign_offsets(std::move(per_worker), kernel);
  return storage;
}

}  // namespace hone
