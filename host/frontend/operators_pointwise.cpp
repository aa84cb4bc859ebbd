// SPDX-License-Identifier: Apache-2.0
//
// Operators that compute each element from the element at the same place: functions of one value,
// and what follows a convolution in a network. Channels are the last axis.
#include <array>
#include <cctype>

#include "base/text.h"
#include "frontend/operator_tools.h"

namespace hone {
namespace {

constexpr std::array kFunctions = {
    PointFunction{"relu", "max(x, 0)", false},
    PointFunction{"relu6", "min(max(x, 0), 6)", false},
    PointFunction{"leaky_relu", "if 0 < x then x else 0.01 * x", true},
    PointFunction{"abs", "abs(x)", false},
    PointFunction{"neg", "-x", false},
    PointFunction{"square", "x * x", false},
    PointFunction{"exp", "exp(x)", true},
    PointFunction{"log", "log(x)", true},
    PointFunction{"sqrt", "sqrt(x)", true},
    PointFunction{"rsqrt", "rsqrt(x)", true},
    PointFunction{"tanh", "tanh(x)", true},
    PointFunction{"sigmoid", "sigmoid(x)", true},
    PointFunction{"erf", "erf(x)", true},
    PointFunction{"floor", "floor(x)", true},
    PointFunction{"ceil", "ceil(x)", true},
    PointFunction{"round", "round(x)", true},
    PointFunction{"gelu", "0.5 * x * (1 + erf(x * 0.7071067811865476))", true},
    PointFunction{"silu", "x * sigmoid(x)", true},
    PointFunction{"hard_swish", "x * min(max(x + 3, 0), 6) / 6", true},
};

bool is_word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The function's text with `value` for each word x.
std::string applied(std::string_view text, const std::string& value) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool word_before = i > 0 && is_word_char(text[i - 1]);
    const bool word_after = i + 1 < text.size() && is_word_char(text[i + 1]);
    if (text[i] == 'x' && !word_before && !word_after)
      result += value;
    else
      result += text[i];
  }
  return result;
}

constexpr std::array kElementwiseParameters = {
    kShapeParameter,
    Parameter{"function", ParameterType::word, "", "the function of one value, such as \"relu\"",
              false},
    kDtypeParameter,
};

Result<void> write_elementwise(const Attributes& attributes, TextWriter& writer) {
  const std::string wish = attributes.word("function");
  const PointFunction* function = nullptr;
  std::vector<std::string> names;
  for (const PointFunction& row : kFunctions) {
    names.emplace_back(row.name);
    if (row.name == wish) function = &row;
  }
  if (function == nullptr) {
    return attributes.error("function",
                            fmt::format("there is no function '{}', there are {}{}", wish,
                                        join(names, ", "), suggestion(wish, names)));
  }
  const TextTensor x = TRY(any_input(attributes, writer));
  if (function->needs_float && !is_float(x.dtype))
    return attributes.error("function", fmt::format("'{}' needs a floating-point input, found {}",
                                                    wish, to_string(x.dtype)));
  const std::vector<std::string> axes = axis_names(x.shape.size());
  writer.compute(is_reserved(wish) ? "Y" : wish, x.dtype, axes, x.shape,
                 applied(function->text, element(x, axes)));
  return {};
}

constexpr std::array kPlainParameters = {kShapeParameter, kDtypeParameter};

Result<void> write_bias(const Attributes& attributes, TextWriter& writer) {
  const TextTensor x = TRY(any_input(attributes, writer));
  const std::vector<std::string> axes = axis_names(x.shape.size());
  const TextTensor bias = writer.declare("param", "bias", x.dtype, {x.shape.back()});
  writer.compute("biased", x.dtype, axes, x.shape,
                 fmt::format("{} + {}", element(x, axes), element(bias, {axes.back()})));
  return {};
}

Result<void> write_batch_norm(const Attributes& attributes, TextWriter& writer) {
  const TextTensor x = TRY(any_input(attributes, writer));
  TRYV(need_float(attributes, x));
  const std::vector<std::string> axes = axis_names(x.shape.size());
  const TextTensor scale = writer.declare("param", "scale", x.dtype, {x.shape.back()});
  const TextTensor shift = writer.declare("param", "shift", x.dtype, {x.shape.back()});
  writer.compute("normed", x.dtype, axes, x.shape,
                 fmt::format("{} * {} + {}", element(x, axes), element(scale, {axes.back()}),
                             element(shift, {axes.back()})));
  return {};
}

Result<void> write_with_other(const Attributes& attributes, TextWriter& writer,
                              std::string_view wish, std::string_view sign) {
  const TextTensor x = TRY(any_input(attributes, writer));
  const std::vector<std::string> axes = axis_names(x.shape.size());
  const TextTensor other = writer.declare("input", "R", x.dtype, x.shape);
  writer.compute(wish, x.dtype, axes, x.shape,
                 fmt::format("{} {} {}", element(x, axes), sign, element(other, axes)));
  return {};
}

Result<void> write_add(const Attributes& attributes, TextWriter& writer) {
  return write_with_other(attributes, writer, "added", "+");
}

Result<void> write_multiply(const Attributes& attributes, TextWriter& writer) {
  return write_with_other(attributes, writer, "product", "*");
}

constexpr std::array kCastParameters = {
    kShapeParameter,
    Parameter{"to", ParameterType::word, "", "the element type of the result", false},
    kDtypeParameter,
};

Result<void> write_cast(const Attributes& attributes, TextWriter& writer) {
  const DType to = TRY(dtype_attribute(attributes, "to"));
  const TextTensor x = TRY(any_input(attributes, writer));
  const std::vector<std::string> axes = axis_names(x.shape.size());
  writer.compute("Y", to, axes, x.shape, converted(element(x, axes), x.dtype, to));
  return {};
}

constexpr std::array kRequantizeParameters = {
    kShapeParameter,
    Parameter{"multiplier", ParameterType::positive, "", "fixed-point factor", false},
    Parameter{"shift", ParameterType::positive, "", "right shift after it, 1 to 62", false},
    Parameter{"zero_point", ParameterType::integer, "0", "is added before saturation", false},
    Parameter{"to", ParameterType::word, "i8", "the element type of the result", false},
    kDtypeParameter,
};

Result<void> write_requantize(const Attributes& attributes, TextWriter& writer) {
  const DType to = TRY(dtype_attribute(attributes, "to"));
  if (is_float(to)) return attributes.error("to", "'to' must be an integer type");
  const TextTensor x = TRY(any_input(attributes, writer));
  if (is_float(x.dtype))
    return attributes.error(
        "op", fmt::format("'requantize' needs an integer input, found {}", to_string(x.dtype)));
  const int64_t multiplier = attributes.integer("multiplier");
  const int64_t shift = attributes.integer("shift");
  if (shift > 62) return attributes.error("shift", "'shift' must be 1 to 62");
  const std::vector<std::string> axes = axis_names(x.shape.size());
  writer.compute("requantized", to, axes, x.shape,
                 fmt::format("sat_{}((({} * {} + {}) >> {}) + {})", to_string(to),
                             converted(element(x, axes), x.dtype, DType::i64), multiplier,
                             int64_t{1} << (shift - 1), shift, attributes.integer("zero_point")));
  return {};
}

constexpr std::array kRows = {
    Operator{"elementwise", "a function of one value", kElementwiseParameters, write_elementwise},
    Operator{"bias", "adds a param of one value a channel", kPlainParameters, write_bias},
    Operator{"batch_norm", "times a param plus a param of one value a channel (folded statistics)",
             kPlainParameters, write_batch_norm},
    Operator{"add", "adds another input of the same shape (a residual)", kPlainParameters,
             write_add},
    Operator{"multiply", "multiplies by another input of the same shape", kPlainParameters,
             write_multiply},
    Operator{"cast", "converts to another type", kCastParameters, write_cast},
    Operator{"requantize", "x * multiplier >> shift, rounded, plus zero_point, saturated",
             kRequantizeParameters, write_requantize},
};

}  // namespace

std::span<const PointFunction> point_functions() { return kFunctions; }
std::span<const Operator> pointwise_operators() { return kRows; }

}  // namespace hone
