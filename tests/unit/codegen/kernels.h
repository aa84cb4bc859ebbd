// SPDX-License-Identifier: Apache-2.0
//
// Kernels made by hand.
#pragma once

#include <string>

#include "lower/kernel.h"

namespace hone::test {

template <typename T>
T good(Result<T> result) {
  ENSURE(result.has_value(), "{}", result.error().message);
  return *std::move(result);
}

inline BufferId add_argument(Kernel& kernel, const std::string& name, DType dtype, int64_t elements,
                             bool written) {
  KernelBuffer buffer;
  buffer.name = name;
  buffer.dtype = dtype;
  buffer.elements = elements;
  buffer.slot = kernel.buffers.size();
  buffer.written = written;
  return kernel.buffers.add(buffer);
}

inline KernelStmt statement(KernelFor node) { return {std::move(node)}; }
inline KernelStmt statement(KernelIf node) { return {std::move(node)}; }
inline KernelStmt set(RegId reg, Expr value) { return {KernelSet{reg, std::move(value)}}; }
inline KernelStmt store(BufferId buffer, Expr index, Expr value) {
  return {KernelStore{buffer, std::move(index), std::move(value), nullptr}};
}
inline KernelStmt store_if(Expr mask, BufferId buffer, Expr index, Expr value) {
  return {KernelStore{buffer, std::move(index), std::move(value), std::move(mask)}};
}
inline KernelStmt loop(VarId var, int64_t begin, int64_t end, KernelBody body) {
  return {KernelFor{var, index_constant(begin), index_constant(end), false, std::move(body)}};
}
inline KernelStmt parallel_loop(VarId var, int64_t begin, int64_t end, KernelBody body) {
  return {KernelFor{var, index_constant(begin), index_constant(end), true, std::move(body)}};
}
inline Expr at(VarId var) { return var_expr(var.value); }
inline Expr add(Expr a, Expr b) { return binary(Op::add, std::move(a), std::move(b)); }
inline Expr times(Expr a, int64_t factor) {
  return binary(Op::mul, std::move(a), index_constant(factor));
}
inline Expr plus(Expr a, int64_t constant) { return add(std::move(a), index_constant(constant)); }

// The body of a matmul's register tile: C[rows, vectors * lanes] = A[rows, depth] * B[depth,
// vectors * lanes], all in f32, B packed as it is read.
inline Kernel matmul_tile(int rows, int vectors, int lanes, int64_t depth) {
  Kernel kernel;
  kernel.name = "matmul_tile";
  const int64_t columns = int64_t{vectors} * lanes;
  const BufferId a = add_argument(kernel, "A", DType::f32, rows * depth, false);
  const BufferId b = add_argument(kernel, "B", DType::f32, depth * columns, false);
  const BufferId c = add_argument(kernel, "C", DType::f32, rows * columns, true);
  const VarId k = kernel.vars.add("k");
  std::vector<RegId> sums;
  KernelBody inner;
  KernelBody after;
  const auto row_of = [&](RegId reg) { return reg_expr(reg.value, DType::f32, lanes); };
  std::vector<RegId> columns_of_b;
  for (int v = 0; v < vectors; ++v) {
    columns_of_b.push_back(kernel.registers.add({"b" + std::to_string(v), DType::f32, lanes}));
    inner.push_back(set(
        columns_of_b.back(),
        vector_load_expr(b, DType::f32, lanes, plus(times(at(k), columns), int64_t{v} * lanes))));
  }
  for (int r = 0; r < rows; ++r) {
    const Expr element = load_expr(a, DType::f32, {plus(at(k), r * depth)});
    for (int v = 0; v < vectors; ++v) {
      const RegId sum = kernel.registers.add({"c", DType::f32, lanes});
      kernel.body.push_back(set(sum, broadcast_expr(float_constant(0, DType::f32), lanes)));
      inner.push_back(
          set(sum, fma_expr(broadcast_expr(element, lanes),
                            row_of(columns_of_b[static_cast<size_t>(v)]), row_of(sum))));
      after.push_back(store(c, index_constant(r * columns + int64_t{v} * lanes), row_of(sum)));
    }
  }
  kernel.body.push_back(loop(k, 0, depth, std::move(inner)));
  for (KernelStmt& last : after) kernel.body.push_back(std::move(last));
  return kernel;
}

}  // namespace hone::test
