// SPDX-License-Identifier: Apache-2.0
#include "space/constraints.h"

#include <array>

#include "ir/region.h"
#include "space/analysis.h"

namespace hone {
namespace {

// Statements of straight-line code that one block expands to: unrolled iterations times vectors.
double expanded_statements(const Program& program, BlockId id, const Target& target) {
  const Block& block = program.blocks[id];
  const int64_t lanes = target.lanes(program.buffers[block.body[0].buffer].dtype);
  double count = static_cast<double>(block.body.size());
  for (const LoopId loop : loops_above(program, Node{{}, id})) {
    const Loop& row = program.loops[loop];
    if (row.kind == LoopKind::unrolled) count *= static_cast<double>(row.extent);
    if (row.kind == LoopKind::vectorized)
      count *= static_cast<double>((row.extent + lanes - 1) / lanes);
  }
  return count;
}

// A machine instruction and its operands' loads are some 8 bytes; tails add bodies of their own, which
// only lowering knows.
Result<void> check_code_bytes(const Program& program, const Target& target) {
  double bytes = 0;
  for (const BlockId block : all_blocks(program))
    bytes += 8 * expanded_statements(program, block, target);
  if (bytes <= static_cast<double>(target.code_bytes)) return {};
  return fail("expands to some {:.0f} bytes of code, {} has {}", bytes, target.name,
              target.code_bytes);
}

// Accumulators of each register buffer: what is live of it below the loops that are not expanded.
Result<void> check_registers(const Program& program, const Target& target) {
  for (int32_t i = 0; i < program.buffers.size(); ++i) {
    const BufferId id{i};
    const Buffer& buffer = program.buffers[id];
    if (buffer.kind != BufferKind::temp || buffer.scope != Scope::registers) continue;
    for (const BlockId block : writers_of(program, id)) {
      std::vector<LoopId> fixed;
      bool expanded = false;
      for (const LoopId loop : loops_above(program, Node{{}, block})) {
        const LoopKind kind = program.loops[loop].kind;
        expanded = expanded || kind == LoopKind::unrolled || kind == LoopKind::vectorized;
        if (!expanded) fixed.push_back(loop);
      }
      int64_t elements = 1;
      int64_t innermost = 1;
      for (const RegionDim& dim : region_of(program, block, id, true, fixed)) {
        elements *= dim.extent;
        innermost = dim.extent;
      }
      const int64_t lanes = target.lanes(buffer.dtype);
      const int64_t needs = elements / innermost * ((innermost + lanes - 1) / lanes);
      const int64_t has = accumulator_registers(target, buffer.dtype);
      if (needs > has)
        return fail("'{}' needs {} registers for accumulators, {} leaves {}", buffer.name, needs,
                    target.name, has);
    }
  }
  return {};
}

constexpr std::array<Constraint, 2> kConstraints = {{
    {"registers", "accumulators of register tiles fit the registers", check_registers},
    {"code-bytes", "unrolled code fits the target's limit", check_code_bytes},
}};

}  // namespace

std::span<const Constraint> constraint_table() { return kConstraints; }

Result<void> check_constraints(const Program& program, const Target& target) {
  for (const Constraint& constraint : kConstraints)
    if (const auto kept = constraint.check(program, target); !kept)
      return std::unexpected(within(kept.error(), "{}", constraint.name));
  return {};
}

}  // namespace hone
