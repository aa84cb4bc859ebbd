// SPDX-License-Identifier: Apache-2.0
//
// inline: B = f(A); C = g(B)   →   C = g(f(A))
//
// For elementwise chains this always wins: one pass over memory less. What it leaves alone: results
// wanted outside, reductions on either side (they have their own rules), conditions that would come to
// stand in a reduction's body, and expensive bodies that several readers would repeat.
#include "space/analysis.h"
#include "space/rule.h"

namespace hone {
namespace {

constexpr int64_t kRepeatedOperations = 2;  // a body this small may be computed for each reader

}  // namespace

Result<RuleAnswer> run_inline(const Schedule& schedule, const std::string& name, const Target&) {
  const Program& program = schedule.program();
  const BlockId id = *find_block(program, name);
  const Block& block = program.blocks[id];
  if (block.is_reduction()) return skip("a reduction");
  if (block.body.size() != 1) return skip("writes several buffers");
  if (program.buffers[block.body[0].buffer].kind == BufferKind::output)
    return skip("its result is an output");
  const std::vector<BlockId> consumers = consumers_of(program, id);
  const BodyCost cost = body_cost(block);
  if (consumers.empty()) return skip("nothing reads it");
  if (consumers.size() > 1 && (cost.expensive > 0 || cost.cheap > kRepeatedOperations))
    return skip("several blocks read it and its body is not trivial");
  for (const BlockId consumer : consumers)
    if (program.blocks[consumer].is_reduction())
      return skip(fmt::format("'{}' reduces over it: it would be computed again and again",
                              program.blocks[consumer].name));
  Schedule result = schedule;
  const BlockVar var = TRY(result.block(name));
  if (const auto done = result.compute_inline(var); !done) return skip(done.error().message);
  return apply_and_stop({std::move(result)}, "elementwise, read by elementwise blocks");
}

}  // namespace hone
