// SPDX-License-Identifier: Apache-2.0
//
// Register buffers: each piece that is accessed, a vector or a scalar at a constant place, is one
// register. Pieces may not overlap: a value cannot be two registers. A scalar may be read out of a
// vector.
#include "lower/emitter.h"

namespace hone {
std::unexpected<Error> Emitter::not_constant(const Access& access,
                                             const LoopEnvironment& env) const {
  std::vector<LoopId> loops;
  collect_loops(access.flat, loops);
  const std::string& name = program_.buffers[access.buffer].name;
  for (const LoopId loop : loops)
    if (env.binding(loop).var.valid())
      return fail("register buffer '{}' is indexed by loop '{}': unroll or vectorize it", name,
                  program_.loops[loop].name);
  return fail("register buffer '{}' has an index that is not known before the code runs", name);
}

Result<RegId> Emitter::tile_register(BufferId id, int64_t start, int lanes, bool write) {
  auto& pieces = tiles_[id.value];
  if (const auto known = pieces.find({start, lanes}); known != pieces.end()) return known->second;
  const Buffer& buffer = program_.buffers[id];
  for (const auto& [place, reg] : pieces)
    if (place.first < start + lanes && start < place.first + place.second)
      return fail(
          "register buffer '{}' is accessed in pieces of different size: {} lanes at {}, {} at "
          "{}",
          buffer.name, lanes, start, place.second, place.first);
  if (!write)
    return fail("register buffer '{}' is read at {} before it is written", buffer.name, start);
  const bool half = buffer.dtype == DType::f16 || buffer.dtype == DType::bf16;
  const RegId reg = kernel_.registers.add(
      {fmt::format("{}_{}", buffer.name, start), half ? DType::f32 : buffer.dtype, lanes});
  pieces[{start, lanes}] = reg;
  return reg;
}

Result<Expr> Emitter::read_tile(BufferId id, int64_t start, int lanes) {
  if (lanes == 1) {
    for (const auto& [place, reg] : tiles_[id.value]) {
      const Register& row = kernel_.registers[reg];
      if (place.second == 1 || start < place.first || start >= place.first + place.second) continue;
      const Expr vector = reg_expr(reg.value, row.dtype, row.lanes);
      return binary(Op::extract, vector, index_constant(start - place.first));
    }
  }
  const RegId reg = TRY(tile_register(id, start, lanes, false));
  return reg_expr(reg.value, kernel_.registers[reg].dtype, lanes);
}

}  // namespace hone
