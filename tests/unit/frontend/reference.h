// SPDX-License-Identifier: Apache-2.0
//
// Plain arrays of doubles and a way to run a Graph on them, for comparing operators with loops that
// are written out. Small integers are exact in every type that the tests use.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/rng.h"
#include "frontend/graph.h"
#include "frontend/operators.h"

namespace hone {

struct Array {
  std::vector<int64_t> shape;
  std::vector<double> data;

  explicit Array(std::vector<int64_t> extents = {}) : shape(std::move(extents)) {
    size_t count = 1;
    for (const int64_t extent : shape) count *= static_cast<size_t>(extent);
    data.assign(count, 0);
  }
  bool is_inside(const std::vector<int64_t>& index) const {
    for (size_t i = 0; i < shape.size(); ++i)
      if (index[i] < 0 || index[i] >= shape[i]) return false;
    return true;
  }
  size_t offset(const std::vector<int64_t>& index) const {
    ENSURE(index.size() == shape.size() && is_inside(index));
    int64_t offset = 0;
    for (size_t i = 0; i < shape.size(); ++i) offset = offset * shape[i] + index[i];
    return static_cast<size_t>(offset);
  }
  double& operator()(const std::vector<int64_t>& index) { return data[offset(index)]; }
  double operator()(const std::vector<int64_t>& index) const { return data[offset(index)]; }
  double or_zero(const std::vector<int64_t>& index) const {
    return is_inside(index) ? (*this)(index) : 0;
  }
};

using Arrays = std::map<std::string, Array>;

// Calls `visit` for every index of the shape.
inline void each(const std::vector<int64_t>& shape,
                 const std::function<void(const std::vector<int64_t>&)>& visit) {
  std::vector<int64_t> index(shape.size(), 0);
  for (;;) {
    visit(index);
    size_t i = shape.size();
    while (i > 0 && ++index[i - 1] == shape[i - 1]) index[--i] = 0;
    if (i == 0) return;
  }
}

// Inputs and params by name, filled as a device would fill them but with at most ±`most`.
Arrays random_inputs(const Graph& graph, int64_t most, Rng& rng);
// The outputs by name, from the naive Program.
Arrays run_naively(const Graph& graph, const Arrays& inputs);

}  // namespace hone
