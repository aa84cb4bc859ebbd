// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/interpret.h"

namespace hone {
namespace {

// For each buffer the smallest dimension that its elements index; 0: none.
std::map<BufferId, int64_t> index_bounds(const Program& program) {
  std::map<BufferId, int64_t> bounds;
  const auto note = [&](const Expr& index, int64_t extent) {
    walk(index, [&](const ExprNode& node) {
      if (node.op != Op::load) return;
      int64_t& bound = bounds[BufferId{node.id}];
      bound = bound == 0 ? extent : std::min(bound, extent);
    });
  };
  for (const BlockId id : all_blocks(program))
    for (const Store& store : program.blocks[id].body) {
      for (size_t i = 0; i < store.indices.size(); ++i)
        note(store.indices[i], program.buffers[store.buffer].shape[i]);
      walk(store.value, [&](const ExprNode& node) {
        if (node.op != Op::load) return;
        for (size_t i = 0; i < node.args.size(); ++i)
          note(node.args[i], program.buffers[BufferId{node.id}].shape[i]);
      });
    }
  return bounds;
}

bool rounds(const ExprNode& node) {
  if (!is_float(node.dtype)) return false;
  if (node.dtype == DType::f16 || node.dtype == DType::bf16) return true;
  if (rounds_by_nature(node.op)) return true;
  switch (node.op) {
    case Op::div:
    case Op::mod:
      return true;
    // A constant that is no small integer: products with it are not exact.
    case Op::constant:
      return node.float_value !=
             static_cast<double>(static_cast<int>(std::clamp(node.float_value, -1e6, 1e6)));
    default:
      return false;
  }
}

// How far results may differ when terms are added in another order.
double tolerance_of(const Program& program, DType output) {
  bool inexact = output == DType::f16 || output == DType::bf16;
  for (const BlockId id : all_blocks(program))
    for (const Store& store : program.blocks[id].body)
      walk(store.value, [&](const ExprNode& node) { inexact = inexact || rounds(node); });
  if (!inexact) return 0;
  switch (output) {
    case DType::f16:
      return 2e-2;
    case DType::bf16:
      return 1e-1;
    case DType::f32:
      return 1e-4;
    default:
      return 1e-9;
  }
}

Result<void> compare(const Program& before, const Tensors& wanted, const Program& after,
                     const Tensors& got, std::string_view how) {
  for (int32_t i = 0; i < before.buffers.size(); ++i) {
    const Buffer& buffer = before.buffers[BufferId{i}];
    if (buffer.kind != BufferKind::output) continue;
    const auto other = find_buffer(after, buffer.name);
    if (!other) return fail("output {} is gone", buffer.name);
    const Tensor& a = got.at(*other);
    const Tensor& b = wanted.at(BufferId{i});
    const double tolerance = tolerance_of(before, buffer.dtype);
    if (close(a, b, tolerance)) continue;
    if (a.dtype != b.dtype || a.shape != b.shape)
      return fail("output {} has another type or shape", buffer.name);
    for (int64_t k = 0; k < a.count(); ++k) {
      const Tensor one = tensor_of(DType::f64, {}, {a.number(k)});
      if (!close(one, tensor_of(DType::f64, {}, {b.number(k)}), tolerance))
        return fail("element {} of output {} is {}, expected {}{}", k, buffer.name, a.number(k),
                    b.number(k), how);
    }
    return fail("output {} differs{}", buffer.name, how);
  }
  return {};
}

}  // namespace

Tensors random_inputs(const Program& program, Rng& rng) {
  const std::map<BufferId, int64_t> bounds = index_bounds(program);
  Tensors tensors;
  for (int32_t i = 0; i < program.buffers.size(); ++i) {
    const Buffer& buffer = program.buffers[BufferId{i}];
    if (buffer.kind != BufferKind::input && buffer.kind != BufferKind::param) continue;
    const auto bound = bounds.find(BufferId{i});
    const bool indexes = bound != bounds.end();
    const int64_t most = bytes_of(buffer.dtype) == 2 ? 2 : 4;
    tensors[BufferId{i}] = random_integers(buffer.dtype, buffer.shape, rng, indexes ? 0 : -most,
                                           indexes ? bound->second - 1 : most);
  }
  return tensors;
}

Result<void> check_equivalent(const Program& before, const Program& after, uint64_t seed) {
  Rng rng(seed);
  Tensors wanted = random_inputs(before, rng);
  Tensors inputs;
  for (const auto& [id, tensor] : wanted) {
    const auto other = find_buffer(after, before.buffers[id].name);
    if (!other) return fail("input {} is gone", before.buffers[id].name);
    inputs[*other] = tensor;
  }
  if (auto done = interpret(before, wanted); !done)
    return std::unexpected(within(done.error(), "before"));
  for (const bool backwards : {false, true}) {
    Tensors got = inputs;
    const std::string_view how = backwards ? " (free loops backwards)" : "";
    if (auto done = interpret(after, got, InterpretOptions{backwards}); !done)
      return std::unexpected(within(done.error(), "after{}", how));
    TRYV(compare(before, wanted, after, got, how));
  }
  return {};
}

}  // namespace hone
