// SPDX-License-Identifier: Apache-2.0
//
// Values of a buffer, as bytes in the layout that generated code sees: row-major, native order.
#pragma once

#include <cstdint>
#include <vector>

#include "base/rng.h"
#include "ir/dtype.h"
#include "ir/expr.h"

namespace hone {

struct Tensor {
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  std::vector<uint8_t> bytes;

  int64_t count() const;
  // By flat index. The field of ScalarValue that counts is the one of the dtype.
  ScalarValue at(int64_t index) const;
  void set(int64_t index, ScalarValue value);
  double number(int64_t index) const;  // of any dtype
};

Tensor zeros(DType dtype, std::vector<int64_t> shape);
// Numbers in row-major order, each converted to the dtype.
Tensor tensor_of(DType dtype, std::vector<int64_t> shape, const std::vector<double>& numbers);
// Integers of [low, high], cut to what the dtype can hold.
Tensor random_integers(DType dtype, std::vector<int64_t> shape, Rng& rng, int64_t low,
                       int64_t high);

bool equal_bits(const Tensor& left, const Tensor& right);
// Same dtype and shape, and each pair of elements equal (two NaN are, and the zeros) or within
// relative · max(1, |wanted|).
bool close(const Tensor& got, const Tensor& wanted, double relative);

}  // namespace hone
