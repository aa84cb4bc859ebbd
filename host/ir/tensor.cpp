// SPDX-License-Identifier: Apache-2.0
#include "ir/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace hone {
namespace {

template <typename T>
T read(const Tensor& tensor, int64_t index) {
  T value;
  std::memcpy(&value, tensor.bytes.data() + static_cast<size_t>(index) * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
void write(Tensor& tensor, int64_t index, T value) {
  std::memcpy(tensor.bytes.data() + static_cast<size_t>(index) * sizeof(T), &value, sizeof(T));
}

}  // namespace

int64_t Tensor::count() const { return static_cast<int64_t>(bytes.size()) / bytes_of(dtype); }

ScalarValue Tensor::at(int64_t index) const {
  switch (dtype) {
    case DType::b1:
      return {read<uint8_t>(*this, index) != 0 ? 1 : 0, 0};
    case DType::i8:
      return {read<int8_t>(*this, index), 0};
    case DType::u8:
      return {read<uint8_t>(*this, index), 0};
    case DType::i16:
      return {read<int16_t>(*this, index), 0};
    case DType::i32:
      return {read<int32_t>(*this, index), 0};
    case DType::i64:
      return {read<int64_t>(*this, index), 0};
    case DType::f16:
      return {0, from_f16_bits(read<uint16_t>(*this, index))};
    case DType::bf16:
      return {0, from_bf16_bits(read<uint16_t>(*this, index))};
    case DType::f32:
      return {0, static_cast<double>(read<float>(*this, index))};
    case DType::f64:
      return {0, read<double>(*this, index)};
  }
  return {};
}

void Tensor::set(int64_t index, ScalarValue value) {
  switch (dtype) {
    case DType::b1:
    case DType::u8:
      return write(*this, index, static_cast<uint8_t>(value.as_int));
    case DType::i8:
      return write(*this, index, static_cast<int8_t>(value.as_int));
    case DType::i16:
      return write(*this, index, static_cast<int16_t>(value.as_int));
    case DType::i32:
      return write(*this, index, static_cast<int32_t>(value.as_int));
    case DType::i64:
      return write(*this, index, value.as_int);
    case DType::f16:
      return write(*this, index, to_f16_bits(value.as_float));
    case DType::bf16:
      return write(*this, index, to_bf16_bits(value.as_float));
    case DType::f32:
      return write(*this, index, static_cast<float>(value.as_float));
    case DType::f64:
      return write(*this, index, value.as_float);
  }
}

double Tensor::number(int64_t index) const {
  const ScalarValue value = at(index);
  return is_float(dtype) ? value.as_float : static_cast<double>(value.as_int);
}

Tensor zeros(DType dtype, std::vector<int64_t> shape) {
  int64_t count = bytes_of(dtype);
  for (const int64_t extent : shape) count *= extent;
  return Tensor{dtype, std::move(shape), std::vector<uint8_t>(static_cast<size_t>(count), 0)};
}

Tensor tensor_of(DType dtype, std::vector<int64_t> shape, const std::vector<double>& numbers) {
  Tensor tensor = zeros(dtype, std::move(shape));
  ENSURE(static_cast<int64_t>(numbers.size()) == tensor.count());
  for (size_t i = 0; i < numbers.size(); ++i)
    tensor.set(static_cast<int64_t>(i), fold_cast(Op::cast, dtype, DType::f64, {0, numbers[i]}));
  return tensor;
}

Tensor random_integers(DType dtype, std::vector<int64_t> shape, Rng& rng, int64_t low,
                       int64_t high) {
  if (!is_float(dtype)) {
    low = std::max(low, lowest(dtype));
    high = std::min(high, highest(dtype));
  }
  Tensor tensor = zeros(dtype, std::move(shape));
  for (int64_t i = 0; i < tensor.count(); ++i) {
    const int64_t value = rng.between(low, high);
    tensor.set(i, {value, static_cast<double>(value)});
  }
  return tensor;
}

bool equal_bits(const Tensor& left, const Tensor& right) {
  return left.dtype == right.dtype && left.shape == right.shape && left.bytes == right.bytes;
}

bool close(const Tensor& got, const Tensor& wanted, double relative) {
  if (got.dtype != wanted.dtype || got.shape != wanted.shape) return false;
  for (int64_t i = 0; i < got.count(); ++i) {
    if (!is_float(got.dtype)) {
      if (got.at(i).as_int != wanted.at(i).as_int) return false;
      continue;
    }
    const double a = got.number(i);
    const double b = wanted.number(i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    // Written so that a NaN or an infinity on one side fails.
    if (!(std::fabs(a - b) <= relative * std::max(1.0, std::fabs(b))) || std::isinf(b))
      return false;
  }
  return true;
}

}  // namespace hone
