// SPDX-License-Identifier: Apache-2.0
//
// Convolutions. A padded copy is a stage of its own (P), so that the search decides whether it is
// made whole, by tiles, or inlined. A kernel extent of 1 gives no reduce axis.
#include <array>

#include "frontend/operator_tools.h"

namespace hone {
namespace {

using Names = std::vector<std::string>;

constexpr Parameter kInput{"input", ParameterType::shape, "",
                           "the extents of the input, as in [1, 56, 56, 64]", true};
constexpr Parameter kFilters{"filters", ParameterType::positive, "", "channels of the result",
                             false};
constexpr Parameter kKernel{"kernel", ParameterType::positive_list, "",
                            "the extents of the kernel, as in [3, 3]", false};
constexpr Parameter kStride{"stride", ParameterType::positive_list, "1",
                            "the distance of two windows", false};
constexpr Parameter kPadding{
    "padding", ParameterType::natural_list, "0",
    "zeros around the input: one number, one a dimension, or before and after for each", false};
constexpr Parameter kDilation{"dilation", ParameterType::positive_list, "1",
                              "the distance of two elements of the kernel in the input", false};
constexpr Parameter kGroups{"groups", ParameterType::positive, "1",
                            "input and result channels fall into so many groups of their own",
                            false};

constexpr std::array kConvParameters = {kInput,  kFilters,        kKernel,
                                        kStride, kPadding,        kDilation,
                                        kGroups, kDtypeParameter, kAccumulatorParameter};

Names joined(std::initializer_list<Names> parts) {
  Names all;
  for (const Names& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

Extents result_shape(const TextTensor& input, const Window& window, int64_t channels) {
  Extents shape = {input.shape[0]};
  shape.insert(shape.end(), window.out.begin(), window.out.end());
  shape.push_back(channels);
  return shape;
}

std::string product(const TextTensor& a, const Names& a_indices, const TextTensor& b,
                    const Names& b_indices, DType sum) {
  return fmt::format("{} * {}", converted(element(a, a_indices), a.dtype, sum),
                     converted(element(b, b_indices), b.dtype, sum));
}

// k // (filters per group) * (channels per group) + c
std::string grouped_channel(int64_t filters_per_group, int64_t channels_per_group) {
  const std::string group =
      filters_per_group == 1 ? "k" : fmt::format("k // {}", filters_per_group);
  return channels_per_group == 1 ? group : sum_of(scaled(group, channels_per_group), "c");
}

Result<void> write_convolution(const Attributes& attributes, TextWriter& writer,
                               size_t dimensions) {
  const TextTensor x = TRY(shaped_input(attributes, writer, "input", "X", dimensions + 2));
  const DType sum = TRY(accumulator_of(attributes, x.dtype));
  Window window = TRY(window_of(attributes, x, true));
  const int64_t channels = x.shape.back();
  const int64_t filters = attributes.integer("filters");
  const int64_t groups = attributes.integer("groups");
  if (channels % groups != 0 || filters % groups != 0)
    return attributes.error("groups",
                            fmt::format("'groups' = {} must divide the {} input channels and "
                                        "the {} filters",
                                        groups, channels, filters));
  const int64_t group_channels = channels / groups;
  Extents weight_shape = window.kernel;
  weight_shape.push_back(group_channels);
  weight_shape.push_back(filters);
  const TextTensor w = writer.declare("param", "W", x.dtype, weight_shape);
  const TextTensor p = pad(writer, x, window.padding, "0");
  const std::string c = group_channels == 1 ? "0" : "c";
  if (group_channels > 1) window.reduce.push_back(fmt::format("c:{}", group_channels));
  const std::string channel = groups == 1 ? c : grouped_channel(filters / groups, group_channels);
  writer.compute("C", sum, joined({{"n"}, window.axes, {"k"}}), result_shape(x, window, filters),
                 reduction("sum", window.reduce,
                           product(p, joined({{"n"}, window.reads(), {channel}}), w,
                                   joined({window.kernel_axes, {c, "k"}}), sum)));
  return {};
}

Result<void> write_conv1d(const Attributes& attributes, TextWriter& writer) {
  return write_convolution(attributes, writer, 1);
}
Result<void> write_conv2d(const Attributes& attributes, TextWriter& writer) {
  return write_convolution(attributes, writer, 2);
}
Result<void> write_conv3d(const Attributes& attributes, TextWriter& writer) {
  return write_convolution(attributes, writer, 3);
}

constexpr std::array kDepthwiseParameters = {
    kInput,
    kKernel,
    kStride,
    kPadding,
    kDilation,
    Parameter{"multiplier", ParameterType::positive, "1", "result channels of an input channel",
              false},
    kDtypeParameter,
    kAccumulatorParameter};

Result<void> write_depthwise(const Attributes& attributes, TextWriter& writer) {
  const TextTensor x = TRY(shaped_input(attributes, writer, "input", "X", 4));
  const DType sum = TRY(accumulator_of(attributes, x.dtype));
  const Window window = TRY(window_of(attributes, x, true));
  const int64_t channels = x.shape.back();
  const int64_t multiplier = attributes.integer("multiplier");
  Extents weight_shape = window.kernel;
  weight_shape.push_back(channels);
  if (multiplier > 1) weight_shape.push_back(multiplier);
  const TextTensor w = writer.declare("param", "W", x.dtype, weight_shape);
  const TextTensor p = pad(writer, x, window.padding, "0");
  const std::string out = multiplier == 1 ? "c" : "k";
  const std::string in = multiplier == 1 ? "c" : fmt::format("k // {}", multiplier);
  Names weight_indices = joined({window.kernel_axes, {in}});
  if (multiplier > 1) weight_indices.push_back(fmt::format("k % {}", multiplier));
  writer.compute(
      "C", sum, joined({{"n"}, window.axes, {out}}), result_shape(x, window, channels * multiplier),
      reduction("sum", window.reduce,
                product(p, joined({{"n"}, window.reads(), {in}}), w, weight_indices, sum)));
  return {};
}

constexpr std::array kTransposeParameters = {
    kInput, kFilters, kKernel, kStride, kPadding, kDtypeParameter, kAccumulatorParameter};

// The input with stride - 1 zeros between its elements and `before` zeros around: element y of the
// copy is element (y - before) / stride of the input where that is whole and inside.
TextTensor dilate(TextWriter& writer, const TextTensor& x, const Extents& stride,
                  const Padding& padding) {
  if (padding.is_zero() && stride[0] == 1 && stride[1] == 1) return x;
  const Names axes = axis_names(4);
  Extents shape = x.shape;
  Names indices = axes;
  Names conditions;
  for (size_t i = 0; i < 2; ++i) {
    const size_t axis = i + 1;
    const int64_t before = padding.before[i];
    const int64_t extent = x.shape[axis];
    shape[axis] = (extent - 1) * stride[i] + 1 + before + padding.after[i];
    const std::string shifted =
        before == 0 ? axes[axis] : fmt::format("{} - {}", axes[axis], before);
    if (stride[i] == 1) {
      indices[axis] = shifted;
      conditions.push_back(fmt::format("{} <= {} < {}", before, axes[axis], before + extent));
      continue;
    }
    const std::string inner = before == 0 ? shifted : "(" + shifted + ")";
    indices[axis] = fmt::format("{} // {}", inner, stride[i]);
    conditions.push_back(fmt::format("{} % {} == 0", inner, stride[i]));
    conditions.push_back(fmt::format("0 <= {} < {}", indices[axis], extent));
  }
  std::string condition;
  for (const std::string& one : conditions) condition += (condition.empty() ? "" : " && ") + one;
  return writer.compute("P", x.dtype, axes, shape,
                        fmt::format("if {} then {} else 0", condition, element(x, indices)));
}

Result<void> write_transpose(const Attributes& attributes, TextWriter& writer) {
  const TextTensor x = TRY(shaped_input(attributes, writer, "input", "X", 4));
  const DType sum = TRY(accumulator_of(attributes, x.dtype));
  Window window;
  window.kernel = TRY(per_dimension(attributes, "kernel", 2));
  const Extents stride = TRY(per_dimension(attributes, "stride", 2));
  const Padding cut = TRY(padding_of(attributes, 2));
  Padding around;
  for (size_t i = 0; i < 2; ++i) {
    const int64_t most = window.kernel[i] - 1;
    if (cut.before[i] > most || cut.after[i] > most)
      return attributes.error("padding",
                              fmt::format("'padding' must be less than the kernel ({} in "
                                          "dimension {})",
                                          window.kernel[i], i + 2));
    around.before.push_back(most - cut.before[i]);
    around.after.push_back(most - cut.after[i]);
    window.out.push_back((x.shape[i + 1] - 1) * stride[i] + window.kernel[i] - cut.before[i] -
                         cut.after[i]);
    if (window.out.back() < 1)
      return attributes.error("padding",
                              fmt::format("'padding' leaves nothing of dimension {}", i + 2));
  }
  window.stride = {1, 1};
  window.dilation = {1, 1};
  name_axes(window);
  const int64_t channels = x.shape.back();
  const int64_t filters = attributes.integer("filters");
  const TextTensor w = writer.declare("param", "W", x.dtype,
                                      {window.kernel[0], window.kernel[1], channels, filters});
  const TextTensor p = dilate(writer, x, stride, around);
  Names taps;  // the kernel runs backwards
  for (size_t i = 0; i < 2; ++i)
    taps.push_back(window.kernel[i] == 1
                       ? "0"
                       : fmt::format("{} - {}", window.kernel[i] - 1, window.kernel_axes[i]));
  const std::string c = channels == 1 ? "0" : "c";
  if (channels > 1) window.reduce.push_back(fmt::format("c:{}", channels));
  writer.compute("C", sum, joined({{"n"}, window.axes, {"k"}}), result_shape(x, window, filters),
                 reduction("sum", window.reduce,
                           product(p, joined({{"n"}, window.reads(), {c}}), w,
                                   joined({taps, {c, "k"}}), sum)));
  return {};
}

constexpr std::array kCapsuleParameters = {kInput,
                                           kFilters,
                                           kKernel,
                                           kStride,
                                           kPadding,
                                           Parameter{"capsule", ParameterType::positive, "4",
                                                     "extent of a capsule's square matrix", false},
                                           kDtypeParameter,
                                           kAccumulatorParameter};

Result<void> write_capsule(const Attributes& attributes, TextWriter& writer) {
  if (writer.result() != nullptr)
    return attributes.error("op", "'conv2d_capsule' can only be the first operator of a chain");
  const Extents plane = attributes.list("input");
  if (plane.size() != 4)
    return attributes.error(
        "input", fmt::format("'input' must have 4 extents (N, H, W, C), found {}", plane.size()));
  const int64_t capsule = attributes.integer("capsule");
  const DType dtype = TRY(dtype_attribute(attributes, "dtype"));
  const DType sum = TRY(accumulator_of(attributes, dtype));
  const TextTensor planes{"", dtype, plane};
  Window window = TRY(window_of(attributes, planes, false));
  const TextTensor x = writer.declare("input", "X", dtype,
                                      {plane[0], plane[1], plane[2], capsule, capsule, plane[3]});
  const int64_t filters = attributes.integer("filters");
  const TextTensor w =
      writer.declare("param", "W", dtype,
                     {window.kernel[0], window.kernel[1], capsule, capsule, plane[3], filters});
  TextTensor p = x;
  if (!window.padding.is_zero()) {
    // The copy of the plane, with the capsule's axes carried through.
    const int64_t top = window.padding.before[0];
    const int64_t left = window.padding.before[1];
    const int64_t height = plane[1] + top + window.padding.after[0];
    const int64_t width = plane[2] + left + window.padding.after[1];
    const auto shifted = [](const char* axis, int64_t by) {
      return by == 0 ? std::string(axis) : fmt::format("{} - {}", axis, by);
    };
    p = writer.compute(
        "P", dtype, {"n", "y", "x", "i", "j", "c"},
        {plane[0], height, width, capsule, capsule, plane[3]},
        fmt::format("if {} <= y < {} && {} <= x < {} then {} else 0", top, top + plane[1], left,
                    left + plane[2],
                    element(x, {"n", shifted("y", top), shifted("x", left), "i", "j", "c"})));
  }
  window.reduce.push_back(fmt::format("m:{}", capsule));
  window.reduce.push_back(fmt::format("c:{}", plane[3]));
  const Names reads = window.reads();
  writer.compute(
      "C", sum, {"n", "y", "x", "i", "j", "k"},
      {plane[0], window.out[0], window.out[1], capsule, capsule, filters},
      reduction("sum", window.reduce,
                product(p, {"n", reads[0], reads[1], "i", "m", "c"}, w,
                        {window.kernel_axes[0], window.kernel_axes[1], "m", "j", "c", "k"}, sum)));
  return {};
}

constexpr std::array kRows = {
    Operator{"conv1d", "convolution of N,L,C with weights K,CI,CO", kConvParameters, write_conv1d},
    Operator{"conv2d", "convolution of N,H,W,C with weights KH,KW,CI,CO", kConvParameters,
             write_conv2d},
    Operator{"conv3d", "convolution of N,D,H,W,C with weights KD,KH,KW,CI,CO", kConvParameters,
             write_conv3d},
    Operator{"depthwise_conv2d",
             "one filter (or `multiplier`) a channel: N,H,W,C with weights KH,KW,C[,M]",
             kDepthwiseParameters, write_depthwise},
    Operator{"conv2d_transpose", "the transposed convolution, weights KH,KW,CI,CO",
             kTransposeParameters, write_transpose},
    Operator{"conv2d_capsule",
             "convolution of matrices: N,H,W,cap,cap,CI with weights KH,KW,cap,cap,CI,CO",
             kCapsuleParameters, write_capsule},
};

}  // namespace

std::span<const Operator> convolution_operators() { return kRows; }

}  // namespace hone
