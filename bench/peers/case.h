// SPDX-License-Identifier: Apache-2.0
//
// A workload as the libraries that Hone is compared with see it: not a graph but one of five
// shapes, each of which a library either has an operator for or has not. Families of the workload
// files that differ only in the reading of their axes share a shape: a depthwise convolution is one
// with as many groups as channels, a capsule convolution one over three axes (case_toml.cpp).
// All data are f32, in the layouts that the workload files mean: activations channels-last, weights
// kernel…,CI/groups,CO.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace hone::bench {

// What slides over the spatial axes (1 to 3 of them) of an image.
struct Window {
  std::vector<int64_t> input;
  std::vector<int64_t> kernel;
  std::vector<int64_t> stride;
  std::vector<int64_t> padding;  // on both sides
  std::vector<int64_t> dilation;

  size_t axes() const { return input.size(); }
  // Extent that a dilated kernel covers.
  int64_t reach(size_t axis) const { return (kernel[axis] - 1) * dilation[axis] + 1; }
  int64_t output(size_t axis) const {
    return (input[axis] + 2 * padding[axis] - reach(axis)) / stride[axis] + 1;
  }
  int64_t transposed_output(size_t axis) const {
    return (input[axis] - 1) * stride[axis] + reach(axis) - 2 * padding[axis];
  }
};

// What follows a convolution or a product in the same operator.
struct Epilogue {
  bool bias = false;  // one constant a filter or column
  bool relu = false;
};

struct Convolution {
  int64_t batch = 1;
  int64_t channels = 1;
  int64_t filters = 1;
  int64_t groups = 1;
  Window window{};
  bool transposed = false;
  Epilogue epilogue{};

  int64_t output(size_t axis) const {
    return transposed ? window.transposed_output(axis) : window.output(axis);
  }
};

// C[batch,m,n] = A · B, C without gaps, A and B by their strides in elements.
struct Matmul {
  struct Strides {
    int64_t batch = 0;
    int64_t row = 0;
    int64_t column = 0;
  };
  int64_t batch = 1;
  int64_t m = 1;
  int64_t n = 1;
  int64_t k = 1;
  Strides a{};
  Strides b{};
  bool constant_b = false;  // known before the run: a library may pack it ahead of time
  Epilogue epilogue{};
};

struct Pool {
  enum class Kind { max, average };  // the average is over the taps that lie inside the image
  Kind kind = Kind::max;
  int64_t batch = 1;
  int64_t channels = 1;
  Window window{};
};

// One result row (softmax, layer norm) or one number (norm) from each row.
struct Rows {
  enum class Kind { softmax, layer_norm, norm };
  Kind kind = Kind::softmax;
  int64_t rows = 1;
  int64_t width = 1;
  double epsilon = 1e-5;  // of layer_norm
};

struct Elementwise {
  enum class Function { relu, gelu, sigmoid, tanh };
  Function function = Function::relu;
  int64_t count = 1;
};

using Shape = std::variant<Convolution, Matmul, Pool, Rows, Elementwise>;

struct PeerCase {
  std::string name;
  Shape shape;
};

// Sizes in elements of the inputs, in the order: activations, weights or second operand, bias
// (layer_norm: activations, scale, shift).
std::vector<int64_t> input_sizes(const Shape& shape);
int64_t output_size(const Shape& shape);

struct Work {
  double flops = 0;         // nominal: padding taps count; 0 where the formula has no products
  double useful_flops = 0;  // without the taps that meet padding
  double bytes = 0;         // every input read and every output written once
};
Work work_of(const Shape& shape);

using Inputs = std::vector<std::vector<float>>;
Inputs make_inputs(const Shape& shape, uint64_t seed);  // uniform in [-1, 1)

// The formula itself in double precision, loops over everything: the judge of the libraries.
std::vector<float> reference(const Shape& shape, const Inputs& inputs);

// The largest difference relative to the scale of the results (their root mean square).
double difference(const std::vector<float>& found, const std::vector<float>& wanted);

}  // namespace hone::bench
