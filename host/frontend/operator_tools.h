// SPDX-License-Identifier: Apache-2.0
//
// What the operators' functions share: inputs, accumulators, padding, pieces of text.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/operators.h"

namespace hone {

using Extents = std::vector<int64_t>;

// Parameters that several operators have.
inline constexpr Parameter kDtypeParameter{"dtype", ParameterType::word, "f32",
                                           "the element type of the input", true};
inline constexpr Parameter kShapeParameter{"shape", ParameterType::shape, "",
                                           "the extents of the input", true};

// The input of an operator: what the one before it made, or else a new input of the text, whose
// extents are the attribute `shape_attribute` or the attributes of `extent_attributes`.
Result<TextTensor> shaped_input(const Attributes& attributes, TextWriter& writer,
                                std::string_view shape_attribute, std::string_view wish,
                                size_t rank);
Result<TextTensor> input_of_extents(const Attributes& attributes, TextWriter& writer,
                                    std::span<const std::string_view> extent_attributes,
                                    std::string_view wish);
// Any rank from 1 to 5.
Result<TextTensor> any_input(const Attributes& attributes, TextWriter& writer);

Result<DType> dtype_attribute(const Attributes& attributes, std::string_view name);
Result<void> need_float(const Attributes& attributes, const TextTensor& input);

// The type in which products of `dtype` are summed: the attribute `accumulator`, or by default one
// that is wide enough.
Result<DType> accumulator_of(const Attributes& attributes, DType dtype);
inline constexpr Parameter kAccumulatorParameter{
    "accumulator", ParameterType::word, "auto",
    "the type in which products are summed and the type of the result: by default f32 for f16 and "
    "bf16, "
    "i32 for i8, u8 and i16, else the input's",
    false};

// One value a dimension, from an attribute that gives one for all or one for each.
Result<Extents> per_dimension(const Attributes& attributes, std::string_view name,
                              size_t dimensions);
// The same for padding, which may also give two for each: before and after.
struct Padding {
  Extents before;
  Extents after;
  bool is_zero() const;
};
Result<Padding> padding_of(const Attributes& attributes, size_t dimensions);

// A copy of N,spatial…,C with `fill` around it; the input itself when there is nothing to pad.
TextTensor pad(TextWriter& writer, const TextTensor& input, const Padding& padding,
               std::string_view fill);

// "i32(text)", or the text itself when the types agree.
std::string converted(const std::string& text, DType from, DType to);
// "y * 2 + ry * 3" without what is 1 or 0.
std::string scaled(const std::string& axis, int64_t factor);
std::string sum_of(const std::string& left, const std::string& right);
// "NAME[a, b]"
std::string element(const TextTensor& tensor, const std::vector<std::string>& indices);
// Usual names for the axes of an activation of that rank.
std::vector<std::string> axis_names(size_t rank);

// Sliding windows over N,spatial…,C: names and extents of the axes for 1, 2 or 3 spatial
// dimensions.
struct Window {
  Extents kernel;
  Extents stride;
  Extents dilation;
  Padding padding;
  Extents out;  // spatial extents of the result

  std::vector<std::string> axes;         // "y", "x"
  std::vector<std::string> kernel_axes;  // "ry", "rx"; "0" where the kernel has extent 1
  std::vector<std::string> reduce;       // "ry:3", "rx:3" without those of extent 1
  // Where the window reads the padded input: "y * 2 + ry".
  std::vector<std::string> reads() const;
};
Result<Window> window_of(const Attributes& attributes, const TextTensor& input, bool has_dilation);
// The names of the spatial axes and of the kernel's, with the reduce axes for extents above 1.
void name_axes(Window& window);
// "sum(ry:3, c:64) term", or the term alone when nothing is left to reduce.
std::string reduction(std::string_view reducer, const std::vector<std::string>& axes,
                      const std::string& term);

// The rows of each file; operators.cpp joins them.
std::span<const Operator> convolution_operators();
std::span<const Operator> pooling_operators();
std::span<const Operator> matrix_operators();
std::span<const Operator> pointwise_operators();
std::span<const Operator> row_operators();

}  // namespace hone
