// SPDX-License-Identifier: Apache-2.0
#include "peers/case.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "base/result.h"
#include "base/rng.h"

namespace hone::bench {
namespace {

int64_t product(const std::vector<int64_t>& factors) {
  int64_t result = 1;
  for (const int64_t factor : factors) result *= factor;
  return result;
}

template <typename Windowed>
int64_t output_points(const Windowed& shape) {
  int64_t points = 1;
  for (size_t axis = 0; axis < shape.window.axes(); ++axis) {
    if constexpr (requires { shape.output(axis); })
      points *= shape.output(axis);
    else
      points *= shape.window.output(axis);
  }
  return points;
}

// Pairs of an output position and a kernel tap along one axis whose input lies inside the image;
// for a transposed window, pairs of an input position and a tap whose output does.
int64_t useful_taps(const Convolution& shape, size_t axis) {
  const Window& window = shape.window;
  const int64_t positions = shape.transposed ? window.input[axis] : window.output(axis);
  const int64_t extent = shape.transposed ? window.transposed_output(axis) : window.input[axis];
  int64_t taps = 0;
  for (int64_t position = 0; position < positions; ++position) {
    for (int64_t tap = 0; tap < window.kernel[axis]; ++tap) {
      const int64_t other =
          position * window.stride[axis] + tap * window.dilation[axis] - window.padding[axis];
      if (other >= 0 && other < extent) ++taps;
    }
  }
  return taps;
}

struct SizesOf {
  std::vector<int64_t> operator()(const Convolution& shape) const {
    std::vector<int64_t> sizes{
        shape.batch * shape.channels * product(shape.window.input),
        product(shape.window.kernel) * shape.channels / shape.groups * shape.filters};
    if (shape.epilogue.bias) sizes.push_back(shape.filters);
    return sizes;
  }
  std::vector<int64_t> operator()(const Matmul& shape) const {
    std::vector<int64_t> sizes{shape.batch * shape.m * shape.k, shape.batch * shape.k * shape.n};
    if (shape.epilogue.bias) sizes.push_back(shape.n);
    return sizes;
  }
  std::vector<int64_t> operator()(const Pool& shape) const {
    return {shape.batch * shape.channels * product(shape.window.input)};
  }
  std::vector<int64_t> operator()(const Rows& shape) const {
    if (shape.kind == Rows::Kind::layer_norm)
      return {shape.rows * shape.width, shape.width, shape.width};
    return {shape.rows * shape.width};
  }
  std::vector<int64_t> operator()(const Elementwise& shape) const { return {shape.count}; }
};

struct OutputOf {
  int64_t operator()(const Convolution& shape) const {
    return shape.batch * shape.filters * output_points(shape);
  }
  int64_t operator()(const Matmul& shape) const { return shape.batch * shape.m * shape.n; }
  int64_t operator()(const Pool& shape) const {
    return shape.batch * shape.channels * output_points(shape);
  }
  int64_t operator()(const Rows& shape) const {
    return shape.kind == Rows::Kind::norm ? shape.rows : shape.rows * shape.width;
  }
  int64_t operator()(const Elementwise& shape) const { return shape.count; }
};

// {nominal, useful}
struct FlopsOf {
  std::pair<double, double> operator()(const Convolution& shape) const {
    double nominal =
        2.0 * static_cast<double>(shape.batch * shape.channels / shape.groups * shape.filters);
    double useful = nominal;
    for (size_t axis = 0; axis < shape.window.axes(); ++axis) {
      const int64_t positions =
          shape.transposed ? shape.window.input[axis] : shape.window.output(axis);
      nominal *= static_cast<double>(positions * shape.window.kernel[axis]);
      useful *= static_cast<double>(useful_taps(shape, axis));
    }
    return {nominal, useful};
  }
  std::pair<double, double> operator()(const Matmul& shape) const {
    const double flops = 2.0 * static_cast<double>(shape.batch * shape.m * shape.n * shape.k);
    return {flops, flops};
  }
  std::pair<double, double> operator()(const Rows& shape) const {
    if (shape.kind != Rows::Kind::norm) return {0, 0};
    const double flops = 2.0 * static_cast<double>(shape.rows * shape.width);
    return {flops, flops};
  }
  template <typename Other>
  std::pair<double, double> operator()(const Other&) const {
    return {0, 0};
  }
};

// Calls visit(position) for every position of a box, last axis fastest.
template <typename Visit>
void for_each_position(const std::vector<int64_t>& extents, Visit visit) {
  std::vector<int64_t> position(extents.size(), 0);
  for (int64_t left = product(extents); left > 0; --left) {
    visit(position);
    for (size_t axis = extents.size(); axis-- > 0;) {
      if (++position[axis] < extents[axis]) break;
      position[axis] = 0;
    }
  }
}

// Where a tap lands: the position in a box of `extents`, flattened, or -1 outside of it.
int64_t landing(const Window& window, const std::vector<int64_t>& extents,
                const std::vector<int64_t>& position, const std::vector<int64_t>& tap) {
  int64_t flat = 0;
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    const int64_t at = position[axis] * window.stride[axis] + tap[axis] * window.dilation[axis] -
                       window.padding[axis];
    if (at < 0 || at >= extents[axis]) return -1;
    flat = flat * extents[axis] + at;
  }
  return flat;
}

size_t index(int64_t value) { return static_cast<size_t>(value); }

std::vector<double> convolve(const Convolution& shape, const Inputs& inputs) {
  std::vector<int64_t> output;
  for (size_t axis = 0; axis < shape.window.axes(); ++axis) output.push_back(shape.output(axis));
  const int64_t in_points = product(shape.window.input);
  const int64_t out_points = product(output);
  const int64_t group_channels = shape.channels / shape.groups;
  const int64_t group_filters = shape.filters / shape.groups;
  std::vector<double> result(index(shape.batch * out_points * shape.filters), 0.0);
  // The walk is over what strides: output positions, or input positions when transposed.
  const auto& walk = shape.transposed ? shape.window.input : output;
  const auto& land = shape.transposed ? output : shape.window.input;
  int64_t walked = 0;
  for_each_position(walk, [&](const std::vector<int64_t>& position) {
    int64_t tap_index = 0;
    for_each_position(shape.window.kernel, [&](const std::vector<int64_t>& tap) {
      const int64_t landed = landing(shape.window, land, position, tap);
      const int64_t from = shape.transposed ? walked : landed;
      const int64_t to = shape.transposed ? landed : walked;
      for (int64_t b = 0; landed >= 0 && b < shape.batch; ++b) {
        for (int64_t f = 0; f < shape.filters; ++f) {
          const float* x = &inputs[0][index((b * in_points + from) * shape.channels +
                                            f / group_filters * group_channels)];
          const float* w = &inputs[1][index(tap_index * group_channels * shape.filters + f)];
          double sum = 0;
          for (int64_t c = 0; c < group_channels; ++c)
            sum += double{x[c]} * double{w[c * shape.filters]};
          result[index((b * out_points + to) * shape.filters + f)] += sum;
        }
      }
      ++tap_index;
    });
    ++walked;
  });
  return result;
}

std::vector<double> multiply(const Matmul& shape, const Inputs& inputs) {
  std::vector<double> result;
  for (int64_t b = 0; b < shape.batch; ++b)
    for (int64_t i = 0; i < shape.m; ++i)
      for (int64_t j = 0; j < shape.n; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < shape.k; ++k)
          sum +=
              double{inputs[0][index(b * shape.a.batch + i * shape.a.row + k * shape.a.column)]} *
              double{inputs[1][index(b * shape.b.batch + k * shape.b.row + j * shape.b.column)]};
        result.push_back(sum);
      }
  return result;
}

std::vector<double> pool(const Pool& shape, const Inputs& inputs) {
  std::vector<int64_t> output;
  for (size_t axis = 0; axis < shape.window.axes(); ++axis)
    output.push_back(shape.window.output(axis));
  const int64_t in_points = product(shape.window.input);
  std::vector<double> result;
  for (int64_t b = 0; b < shape.batch; ++b)
    for_each_position(output, [&](const std::vector<int64_t>& position) {
      for (int64_t c = 0; c < shape.channels; ++c) {
        double largest = -std::numeric_limits<double>::infinity();
        double sum = 0;
        int64_t taps = 0;
        for_each_position(shape.window.kernel, [&](const std::vector<int64_t>& tap) {
          const int64_t from = landing(shape.window, shape.window.input, position, tap);
          if (from < 0) return;
          const double value = inputs[0][index((b * in_points + from) * shape.channels + c)];
          largest = std::max(largest, value);
          sum += value;
          ++taps;
        });
        result.push_back(shape.kind == Pool::Kind::max ? largest : sum / static_cast<double>(taps));
      }
    });
  return result;
}

void reduce_row(const Rows& shape, const float* row, const Inputs& inputs,
                std::vector<double>& result) {
  const double width = static_cast<double>(shape.width);
  double sum = 0, squares = 0, largest = row[0];
  for (int64_t i = 0; i < shape.width; ++i) {
    sum += row[i];
    squares += double{row[i]} * row[i];
    largest = std::max(largest, double{row[i]});
  }
  if (shape.kind == Rows::Kind::norm) {
    result.push_back(std::sqrt(squares));
  } else if (shape.kind == Rows::Kind::softmax) {
    double total = 0;
    for (int64_t i = 0; i < shape.width; ++i) total += std::exp(row[i] - largest);
    for (int64_t i = 0; i < shape.width; ++i) result.push_back(std::exp(row[i] - largest) / total);
  } else {
    const double mean = sum / width;
    double variance = 0;
    for (int64_t i = 0; i < shape.width; ++i) variance += (row[i] - mean) * (row[i] - mean) / width;
    for (int64_t i = 0; i < shape.width; ++i)
      result.push_back((row[i] - mean) / std::sqrt(variance + shape.epsilon) * inputs[1][index(i)] +
                       inputs[2][index(i)]);
  }
}

double apply(Elementwise::Function function, double x) {
  switch (function) {
    case Elementwise::Function::relu:
      return std::max(x, 0.0);
    case Elementwise::Function::gelu:
      return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case Elementwise::Function::sigmoid:
      return 1 / (1 + std::exp(-x));
    case Elementwise::Function::tanh:
      return std::tanh(x);
  }
  ENSURE(false, "function {}", static_cast<int>(function));
  return 0;
}

struct ReferenceOf {
  const Inputs& inputs;

  std::vector<double> finish(std::vector<double> values, const Epilogue& epilogue) const {
    if (epilogue.bias)
      for (size_t i = 0; i < values.size(); ++i) values[i] += inputs[2][i % inputs[2].size()];
    if (epilogue.relu)
      for (double& value : values) value = std::max(value, 0.0);
    return values;
  }
  std::vector<double> operator()(const Convolution& shape) const {
    return finish(convolve(shape, inputs), shape.epilogue);
  }
  std::vector<double> operator()(const Matmul& shape) const {
    return finish(multiply(shape, inputs), shape.epilogue);
  }
  std::vector<double> operator()(const Pool& shape) const { return pool(shape, inputs); }
  std::vector<double> operator()(const Rows& shape) const {
    std::vector<double> result;
    for (int64_t row = 0; row < shape.rows; ++row)
      reduce_row(shape, &inputs[0][index(row * shape.width)], inputs, result);
    return result;
  }
  std::vector<double> operator()(const Elementwise& shape) const {
    std::vector<double> result;
    for (const float x : inputs[0]) result.push_back(apply(shape.function, x));
    return result;
  }
};

}  // namespace

std::vector<int64_t> input_sizes(const Shape& shape) { return std::visit(SizesOf{}, shape); }

int64_t output_size(const Shape& shape) { return std::visit(OutputOf{}, shape); }

Work work_of(const Shape& shape) {
  Work work;
  std::tie(work.flops, work.useful_flops) = std::visit(FlopsOf{}, shape);
  int64_t elements = output_size(shape);
  for (const int64_t size : input_sizes(shape)) elements += size;
  work.bytes = static_cast<double>(elements) * sizeof(float);
  return work;
}

Inputs make_inputs(const Shape& shape, uint64_t seed) {
  Rng rng(seed);
  Inputs inputs;
  for (const int64_t size : input_sizes(shape)) {
    inputs.emplace_back(index(size));
    for (float& value : inputs.back()) value = static_cast<float>(rng.uniform() * 2 - 1);
  }
  return inputs;
}

std::vector<float> reference(const Shape& shape, const Inputs& inputs) {
  const std::vector<double> exact = std::visit(ReferenceOf{inputs}, shape);
  std::vector<float> result;
  for (const double value : exact) result.push_back(static_cast<float>(value));
  return result;
}

double difference(const std::vector<float>& found, const std::vector<float>& wanted) {
  if (found.size() != wanted.size()) return std::numeric_limits<double>::infinity();
  double squares = 0, largest = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    squares += double{wanted[i]} * wanted[i];
    const double gap = std::abs(double{found[i]} - double{wanted[i]});
    if (!(gap <= largest))
      largest = std::isnan(gap) ? std::numeric_limits<double>::infinity() : gap;
  }
  const double scale = std::sqrt(squares / static_cast<double>(wanted.size()));
  return scale > 0 ? largest / scale : largest;
}

}  // namespace hone::bench
