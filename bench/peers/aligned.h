// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "base/result.h"

namespace hone::bench {

// Floats on a cache line's start, with a cache line to spare behind them: kernels of XNNPACK read
// whole vectors at the end of a tensor.
class AlignedFloats {
 public:
  explicit AlignedFloats(int64_t count) : count_(count) {
    constexpr size_t kLineBytes = 64;
    const size_t bytes = static_cast<size_t>(count) * sizeof(float);
    data_.reset(
        static_cast<float*>(std::aligned_alloc(kLineBytes, (bytes / kLineBytes + 2) * kLineBytes)));
    ENSURE(data_ != nullptr, "out of memory for {} floats", count);
    std::fill_n(data_.get(), count, 0.0f);
  }
  explicit AlignedFloats(const std::vector<float>& values)
      : AlignedFloats(static_cast<int64_t>(values.size())) {
    std::copy(values.begin(), values.end(), data_.get());
  }

  float* data() { return data_.get(); }
  std::vector<float> values() const { return {data_.get(), data_.get() + count_}; }

 private:
  struct Free {
    void operator()(float* data) const { std::free(data); }
  };
  int64_t count_;
  std::unique_ptr<float, Free> data_;
};

}  // namespace hone::bench
