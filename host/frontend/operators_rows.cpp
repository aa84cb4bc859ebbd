// SPDX-License-Identifier: Apache-2.0
//
// Operators that look at a whole row: softmax, normalisations, and the lookup of rows.
#include <array>

#include "frontend/operator_tools.h"

namespace hone {
namespace {

using Names = std::vector<std::string>;

// What softmax and layer_norm work on: rows along the last axis, in the accumulator's type.
struct Rows {
  TextTensor input;
  DType sum = DType::f32;
  Names axes;
  Names outer_axes;
  Extents outer_shape;
  std::string reduce;  // "(j:256) "
  std::string value;   // the element, in the accumulator's type
  int64_t length = 1;
};

Result<Rows> rows_of(const Attributes& attributes, TextWriter& writer) {
  Rows rows;
  if (writer.result() != nullptr) {
    rows.input = *writer.result();
  } else {
    constexpr std::array<std::string_view, 2> kExtents = {"m", "n"};
    rows.input = TRY(input_of_extents(attributes, writer, kExtents, "X"));
  }
  TRYV(need_float(attributes, rows.input));
  rows.sum = bytes_of(rows.input.dtype) < 4 ? DType::f32 : rows.input.dtype;
  rows.axes = axis_names(rows.input.shape.size());
  rows.outer_axes.assign(rows.axes.begin(), rows.axes.end() - 1);
  rows.outer_shape.assign(rows.input.shape.begin(), rows.input.shape.end() - 1);
  rows.length = rows.input.shape.back();
  rows.reduce = fmt::format("({}:{}) ", rows.axes.back(), rows.length);
  rows.value = converted(element(rows.input, rows.axes), rows.input.dtype, rows.sum);
  return rows;
}

constexpr std::array kRowParameters = {
    Parameter{"m", ParameterType::positive, "", "number of rows", true},
    Parameter{"n", ParameterType::positive, "", "elements of a row", true},
    kDtypeParameter,
};

Result<void> write_softmax(const Attributes& attributes, TextWriter& writer) {
  const Rows rows = TRY(rows_of(attributes, writer));
  const TextTensor most = writer.compute("most", rows.sum, rows.outer_axes, rows.outer_shape,
                                         "max" + rows.reduce + rows.value);
  const TextTensor powers =
      writer.compute("E", rows.sum, rows.axes, rows.input.shape,
                     fmt::format("exp({} - {})", rows.value, element(most, rows.outer_axes)));
  const TextTensor total = writer.compute("total", rows.sum, rows.outer_axes, rows.outer_shape,
                                          "sum" + rows.reduce + element(powers, rows.axes));
  writer.compute(
      "softmax", rows.input.dtype, rows.axes, rows.input.shape,
      converted(fmt::format("{} / {}", element(powers, rows.axes), element(total, rows.outer_axes)),
                rows.sum, rows.input.dtype));
  return {};
}

constexpr std::array kLayerNormParameters = {
    kRowParameters[0],
    kRowParameters[1],
    Parameter{"epsilon", ParameterType::number, "1e-5", "is added to the variance", false},
    kDtypeParameter,
};

Result<void> write_layer_norm(const Attributes& attributes, TextWriter& writer) {
  const Rows rows = TRY(rows_of(attributes, writer));
  const TextTensor gamma = writer.declare("param", "gamma", rows.sum, {rows.length});
  const TextTensor beta = writer.declare("param", "beta", rows.sum, {rows.length});
  const TextTensor total = writer.compute("total", rows.sum, rows.outer_axes, rows.outer_shape,
                                          "sum" + rows.reduce + rows.value);
  const TextTensor centred = writer.compute(
      "centred", rows.sum, rows.axes, rows.input.shape,
      fmt::format("{} - {} / {}", rows.value, element(total, rows.outer_axes), rows.length));
  const std::string deviation = element(centred, rows.axes);
  const TextTensor squares =
      writer.compute("squares", rows.sum, rows.outer_axes, rows.outer_shape,
                     fmt::format("sum{}{} * {}", rows.reduce, deviation, deviation));
  const std::string last = rows.axes.back();
  const std::string normed = fmt::format(
      "{} * rsqrt({} / {} + {}) * {} + {}", deviation, element(squares, rows.outer_axes),
      rows.length, attributes.number("epsilon"), element(gamma, {last}), element(beta, {last}));
  writer.compute("normed", rows.input.dtype, rows.axes, rows.input.shape,
                 converted(normed, rows.sum, rows.input.dtype));
  return {};
}

constexpr std::array kNormParameters = {
    Parameter{"batch", ParameterType::positive, "", "how many matrices", true},
    Parameter{"m", ParameterType::positive, "", "rows of a matrix", true},
    Parameter{"n", ParameterType::positive, "", "columns of a matrix", true},
    kDtypeParameter,
};

Result<void> write_norm(const Attributes& attributes, TextWriter& writer) {
  constexpr std::array<std::string_view, 3> kExtents = {"batch", "m", "n"};
  const TextTensor x = TRY(input_of_extents(attributes, writer, kExtents, "X"));
  TRYV(need_float(attributes, x));
  const DType sum = bytes_of(x.dtype) < 4 ? DType::f32 : x.dtype;
  const std::string value = converted(element(x, {"b", "i", "j"}), x.dtype, sum);
  const TextTensor squares =
      writer.compute("squares", sum, {"b"}, {x.shape[0]},
                     fmt::format("sum(i:{}, j:{}) {} * {}", x.shape[1], x.shape[2], value, value));
  writer.compute("norm", x.dtype, {"b"}, {x.shape[0]},
                 converted(fmt::format("sqrt({})", element(squares, {"b"})), sum, x.dtype));
  return {};
}

constexpr std::array kEmbeddingParameters = {
    Parameter{"rows", ParameterType::positive, "", "rows of the table", true},
    Parameter{"width", ParameterType::positive, "", "elements of a row", true},
    Parameter{"count", ParameterType::positive, "", "how many rows are looked up", true},
    kDtypeParameter,
};

Result<void> write_embedding(const Attributes& attributes, TextWriter& writer) {
  if (writer.result() != nullptr)
    return attributes.error("op", "'embedding' can only be the first operator of a chain");
  const DType dtype = TRY(dtype_attribute(attributes, "dtype"));
  const int64_t width = attributes.integer("width");
  const int64_t count = attributes.integer("count");
  const TextTensor index = writer.declare("input", "index", DType::i32, {count});
  const TextTensor table =
      writer.declare("param", "table", dtype, {attributes.integer("rows"), width});
  writer.compute("found", dtype, {"i", "j"}, {count, width},
                 element(table, {element(index, {"i"}), "j"}));
  return {};
}

constexpr std::array kRows = {
    Operator{"softmax", "exp(x) over its sum along the last axis", kRowParameters, write_softmax},
    Operator{"layer_norm",
             "rows of mean 0 and variance 1 along the last axis, times gamma plus beta",
             kLayerNormParameters, write_layer_norm},
    Operator{"norm", "the root of the sum of squares of each matrix", kNormParameters, write_norm},
    Operator{"embedding", "rows of a table, by an index that is an input", kEmbeddingParameters,
             write_embedding},
};

}  // namespace

std::span<const Operator> row_operators() { return kRows; }

}  // namespace hone
