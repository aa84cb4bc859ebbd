// SPDX-License-Identifier: Apache-2.0
//
// Products of matrices.
#include <array>

#include "frontend/operator_tools.h"

namespace hone {
namespace {

constexpr std::array kMatmulParameters = {
    Parameter{"m", ParameterType::positive, "", "rows of the result", true},
    Parameter{"n", ParameterType::positive, "", "columns of the result", false},
    Parameter{"k", ParameterType::positive, "", "the extent that is summed over", true},
    kDtypeParameter,
    kAccumulatorParameter,
};

Result<TextTensor> write_product(const Attributes& attributes, TextWriter& writer) {
  constexpr std::array<std::string_view, 2> kExtents = {"m", "k"};
  const TextTensor a = TRY(input_of_extents(attributes, writer, kExtents, "A"));
  const DType sum = TRY(accumulator_of(attributes, a.dtype));
  const int64_t n = attributes.integer("n");
  const TextTensor b = writer.declare("param", "B", a.dtype, {a.shape[1], n});
  const std::string term = fmt::format("{} * {}", converted(element(a, {"i", "k"}), a.dtype, sum),
                                       converted(element(b, {"k", "j"}), b.dtype, sum));
  return writer.compute("C", sum, {"i", "j"}, {a.shape[0], n},
                        fmt::format("sum(k:{}) {}", a.shape[1], term));
}

Result<void> write_matmul(const Attributes& attributes, TextWriter& writer) {
  TRYV(write_product(attributes, writer));
  return {};
}

Result<void> write_dense(const Attributes& attributes, TextWriter& writer) {
  const std::string wish = attributes.word("bias");
  if (wish != "yes" && wish != "no")
    return attributes.error("bias",
                            fmt::format("'bias' must be \"yes\" or \"no\", found \"{}\"", wish));
  const TextTensor product = TRY(write_product(attributes, writer));
  if (wish == "no") return {};
  const TextTensor bias = writer.declare("param", "bias", product.dtype, {product.shape[1]});
  writer.compute("biased", product.dtype, {"i", "j"}, product.shape,
                 fmt::format("{} + {}", element(product, {"i", "j"}), element(bias, {"j"})));
  return {};
}

constexpr std::array kDenseParameters = {
    kMatmulParameters[0],
    kMatmulParameters[1],
    kMatmulParameters[2],
    Parameter{"bias", ParameterType::word, "yes", "\"yes\" adds a param of n elements", false},
    kDtypeParameter,
    kAccumulatorParameter,
};

constexpr std::array kBatchMatmulParameters = {
    Parameter{"batch", ParameterType::positive, "", "how many products", true},
    Parameter{"m", ParameterType::positive, "", "rows of a result", true},
    Parameter{"n", ParameterType::positive, "", "columns of a result", false},
    Parameter{"k", ParameterType::positive, "", "the extent that is summed over", true},
    kDtypeParameter,
    kAccumulatorParameter,
};

Result<void> write_batch_matmul(const Attributes& attributes, TextWriter& writer) {
  constexpr std::array<std::string_view, 3> kExtents = {"batch", "m", "k"};
  const TextTensor a = TRY(input_of_extents(attributes, writer, kExtents, "A"));
  const DType sum = TRY(accumulator_of(attributes, a.dtype));
  const int64_t n = attributes.integer("n");
  const TextTensor b = writer.declare("input", "B", a.dtype, {a.shape[0], a.shape[2], n});
  const std::string term =
      fmt::format("{} * {}", converted(element(a, {"b", "i", "k"}), a.dtype, sum),
                  converted(element(b, {"b", "k", "j"}), b.dtype, sum));
  writer.compute("C", sum, {"b", "i", "j"}, {a.shape[0], a.shape[1], n},
                 fmt::format("sum(k:{}) {}", a.shape[2], term));
  return {};
}

constexpr std::array kTransposeParameters = {
    Parameter{"batch", ParameterType::positive, "", "how many sequences", true},
    Parameter{"seq", ParameterType::positive, "", "length of a sequence", true},
    Parameter{"heads", ParameterType::positive, "", "attention heads", true},
    Parameter{"dim", ParameterType::positive, "", "elements of a head, summed over", true},
    kDtypeParameter,
    kAccumulatorParameter,
};

Result<void> write_transpose_batch_matmul(const Attributes& attributes, TextWriter& writer) {
  constexpr std::array<std::string_view, 4> kExtents = {"batch", "seq", "heads", "dim"};
  const TextTensor q = TRY(input_of_extents(attributes, writer, kExtents, "Q"));
  const DType sum = TRY(accumulator_of(attributes, q.dtype));
  const TextTensor k = writer.declare("input", "K", q.dtype, q.shape);
  const std::string term =
      fmt::format("{} * {}", converted(element(q, {"b", "i", "h", "d"}), q.dtype, sum),
                  converted(element(k, {"b", "j", "h", "d"}), k.dtype, sum));
  writer.compute("S", sum, {"b", "h", "i", "j"}, {q.shape[0], q.shape[2], q.shape[1], q.shape[1]},
                 fmt::format("sum(d:{}) {}", q.shape[3], term));
  return {};
}

constexpr std::array kRows = {
    Operator{"matmul", "C[m,n] = A[m,k] · B[k,n], B a param", kMatmulParameters, write_matmul},
    Operator{"dense", "matmul with a bias", kDenseParameters, write_dense},
    Operator{"batch_matmul", "C[batch,m,n] = A[batch,m,k] · B[batch,k,n], both inputs",
             kBatchMatmulParameters, write_batch_matmul},
    Operator{"transpose_batch_matmul",
             "S[batch,heads,seq,seq] = Q[batch,seq,heads,dim] · K transposed, both inputs",
             kTransposeParameters, write_transpose_batch_matmul},
};

}  // namespace

std::span<const Operator> matrix_operators() { return kRows; }

}  // namespace hone
