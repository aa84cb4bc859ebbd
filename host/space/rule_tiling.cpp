// SPDX-License-Identifier: Apache-2.0
//
// tiling: a reduction with reuse becomes
//
//   for s0… (fused, parallel)                 macro tiles
//     for s1…                                 tiles for the caches
//       C.reg = 0                             unrolled, vectorised
//       for r…                                whole reduction
//         for r1 (unrolled)
//           for s2… (unrolled, vectorised)    register tile: C.reg += A · B
//       epilogue(C.reg)                       unrolled, vectorised
//
// The accumulators stay in registers through the whole reduction. The epilogue is the elementwise
// block that reads the result, or a plain copy (cache-write) where there is none. Tile sizes need
// not divide; the tail of each split is a decision. A weight that stands along the vector axis is
// laid out ahead of time in panels as wide as the register tile, so that the code reads it from
// first byte to last:
//   W[k, j]   -->   W_cache[j / width, k, j % width]
// Variants (skeletons of their own, since they differ in structure):
//   pack   another operand is copied into consecutive memory at the macro tile
//   pad    a padding block runs whole before, or for each macro tile
#include <algorithm>

#include "space/analysis.h"
#include "space/rule.h"

namespace hone {
namespace {

constexpr int64_t kLongestUnroll = 8;      // of the reduction's innermost part
constexpr int64_t kTallestTile = 16;       // register tile, along an axis that is not the vector's
constexpr int64_t kWidestTileVectors = 4;  // register tile, along the vector axis
constexpr size_t kTiledAxes = 2;           // besides the vector axis

struct Variant {
  bool vector_axis_first = false;  // macro tiles: vector axis outermost and alone in parallel
  std::string packed;              // operand, or empty
  std::string panels;              // weight to lay out ahead of time, or empty
  std::string padded;              // block to move under the macro tile, or empty
};

// A layout of a weight in which the reduction reads it in order.
struct Panels {
  size_t dim;                  // that the vector axis runs along
  std::vector<int64_t> order;  // as transform_layout takes it
};

// Where the vector axis is one of the weight's indices, all by itself.
std::optional<Panels> panels_of(const Program& program, const Block& block, size_t vector_axis,
                                const std::string& weight) {
  const std::optional<BufferId> buffer = find_buffer(program, weight);
  if (!buffer || block.axes[vector_axis].extent == 1) return std::nullopt;
  std::vector<const ExprNode*> loads;
  walk(block.body[0].value, [&](const ExprNode& node) {
    if (node.op == Op::load && node.id == buffer->value) loads.push_back(&node);
  });
  if (loads.size() != 1) return std::nullopt;
  const std::vector<Expr>& indices = loads[0]->args;
  const auto first_axis = [&](const Expr& index) {
    int32_t first = INT32_MAX;
    walk(index, [&](const ExprNode& node) {
      if (node.op == Op::axis) first = std::min(first, node.id);
    });
    return first;
  };
  std::optional<size_t> dim;
  std::vector<int64_t> others;
  for (size_t i = 0; i < indices.size(); ++i) {
    bool along = false;
    walk(indices[i], [&](const ExprNode& node) {
      along = along || (node.op == Op::axis && static_cast<size_t>(node.id) == vector_axis);
    });
    if (!along) {
      others.push_back(static_cast<int64_t>(i));
    } else if (dim || indices[i]->op != Op::axis) {
      return std::nullopt;
    } else {
      dim = i;
    }
  }
  if (!dim) return std::nullopt;
  // Outer reduce loops run over outer dimensions.
  const auto place = [&](int64_t i) {
    return std::pair(first_axis(indices[static_cast<size_t>(i)]), i);
  };
  std::sort(others.begin(), others.end(),
            [&](int64_t a, int64_t b) { return place(a) < place(b); });
  Panels panels{*dim, {static_cast<int64_t>(*dim)}};
  panels.order.insert(panels.order.end(), others.begin(), others.end());
  panels.order.push_back(static_cast<int64_t>(indices.size()));
  return panels;
}

struct SpatialLoops {
  std::vector<LoopVar> macro;
  std::vector<LoopVar> cache;
  std::vector<LoopVar> tile;  // vector axis last
};

// Axes of the register tile: the vector axis, and the largest others (later ones first among
// equals).
std::vector<size_t> tiled_axes(const Block& block, size_t vector_axis) {
  std::vector<size_t> axes;
  for (size_t i = 0; i < block.axes.size(); ++i)
    if (block.axes[i].kind == AxisKind::spatial && i != vector_axis && block.axes[i].extent > 1)
      axes.push_back(i);
  const auto height = [&](size_t axis) {
    return std::min<int64_t>(block.axes[axis].extent, kTallestTile);
  };
  std::sort(axes.begin(), axes.end(), [&](size_t a, size_t b) {
    return height(a) != height(b) ? height(a) > height(b) : a > b;
  });
  if (axes.size() > kTiledAxes) axes.resize(kTiledAxes);
  std::sort(axes.begin(), axes.end());
  return axes;
}

class Tiling {
 public:
  Tiling(Schedule schedule, const std::string& name, const Target& target, const Variant& variant)
      : s_(std::move(schedule)), name_(name), target_(target), variant_(variant) {}

  Result<Schedule> run() {
    block_ = TRY(s_.block(name_));
    TRYV(find_epilogue());
    const Block naive = current();
    const std::vector<LoopVar> loops = TRY(s_.loops(block_));
    ENSURE(loops.size() == naive.axes.size());
    vector_axis_ = *contiguous_axis(naive);
    TRYV(split_spatial(naive, loops));
    if (!variant_.panels.empty()) TRYV(lay_out_panels());
    TRYV(split_reduce(naive, loops));
    TRYV(order());
    const LoopVar parallel_loop = TRY(fuse_macro());
    if (!variant_.packed.empty()) TRYV(pack(parallel_loop));
    if (!variant_.padded.empty()) TRYV(move_padding(parallel_loop));
    const BlockVar init = TRY(s_.decompose_reduction(block_, reduce_.front()));
    TRYV(s_.reverse_compute_at(epilogue_, spatial_.cache.back()));
    TRYV(finish_tile(init, parallel_loop));
    return std::move(s_);
  }

 private:
  const Block& current() const { return s_.program().blocks[s_.id(block_)]; }

  // The block that takes results from registers to memory.
  Result<void> find_epilogue() {
    const Program& program = s_.program();
    if (const auto consumer = epilogue_of(program, s_.id(block_))) {
      epilogue_ = TRY(s_.block(program.blocks[*consumer].name));
      return s_.set_scope(BufferParam::written_by(block_, 0), Scope::registers);
    }
    epilogue_ = TRY(s_.cache_write(block_, BufferParam::written_by(block_, 0), Scope::registers));
    return {};
  }

  Result<void> split_spatial(const Block& block, const std::vector<LoopVar>& loops) {
    const std::vector<size_t> tiled = tiled_axes(block, vector_axis_);
    const int64_t lanes = target_.lanes(s_.program().buffers[block.body[0].buffer].dtype);
    std::vector<LoopVar> vector_parts;
    for (size_t i = 0; i < block.axes.size(); ++i) {
      const Axis& axis = block.axes[i];
      if (axis.kind != AxisKind::spatial) continue;
      if (axis.extent == 1) {
        spatial_.macro.push_back(loops[i]);
        continue;
      }
      const bool is_vector = i == vector_axis_;
      const bool is_tiled = is_vector || std::find(tiled.begin(), tiled.end(), i) != tiled.end();
      const int64_t multiple = is_vector && axis.extent >= lanes ? lanes : 1;
      const int64_t most = is_vector ? kWidestTileVectors * lanes : kTallestTile;
      std::vector<IntVar> sizes;
      if (is_tiled) {
        sizes = TRY(s_.sample_tile(loops[i], tile_of(3, most, multiple)));
      } else {
        sizes = TRY(s_.sample_tile(loops[i], tile_of(2, 0, 1)));
      }
      if (is_vector) width_ = sizes.back();
      const bool in_panels = is_vector && !variant_.panels.empty();
      const IntVar tail = TRY(s_.sample_categorical(tails(in_panels), {}));
      const std::vector<LoopVar> parts = TRY(s_.split(loops[i], params(sizes), TailParam(tail)));
      if (is_vector) {
        vector_parts = parts;
        continue;
      }
      spatial_.macro.push_back(parts[0]);
      spatial_.cache.push_back(parts[1]);
      if (is_tiled) spatial_.tile.push_back(parts[2]);
    }
    if (vector_parts.empty()) return {};  // extent 1: its loop is among the macro loops
    if (variant_.vector_axis_first) {
      spatial_.macro.insert(spatial_.macro.begin(), vector_parts[0]);
    } else {
      spatial_.macro.push_back(vector_parts[0]);
    }
    spatial_.cache.push_back(vector_parts[1]);
    spatial_.tile.push_back(vector_parts[2]);
    return {};
  }

  // A tile that is shifted to end with the axis would begin inside a panel.
  std::vector<int64_t> tails(bool in_panels) const {
    std::vector<int64_t> candidates = {static_cast<int64_t>(Tail::peel)};
    if (!in_panels) candidates.push_back(static_cast<int64_t>(Tail::shift));
    if (target_.masks) candidates.push_back(static_cast<int64_t>(Tail::predicate));
    return candidates;
  }

  // The innermost reduce axis of more than one step gives a part to unroll.
  Result<void> split_reduce(const Block& block, const std::vector<LoopVar>& loops) {
    std::optional<size_t> inner;
    for (size_t i = 0; i < block.axes.size(); ++i)
      if (block.axes[i].kind == AxisKind::reduce && block.axes[i].extent > 1) inner = i;
    for (size_t i = 0; i < block.axes.size(); ++i) {
      if (block.axes[i].kind != AxisKind::reduce) continue;
      if (i != inner) {
        reduce_.push_back(loops[i]);
        continue;
      }
      const std::vector<IntVar> sizes =
          TRY(s_.sample_exact_tile(loops[i], tile_of(2, kLongestUnroll, 1)));
      const std::vector<LoopVar> parts = TRY(s_.split(loops[i], params(sizes), Tail::exact));
      reduce_.push_back(parts[0]);
      unrolled_ = parts[1];
    }
    return {};
  }

  Result<void> order() {
    std::vector<LoopVar> order = spatial_.macro;
    order.insert(order.end(), spatial_.cache.begin(), spatial_.cache.end());
    order.insert(order.end(), reduce_.begin(), reduce_.end());
    if (unrolled_.valid()) order.push_back(unrolled_);
    order.insert(order.end(), spatial_.tile.begin(), spatial_.tile.end());
    return s_.reorder(order);
  }

  // With packing, only the vector axis' macro loop is parallel: each panel is packed once.
  Result<LoopVar> fuse_macro() {
    LoopVar outer = spatial_.macro.front();
    if (!variant_.vector_axis_first && spatial_.macro.size() > 1)
      outer = TRY(s_.fuse(spatial_.macro));
    TRYV(s_.parallel(outer));
    return outer;
  }

  Result<void> lay_out_panels() {
    const Panels panels = *panels_of(s_.program(), current(), vector_axis_, variant_.panels);
    const BlockVar copy = TRY(s_.cache_read(block_, BufferParam(variant_.panels), Scope::constant));
    const Program& program = s_.program();
    const BufferId buffer = program.blocks[s_.id(copy)].body[0].buffer;
    std::vector<IntParam> tiles(program.buffers[buffer].shape.size(), IntParam(0));
    tiles[panels.dim] = IntParam(width_);
    return s_.transform_layout(BufferParam(program.buffers[buffer].name), tiles, panels.order);
  }

  Result<void> pack(LoopVar at) {
    const BlockVar copy =
        TRY(s_.cache_read(block_, BufferParam(variant_.packed), Scope::workspace));
    TRYV(s_.compute_at(copy, at));
    return vectorize_innermost(copy);
  }

  Result<void> move_padding(LoopVar at) {
    const BlockVar padding = TRY(s_.block(variant_.padded));
    TRYV(s_.compute_at(padding, at));
    return vectorize_innermost(padding);
  }

  Result<void> vectorize_innermost(BlockVar block) {
    const std::vector<LoopVar> loops = TRY(s_.loops(block));
    const Program& program = s_.program();
    if (program.loops[s_.id(loops.back())].extent == 1) return {};
    return s_.vectorize(loops.back());
  }

  // Register tile loops of the update, and those that init and epilogue got for the same tile.
  Result<void> finish_tile(BlockVar init, LoopVar parallel_loop) {
    if (unrolled_.valid()) TRYV(s_.unroll(unrolled_));
    for (const BlockVar block : {block_, init, epilogue_}) {
      const std::vector<LoopVar> loops = TRY(s_.loops(block));
      std::vector<LoopVar> tile;
      for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
        const LoopId id = s_.id(*loop);
        if (id == s_.id(spatial_.cache.back()) || id == s_.id(parallel_loop)) break;
        const Loop& row = s_.program().loops[id];
        const bool is_reduce = std::any_of(reduce_.begin(), reduce_.end(),
                                           [&](LoopVar var) { return s_.id(var) == id; });
        if (!is_reduce && row.kind == LoopKind::serial) tile.push_back(*loop);
      }
      for (size_t i = 0; i < tile.size(); ++i) {
        if (i == 0) {
          TRYV(s_.vectorize(tile[i]));
        } else {
          TRYV(s_.unroll(tile[i]));
        }
      }
    }
    return {};
  }

  Schedule s_;
  const std::string& name_;
  const Target& target_;
  const Variant& variant_;
  BlockVar block_;
  BlockVar epilogue_;
  size_t vector_axis_ = 0;
  IntVar width_;  // of the register tile along it
  SpatialLoops spatial_;
  std::vector<LoopVar> reduce_;
  LoopVar unrolled_;
};

// The producer that only pads: elementwise with a condition, read by this block alone.
std::string padding_of(const Program& program, BlockId block) {
  for (const BufferId buffer : reads_of(program.blocks[block])) {
    const std::vector<BlockId> writers = writers_of(program, buffer);
    if (writers.size() != 1 || readers_of(program, buffer).size() != 1) continue;
    const Block& writer = program.blocks[writers[0]];
    if (is_elementwise(writer) && body_cost(writer).has_condition) return writer.name;
  }
  return {};
}

}  // namespace

Result<RuleAnswer> run_tiling(const Schedule& schedule, const std::string& name,
                              const Target& target) {
  const Program& program = schedule.program();
  const BlockId id = *find_block(program, name);
  const Block& block = program.blocks[id];
  if (!block.is_reduction()) return skip("not a reduction");
  if (block.init.empty()) return skip("its reduction was rewritten already");
  const auto vector_axis = contiguous_axis(block);
  if (!vector_axis) return skip("its store has no contiguous axis");
  if (std::none_of(block.axes.begin(), block.axes.end(), [](const Axis& axis) {
        return axis.kind == AxisKind::spatial && axis.extent > 1;
      }))
    return skip("it has a single result: there is no axis to tile");
  if (!has_reuse(block) && !reads_along(block, *vector_axis))
    return skip("no operand is used twice or read along the stored axis");

  const std::string padding = padding_of(program, id);
  std::vector<std::string> operands = {""};
  std::string panels;
  for (const BufferId operand : packable_operands(block)) {
    const Buffer& buffer = program.buffers[operand];
    if (panels.empty() && buffer.kind == BufferKind::param &&
        panels_of(program, block, *vector_axis, buffer.name)) {
      panels = buffer.name;
    } else if (buffer.name != padding && operands.size() < 2) {
      operands.push_back(buffer.name);
    }
  }
  std::vector<Schedule> results;
  for (const std::string& operand : operands) {
    for (const std::string& moved :
         padding.empty() ? std::vector<std::string>{""} : std::vector<std::string>{"", padding}) {
      const Variant variant{!operand.empty(), operand, panels, moved};
      results.push_back(TRY(Tiling(schedule, name, target, variant).run()));
    }
  }
  return apply_and_stop(
      std::move(results),
      "reuse" + (panels.empty() ? "" : "; weight " + panels + " in panels") +
          (operands.size() > 1 ? "; operand " + operands[1] + " packed or not" : ""));
}

}  // namespace hone
