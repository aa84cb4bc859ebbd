// SPDX-License-Identifier: Apache-2.0
#include "frontend/operator_tools.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace hone {
namespace {

std::string shape_text(const Extents& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

Result<TextTensor> previous_of_rank(const Attributes& attributes, const TextTensor& previous,
                                    size_t rank) {
  if (previous.shape.size() == rank) return previous;
  return attributes.error("op",
                          fmt::format("'{}' needs an input of {} dimensions, found {} from the "
                                      "operator before it",
                                      attributes.op(), rank, shape_text(previous.shape)));
}

}  // namespace

Result<TextTensor> shaped_input(const Attributes& attributes, TextWriter& writer,
                                std::string_view shape_attribute, std::string_view wish,
                                size_t rank) {
  if (writer.result() != nullptr) return previous_of_rank(attributes, *writer.result(), rank);
  const Extents shape = attributes.list(shape_attribute);
  if (shape.size() != rank)
    return attributes.error(shape_attribute, fmt::format("'{}' must have {} extents, found {}",
                                                         shape_attribute, rank, shape_text(shape)));
  return writer.declare("input", wish, TRY(dtype_attribute(attributes, "dtype")), shape);
}

Result<TextTensor> input_of_extents(const Attributes& attributes, TextWriter& writer,
                                    std::span<const std::string_view> extent_attributes,
                                    std::string_view wish) {
  if (writer.result() != nullptr)
    return previous_of_rank(attributes, *writer.result(), extent_attributes.size());
  Extents shape;
  for (const std::string_view name : extent_attributes) shape.push_back(attributes.integer(name));
  return writer.declare("input", wish, TRY(dtype_attribute(attributes, "dtype")), shape);
}

Result<TextTensor> any_input(const Attributes& attributes, TextWriter& writer) {
  constexpr size_t kMaxRank = 5;
  if (writer.result() != nullptr) return *writer.result();
  const Extents shape = attributes.list("shape");
  if (shape.size() > kMaxRank)
    return attributes.error("shape", fmt::format("'shape' must have 1 to {} extents, found {}",
                                                 kMaxRank, shape_text(shape)));
  return writer.declare("input", "X", TRY(dtype_attribute(attributes, "dtype")), shape);
}

Result<DType> dtype_attribute(const Attributes& attributes, std::string_view name) {
  const std::string word = attributes.word(name);
  const auto dtype = parse_dtype(word);
  if (dtype && *dtype != DType::b1) return *dtype;
  std::vector<std::string> names;
  for (int i = static_cast<int>(DType::i8); i <= static_cast<int>(DType::f64); ++i)
    names.emplace_back(to_string(static_cast<DType>(i)));
  return attributes.error(
      name, fmt::format("'{}' must be one of {}, found \"{}\"", name, join(names, ", "), word));
}

Result<void> need_float(const Attributes& attributes, const TextTensor& input) {
  if (is_float(input.dtype)) return {};
  return attributes.error("dtype", fmt::format("'{}' needs a floating-point input, found {}",
                                               attributes.op(), to_string(input.dtype)));
}

Result<DType> accumulator_of(const Attributes& attributes, DType dtype) {
  if (attributes.word("accumulator") == "auto") {
    if (is_float(dtype)) return bytes_of(dtype) < 4 ? DType::f32 : dtype;
    return bytes_of(dtype) < 4 ? DType::i32 : dtype;
  }
  const DType accumulator = TRY(dtype_attribute(attributes, "accumulator"));
  if (is_float(dtype) && !is_float(accumulator))
    return attributes.error(
        "accumulator", fmt::format("'accumulator' must be a floating-point type for {}, found {}",
                                   to_string(dtype), to_string(accumulator)));
  return accumulator;
}

Result<Extents> per_dimension(const Attributes& attributes, std::string_view name,
                              size_t dimensions) {
  const Extents list = attributes.list(name);
  if (list.size() == dimensions) return list;
  if (list.size() == 1) return Extents(dimensions, list[0]);
  return attributes.error(name, fmt::format("'{}' must be one integer or a list of {}, found {}",
                                            name, dimensions, shape_text(list)));
}

bool Padding::is_zero() const {
  const auto zero = [](int64_t value) { return value == 0; };
  return std::all_of(before.begin(), before.end(), zero) &&
         std::all_of(after.begin(), after.end(), zero);
}

Result<Padding> padding_of(const Attributes& attributes, size_t dimensions) {
  const Extents list = attributes.list("padding");
  if (list.size() == 2 * dimensions) {
    Padding padding;
    for (size_t i = 0; i < dimensions; ++i) {
      padding.before.push_back(list[2 * i]);
      padding.after.push_back(list[2 * i + 1]);
    }
    return padding;
  }
  if (list.size() != 1 && list.size() != dimensions)
    return attributes.error("padding", fmt::format("'padding' must be one integer, {} (one a "
                                                   "dimension) or {} (before and after), found {}",
                                                   dimensions, 2 * dimensions, shape_text(list)));
  const Extents all = TRY(per_dimension(attributes, "padding", dimensions));
  return Padding{all, all};
}

TextTensor pad(TextWriter& writer, const TextTensor& input, const Padding& padding,
               std::string_view fill) {
  if (padding.is_zero()) return input;
  const std::vector<std::string> axes = axis_names(input.shape.size());
  Extents shape = input.shape;
  std::vector<std::string> conditions;
  std::vector<std::string> indices = axes;
  for (size_t i = 0; i < padding.before.size(); ++i) {
    const size_t axis = i + 1;
    const int64_t before = padding.before[i];
    const int64_t end = before + input.shape[axis];
    shape[axis] += before + padding.after[i];
    const bool upper = padding.after[i] > 0;
    if (before > 0) indices[axis] = fmt::format("{} - {}", axes[axis], before);
    if (before > 0 && upper)
      conditions.push_back(fmt::format("{} <= {} < {}", before, axes[axis], end));
    else if (before > 0)
      conditions.push_back(fmt::format("{} <= {}", before, axes[axis]));
    else if (upper)
      conditions.push_back(fmt::format("{} < {}", axes[axis], end));
  }
  return writer.compute("P", input.dtype, axes, shape,
                        fmt::format("if {} then {} else {}", join(conditions, " && "),
                                    element(input, indices), fill));
}

std::string converted(const std::string& text, DType from, DType to) {
  return from == to ? text : fmt::format("{}({})", to_string(to), text);
}

std::string scaled(const std::string& axis, int64_t factor) {
  return factor == 1 || axis == "0" ? axis : fmt::format("{} * {}", axis, factor);
}

std::string sum_of(const std::string& left, const std::string& right) {
  if (right == "0") return left;
  return left == "0" ? right : fmt::format("{} + {}", left, right);
}

std::string element(const TextTensor& tensor, const std::vector<std::string>& indices) {
  return fmt::format("{}[{}]", tensor.name, fmt::join(indices, ", "));
}

std::vector<std::string> axis_names(size_t rank) {
  switch (rank) {
    case 1:
      return {"i"};
    case 2:
      return {"i", "j"};
    case 3:
      return {"n", "x", "c"};
    case 4:
      return {"n", "y", "x", "c"};
    default:
      return {"n", "z", "y", "x", "c"};
  }
}

std::vector<std::string> Window::reads() const {
  std::vector<std::string> indices;
  for (size_t i = 0; i < axes.size(); ++i)
    indices.push_back(sum_of(scaled(axes[i], stride[i]), scaled(kernel_axes[i], dilation[i])));
  return indices;
}

void name_axes(Window& window) {
  constexpr std::array<std::string_view, 3> kNames = {"z", "y", "x"};
  const size_t dimensions = window.kernel.size();
  for (size_t i = 0; i < dimensions; ++i) {
    const std::string name(kNames[kNames.size() - dimensions + i]);
    window.axes.push_back(name);
    window.kernel_axes.push_back(window.kernel[i] == 1 ? "0" : "r" + name);
    if (window.kernel[i] > 1)
      window.reduce.push_back(fmt::format("r{}:{}", name, window.kernel[i]));
  }
}

Result<Window> window_of(const Attributes& attributes, const TextTensor& input, bool has_dilation) {
  const size_t dimensions = input.shape.size() - 2;
  Window window;
  window.kernel = TRY(per_dimension(attributes, "kernel", dimensions));
  window.stride = TRY(per_dimension(attributes, "stride", dimensions));
  window.dilation = has_dilation ? TRY(per_dimension(attributes, "dilation", dimensions))
                                 : Extents(dimensions, 1);
  window.padding = TRY(padding_of(attributes, dimensions));
  for (size_t i = 0; i < dimensions; ++i) {
    const int64_t reach = window.dilation[i] * (window.kernel[i] - 1) + 1;
    const int64_t padded = input.shape[i + 1] + window.padding.before[i] + window.padding.after[i];
    if (reach > padded)
      return attributes.error("kernel",
                              fmt::format("the kernel reaches over {} elements of dimension "
                                          "{}, which has {} with its padding",
                                          reach, i + 2, padded));
    window.out.push_back((padded - reach) / window.stride[i] + 1);
  }
  name_axes(window);
  return window;
}

std::string reduction(std::string_view reducer, const std::vector<std::string>& axes,
                      const std::string& term) {
  return axes.empty() ? term : fmt::format("{}({}) {}", reducer, fmt::join(axes, ", "), term);
}

}  // namespace hone
