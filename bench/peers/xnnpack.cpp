// SPDX-License-Identifier: Apache-2.0
//
// XNNPACK. Its operators are for two spatial axes and constant weights; what the workloads have
// beyond that is mapped where the mapping costs nothing at run time: one axis is an image of height
// 1; of three axes, a first one that the window does not move along is more batch, and a last one
// is more images side by side, each run by an operator of its own over strided pixels.
#include <pthreadpool.h>
#include <xnnpack.h>

#include <array>
#include <limits>
#include <optional>
#include <vector>

#include "peers/aligned.h"
#include "peers/libraries.h"

namespace hone::bench {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct DeletePool {
  void operator()(pthreadpool_t pool) const { pthreadpool_destroy(pool); }
};
struct DeleteOperator {
  void operator()(xnn_operator_t op) const { xnn_delete_operator(op); }
};
using ThreadPool = std::unique_ptr<pthreadpool, DeletePool>;
using Operator = std::unique_ptr<xnn_operator, DeleteOperator>;

uint32_t narrow(int64_t value) { return static_cast<uint32_t>(value); }
size_t size(int64_t value) { return static_cast<size_t>(value); }

class XnnpackPeer : public PreparedPeer {
 public:
  XnnpackPeer(const Shape& shape, const Inputs& inputs, int threads)
      // Without a pool the library runs in the calling thread.
      : pool_(threads > 1 ? pthreadpool_create(size(threads)) : nullptr),
        input_(inputs[0]),
        output_(output_size(shape)) {}

  Result<void> run() override {
    for (const Operator& op : operators_)
      if (const xnn_status status = xnn_run_operator(op.get(), pool_.get());
          status != xnn_status_success)
        return fail("XNNPACK: run: status {}", static_cast<int>(status));
    return {};
  }

  Result<std::vector<float>> output() override { return output_.values(); }

  pthreadpool_t pool() const { return pool_.get(); }
  float* input() { return input_.data(); }
  float* result() { return output_.data(); }
  void add(xnn_operator_t op) { operators_.emplace_back(op); }

 private:
  ThreadPool pool_;
  AlignedFloats input_, output_;
  std::vector<Operator> operators_;  // last, so that they go before the buffers they point to
};

// A convolution over two axes, repeated over images that lie side by side in each pixel.
struct Planar {
  int64_t batch;
  std::array<int64_t, 2> input, kernel, stride, padding, dilation;
  int64_t images = 1;
};

bool still(const Window& window, size_t axis) {
  return window.kernel[axis] == 1 && window.stride[axis] == 1 && window.padding[axis] == 0;
}

std::optional<Planar> planar(const Convolution& shape) {
  const Window& w = shape.window;
  const auto pick = [&](size_t y, size_t x) {
    return Planar{shape.batch,
                  {w.input[y], w.input[x]},
                  {w.kernel[y], w.kernel[x]},
                  {w.stride[y], w.stride[x]},
                  {w.padding[y], w.padding[x]},
                  {w.dilation[y], w.dilation[x]},
                  1};
  };
  if (w.axes() == 1)
    return Planar{shape.batch,
                  {1, w.input[0]},
                  {1, w.kernel[0]},
                  {1, w.stride[0]},
                  {0, w.padding[0]},
                  {1, w.dilation[0]},
                  1};
  if (w.axes() == 2) return pick(0, 1);
  if (still(w, 0)) {
    Planar result = pick(1, 2);
    result.batch *= w.input[0];
    return result;
  }
  if (still(w, 2)) {
    Planar result = pick(0, 1);
    result.images = w.input[2];
    return result;
  }
  return std::nullopt;
}

// kernel…, CI, CO → CO, kernel…, CI, the library's order. (For a group, CI and CO are the group's,
// and its filters stand together in both orders.)
std::vector<float> filters_first(const std::vector<float>& weights, int64_t filters) {
  std::vector<float> result(weights.size());
  const size_t columns = size(filters), rows = weights.size() / columns;
  for (size_t row = 0; row < rows; ++row)
    for (size_t filter = 0; filter < columns; ++filter)
      result[filter * rows + row] = weights[row * columns + filter];
  return result;
}

xnn_status create_convolution(const Convolution& shape, const Planar& p, const float* weights,
                              const float* bias, uint32_t flags, xnn_operator_t* op) {
  const float least = shape.epilogue.relu ? 0.0f : -kInfinity;
  const auto create =
      shape.transposed ? xnn_create_deconvolution2d_nhwc_f32 : xnn_create_convolution2d_nhwc_f32;
  return create(narrow(p.padding[0]), narrow(p.padding[1]), narrow(p.padding[0]),
                narrow(p.padding[1]), narrow(p.kernel[0]), narrow(p.kernel[1]), narrow(p.stride[0]),
                narrow(p.stride[1]), narrow(p.dilation[0]), narrow(p.dilation[1]),
                narrow(shape.groups), size(shape.channels / shape.groups),
                size(shape.filters / shape.groups), size(shape.channels * p.images),
                size(shape.filters * p.images), weights, bias, least, kInfinity, flags, op);
}

struct Creator {
  XnnpackPeer& peer;
  const Inputs& inputs;

  xnn_status operator()(const Convolution& shape) const {
    const std::optional<Planar> p = planar(shape);
    if (!p) return xnn_status_unsupported_parameter;
    const bool depthwise = shape.groups > 1 && shape.groups == shape.channels &&
                           shape.filters == shape.channels && !shape.transposed;
    const std::vector<float> weights =
        depthwise ? inputs[1] : filters_first(inputs[1], shape.filters);
    const float* bias = shape.epilogue.bias ? inputs[2].data() : nullptr;
    for (int64_t image = 0; image < p->images; ++image) {
      xnn_operator_t op = nullptr;
      if (const auto status = create_convolution(
              shape, *p, weights.data(), bias, depthwise ? XNN_FLAG_DEPTHWISE_CONVOLUTION : 0, &op);
          status != xnn_status_success)
        return status;
      peer.add(op);
      const float* from = peer.input() + image * shape.channels;
      float* to = peer.result() + image * shape.filters;
      const auto status =
          shape.transposed
              ? xnn_setup_deconvolution2d_nhwc_f32(op, size(p->batch), size(p->input[0]),
                                                   size(p->input[1]), 0, 0, from, to, peer.pool())
              : xnn_setup_convolution2d_nhwc_f32(op, size(p->batch), size(p->input[0]),
                                                 size(p->input[1]), from, to, peer.pool());
      if (status != xnn_status_success) return status;
    }
    return xnn_status_success;
  }

  xnn_status operator()(const Matmul& shape) const {
    const bool plain =
        shape.batch == 1 && shape.a.column == 1 && shape.b.column == 1 && shape.b.row == shape.n;
    if (!plain || !shape.constant_b) return xnn_status_unsupported_parameter;
    xnn_operator_t op = nullptr;
    const auto status = xnn_create_fully_connected_nc_f32(
        size(shape.k), size(shape.n), size(shape.a.row), size(shape.n), inputs[1].data(),
        shape.epilogue.bias ? inputs[2].data() : nullptr, shape.epilogue.relu ? 0.0f : -kInfinity,
        kInfinity, XNN_FLAG_TRANSPOSE_WEIGHTS, &op);
    if (status != xnn_status_success) return status;
    peer.add(op);
    return xnn_setup_fully_connected_nc_f32(op, size(shape.m), peer.input(), peer.result(),
                                            peer.pool());
  }

  xnn_status operator()(const Pool& shape) const {
    const Window& w = shape.window;
    if (w.axes() != 2) return xnn_status_unsupported_parameter;
    const uint32_t pad_y = narrow(w.padding[0]), pad_x = narrow(w.padding[1]);
    const uint32_t kernel_y = narrow(w.kernel[0]), kernel_x = narrow(w.kernel[1]);
    const uint32_t stride_y = narrow(w.stride[0]), stride_x = narrow(w.stride[1]);
    const size_t channels = size(shape.channels);
    const bool max = shape.kind == Pool::Kind::max;
    xnn_operator_t op = nullptr;
    const auto status =
        max ? xnn_create_max_pooling2d_nhwc_f32(pad_y, pad_x, pad_y, pad_x, kernel_y, kernel_x,
                                                stride_y, stride_x, 1, 1, channels, channels,
                                                channels, -kInfinity, kInfinity, 0, &op)
            : xnn_create_average_pooling2d_nhwc_f32(pad_y, pad_x, pad_y, pad_x, kernel_y, kernel_x,
                                                    stride_y, stride_x, channels, channels,
                                                    channels, -kInfinity, kInfinity, 0, &op);
    if (status != xnn_status_success) return status;
    peer.add(op);
    const auto setup =
        max ? xnn_setup_max_pooling2d_nhwc_f32 : xnn_setup_average_pooling2d_nhwc_f32;
    return setup(op, size(shape.batch), size(w.input[0]), size(w.input[1]), peer.input(),
                 peer.result(), peer.pool());
  }

  xnn_status operator()(const Rows& shape) const {
    if (shape.kind != Rows::Kind::softmax) return xnn_status_unsupported_parameter;
    const size_t width = size(shape.width);
    xnn_operator_t op = nullptr;
    const auto status = xnn_create_softmax_nc_f32(width, width, width, 0, &op);
    if (status != xnn_status_success) return status;
    peer.add(op);
    return xnn_setup_softmax_nc_f32(op, size(shape.rows), peer.input(), peer.result(), peer.pool());
  }

  xnn_status operator()(const Elementwise& shape) const {
    using Function = Elementwise::Function;
    xnn_operator_t op = nullptr;
    if (shape.function == Function::relu) {
      const auto status = xnn_create_clamp_nc_f32(1, 1, 1, 0.0f, kInfinity, 0, &op);
      if (status != xnn_status_success) return status;
      peer.add(op);
      return xnn_setup_clamp_nc_f32(op, size(shape.count), peer.input(), peer.result(),
                                    peer.pool());
    }
    if (shape.function != Function::sigmoid) return xnn_status_unsupported_parameter;
    const auto status = xnn_create_sigmoid_nc_f32(1, 1, 1, 0, &op);
    if (status != xnn_status_success) return status;
    peer.add(op);
    return xnn_setup_sigmoid_nc_f32(op, size(shape.count), peer.input(), peer.result(),
                                    peer.pool());
  }
};

}  // namespace

Result<MaybePeer> prepare_xnnpack(const Shape& shape, const Inputs& inputs, int threads) {
  if (const auto status = xnn_initialize(nullptr); status != xnn_status_success)
    return fail("XNNPACK: initialise: status {}", static_cast<int>(status));
  auto peer = std::make_unique<XnnpackPeer>(shape, inputs, threads);
  const xnn_status status = std::visit(Creator{*peer, inputs}, shape);
  if (status == xnn_status_unsupported_parameter) return nullptr;
  if (status != xnn_status_success)
    return fail("XNNPACK: prepare: status {}", static_cast<int>(status));
  return peer;
}

}  // namespace hone::bench
