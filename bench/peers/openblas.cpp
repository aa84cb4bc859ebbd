// SPDX-License-Identifier: Apache-2.0
//
// OpenBLAS: products as one sgemm a batch element, norms as the root of sdot (its snrm2 guards
// against overflow and takes many times as long). Its interface packs at each call and has no bias
// or relu; products with those are left to the other libraries, because a second pass of ours would
// not be OpenBLAS's speed.
#include <cblas.h>

#include <cmath>
#include <vector>

#include "peers/aligned.h"
#include "peers/libraries.h"

namespace hone::bench {
namespace {

// How BLAS reads a matrix whose rows or columns stand without gaps.
struct Reading {
  CBLAS_TRANSPOSE transpose;
  blasint leading;
};

bool readable(const Matmul::Strides& strides) { return strides.column == 1 || strides.row == 1; }

Reading reading(const Matmul::Strides& strides) {
  if (strides.column == 1) return {CblasNoTrans, static_cast<blasint>(strides.row)};
  return {CblasTrans, static_cast<blasint>(strides.column)};
}

class SgemmPeer : public PreparedPeer {
 public:
  SgemmPeer(const Matmul& shape, const Inputs& inputs, int threads)
      : shape_(shape),
        a_(inputs[0]),
        b_(inputs[1]),
        c_(shape.batch * shape.m * shape.n),
        threads_(threads) {}

  Result<void> run() override {
    openblas_set_num_threads(threads_);
    const Reading a = reading(shape_.a), b = reading(shape_.b);
    const auto m = static_cast<blasint>(shape_.m), n = static_cast<blasint>(shape_.n),
               k = static_cast<blasint>(shape_.k);
    for (int64_t i = 0; i < shape_.batch; ++i) {
      cblas_sgemm(CblasRowMajor, a.transpose, b.transpose, m, n, k, 1.0f,
                  a_.data() + i * shape_.a.batch, a.leading, b_.data() + i * shape_.b.batch,
                  b.leading, 0.0f, c_.data() + i * shape_.m * shape_.n, n);
    }
    return {};
  }

  Result<std::vector<float>> output() override { return c_.values(); }

 private:
  Matmul shape_;
  AlignedFloats a_, b_, c_;
  int threads_;
};

class NormPeer : public PreparedPeer {
 public:
  NormPeer(const Rows& shape, const Inputs& inputs, int threads)
      : shape_(shape), x_(inputs[0]), result_(shape.rows), threads_(threads) {}

  Result<void> run() override {
    openblas_set_num_threads(threads_);
    for (int64_t row = 0; row < shape_.rows; ++row) {
      const float* x = x_.data() + row * shape_.width;
      result_.data()[row] = std::sqrt(cblas_sdot(static_cast<blasint>(shape_.width), x, 1, x, 1));
    }
    return {};
  }

  Result<std::vector<float>> output() override { return result_.values(); }

 private:
  Rows shape_;
  AlignedFloats x_, result_;
  int threads_;
};

}  // namespace

Result<MaybePeer> prepare_openblas(const Shape& shape, const Inputs& inputs, int threads) {
  if (const auto* matmul = std::get_if<Matmul>(&shape)) {
    if (matmul->epilogue.bias || matmul->epilogue.relu) return nullptr;
    if (!readable(matmul->a) || !readable(matmul->b)) return nullptr;
    return std::make_unique<SgemmPeer>(*matmul, inputs, threads);
  }
  if (const auto* rows = std::get_if<Rows>(&shape); rows && rows->kind == Rows::Kind::norm)
    return std::make_unique<NormPeer>(*rows, inputs, threads);
  return nullptr;
}

}  // namespace hone::bench
