// SPDX-License-Identifier: Apache-2.0
//
// Pooling over windows of N,H,W,C. Padding is never an element: the greatest of a window ignores
// it, and the mean divides by the elements that lie inside.
#include <array>

#include "base/text.h"
#include "frontend/operator_tools.h"

namespace hone {
namespace {

constexpr std::array kParameters = {
    Parameter{"input", ParameterType::shape, "", "the extents of the input, as in [1, 56, 56, 64]",
              true},
    Parameter{"kernel", ParameterType::positive_list, "", "the extents of a window", false},
    Parameter{"stride", ParameterType::positive_list, "1", "the distance of two windows", false},
    Parameter{
        "padding", ParameterType::natural_list, "0",
        "how far windows reach over the edge: one number, one a dimension, or before and after "
        "for each",
        false},
    kDtypeParameter,
};

struct Pool {
  TextTensor input;
  Window window;
  std::vector<std::string> axes;
  Extents shape;
};

Result<Pool> pool_of(const Attributes& attributes, TextWriter& writer) {
  Pool pool;
  pool.input = TRY(shaped_input(attributes, writer, "input", "X", 4));
  pool.window = TRY(window_of(attributes, pool.input, false));
  const Window& window = pool.window;
  for (size_t i = 0; i < 2; ++i)
    if (window.padding.before[i] >= window.kernel[i] || window.padding.after[i] >= window.kernel[i])
      return attributes.error("padding",
                              "'padding' must be less than the kernel, so that every window "
                              "holds an element");
  pool.axes = {"n", "y", "x", "c"};
  pool.shape = {pool.input.shape[0], window.out[0], window.out[1], pool.input.shape[3]};
  return pool;
}

std::string window_element(const Pool& pool, const TextTensor& padded) {
  const std::vector<std::string> reads = pool.window.reads();
  return element(padded, {"n", reads[0], reads[1], "c"});
}

Result<void> write_max_pool(const Attributes& attributes, TextWriter& writer) {
  const Pool pool = TRY(pool_of(attributes, writer));
  const DType dtype = pool.input.dtype;
  const std::string least = is_float(dtype) ? "-inf" : fmt::format("{}", lowest(dtype));
  const TextTensor padded = pad(writer, pool.input, pool.window.padding, least);
  writer.compute("pooled", dtype, pool.axes, pool.shape,
                 reduction("max", pool.window.reduce, window_element(pool, padded)));
  return {};
}

// How many elements of a window lie inside, as an index expression.
std::string inside_count(const Pool& pool) {
  std::vector<std::string> factors;
  for (size_t i = 0; i < 2; ++i) {
    const Window& window = pool.window;
    const int64_t before = window.padding.before[i];
    if (before == 0 && window.padding.after[i] == 0) {
      factors.push_back(fmt::format("{}", window.kernel[i]));
      continue;
    }
    const std::string start = scaled(window.axes[i], window.stride[i]);
    const std::string first = before == 0 ? start : fmt::format("max({} - {}, 0)", start, before);
    factors.push_back(fmt::format("(min({} + {}, {}) - {})", start, window.kernel[i] - before,
                                  pool.input.shape[i + 1], first));
  }
  return join(factors, " * ");
}

Result<void> write_avg_pool(const Attributes& attributes, TextWriter& writer) {
  const Pool pool = TRY(pool_of(attributes, writer));
  const DType dtype = pool.input.dtype;
  const DType sum = is_float(dtype) ? (bytes_of(dtype) < 4 ? DType::f32 : dtype)
                                    : (bytes_of(dtype) < 4 ? DType::i32 : dtype);
  const bool padded_windows = !pool.window.padding.is_zero();
  const TextTensor padded = pad(writer, pool.input, pool.window.padding, "0");
  const TextTensor total = writer.compute(
      "total", sum, pool.axes, pool.shape,
      reduction("sum", pool.window.reduce, converted(window_element(pool, padded), dtype, sum)));
  const std::string counted =
      padded_windows ? fmt::format("{}({})", to_string(sum), inside_count(pool))
                     : fmt::format("{}", pool.window.kernel[0] * pool.window.kernel[1]);
  const std::string all = element(total, pool.axes);
  // Integers round to the nearest, halves up.
  const std::string mean = is_float(dtype)
                               ? fmt::format("{} / {}", all, counted)
                               : fmt::format("({} + {} // 2) // {}", all, counted, counted);
  writer.compute("pooled", dtype, pool.axes, pool.shape, converted(mean, sum, dtype));
  return {};
}

constexpr std::array kRows = {
    Operator{"max_pool2d", "the greatest element of each window", kParameters, write_max_pool},
    Operator{"avg_pool2d", "the mean of the elements of each window", kParameters, write_avg_pool},
};

}  // namespace

std::span<const Operator> pooling_operators() { return kRows; }

}  // namespace hone
