// SPDX-License-Identifier: Apache-2.0
//
// oneDNN. Each case becomes one primitive; constants are reordered into the layout that the
// primitive asks for when it is prepared, bias and relu are part of the primitive. A batch norm
// never arrives here: it is folded into weights and bias, as a deployed model has it
// (case_toml.cpp). Winograd is not asked for, so a result differs from the formula only by its
// order of sums.
#include <numeric>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <vector>

#include "peers/libraries.h"

// Of libgomp, which Debian's oneDNN runs on; the header that declares it comes with GCC only.
extern "C" void omp_set_num_threads(int count);

namespace hone::bench {
namespace {

using Descriptor = dnnl::memory::desc;
using Dims = dnnl::memory::dims;

constexpr auto kFloat = dnnl::memory::data_type::f32;
constexpr auto kAnyLayout = dnnl::memory::format_tag::any;

Dims row_major(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (size_t axis = dims.size() - 1; axis-- > 0;)
    strides[axis] = strides[axis + 1] * dims[axis + 1];
  return strides;
}

Descriptor dense(const Dims& dims) { return Descriptor(dims, kFloat, row_major(dims)); }
Descriptor any(const Dims& dims) { return Descriptor(dims, kFloat, kAnyLayout); }

// {N, C, spatial…} as oneDNN names the axes, channels last in memory.
Descriptor channels_last(int64_t batch, int64_t channels, const Dims& spatial) {
  Dims dims{batch, channels};
  dims.insert(dims.end(), spatial.begin(), spatial.end());
  Dims strides(dims.size());
  int64_t stride = channels;
  for (size_t axis = dims.size(); axis-- > 2;) {
    strides[axis] = stride;
    stride *= dims[axis];
  }
  strides[0] = stride;
  strides[1] = 1;
  return Descriptor(dims, kFloat, strides);
}

// {[G,] O, I, kernel…} over memory that holds kernel…, I, O.
Descriptor convolution_weights(const Convolution& shape) {
  const int64_t group_channels = shape.channels / shape.groups;
  Dims dims, strides;
  if (shape.groups > 1) {
    dims = {shape.groups, shape.filters / shape.groups, group_channels};
    strides = {shape.filters / shape.groups, 1, shape.filters};
  } else {
    dims = {shape.filters, group_channels};
    strides = {1, shape.filters};
  }
  const size_t first = dims.size();
  for (const int64_t extent : shape.window.kernel) dims.push_back(extent);
  strides.resize(dims.size());
  int64_t stride = group_channels * shape.filters;
  for (size_t axis = dims.size(); axis-- > first;) {
    strides[axis] = stride;
    stride *= dims[axis];
  }
  return Descriptor(dims, kFloat, strides);
}

// What a case asks of oneDNN: a primitive, and each argument as the files lay it out beside how the
// primitive wants it.
struct Argument {
  int kind;  // DNNL_ARG_…
  Descriptor given;
  Descriptor wanted;
  size_t input;  // index into Inputs
};

struct Plan {
  dnnl::primitive primitive;
  std::vector<Argument> arguments;
  Descriptor result_wanted;  // as the files lay it out
  Descriptor result;
};

class OnednnPeer : public PreparedPeer {
 public:
  OnednnPeer(dnnl::engine engine, const Plan& plan, const Inputs& inputs, int threads)
      : engine_(engine),
        stream_(engine),
        primitive_(plan.primitive),
        result_(plan.result, engine),
        result_wanted_(plan.result_wanted),
        threads_(threads) {
    for (const Argument& argument : plan.arguments) {
      // The library's interface takes a pointer to mutable data also for what it only reads.
      dnnl::memory given(argument.given, engine, const_cast<float*>(inputs[argument.input].data()));
      memories_.emplace_back(argument.wanted, engine);
      dnnl::reorder(given, memories_.back()).execute(stream_, given, memories_.back());
      arguments_.push_back({argument.kind, memories_.back().get()});
    }
    stream_.wait();
    arguments_.push_back({DNNL_ARG_DST, result_.get()});
  }

  Result<void> run() override {
    omp_set_num_threads(threads_);
    // The C call: the C++ one builds a map and an array from it at each run.
    const dnnl_status_t status = dnnl_primitive_execute(
        primitive_.get(), stream_.get(), static_cast<int>(arguments_.size()), arguments_.data());
    if (status != dnnl_success) return fail("oneDNN: run: status {}", static_cast<int>(status));
    return {};
  }

  Result<std::vector<float>> output() override {
    try {
      std::vector<float> values(result_wanted_.get_size() / sizeof(float));
      dnnl::memory wanted(result_wanted_, engine_, values.data());
      dnnl::reorder(result_, wanted).execute(stream_, result_, wanted);
      stream_.wait();
      return values;
    } catch (const dnnl::error& error) {
      return fail("oneDNN: output: {}", error.what());
    }
  }

 private:
  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::primitive primitive_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
  dnnl::memory result_;
  Descriptor result_wanted_;
  int threads_;
};

dnnl::primitive_attr attributes(const Epilogue& epilogue) {
  dnnl::primitive_attr result;
  if (epilogue.relu) {
    dnnl::post_ops after;
    after.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
    result.set_post_ops(after);
  }
  return result;
}

struct Planner {
  dnnl::engine engine;
  bool free_layout;

  Descriptor layout(const Descriptor& given) const {
    return free_layout ? any(given.dims()) : given;
  }

  // Forward and transposed convolution differ only in names.
  template <typename Primitive>
  Plan plan_convolution(const Convolution& shape, dnnl::algorithm algorithm) const {
    const Window& window = shape.window;
    Dims output, dilation, far_padding;
    for (size_t axis = 0; axis < window.axes(); ++axis) {
      output.push_back(shape.output(axis));
      dilation.push_back(window.dilation[axis] - 1);
      // The floor in the output's extent may leave part of the padding unread.
      far_padding.push_back(shape.transposed
                                ? window.padding[axis]
                                : (output[axis] - 1) * window.stride[axis] + window.reach(axis) -
                                      window.input[axis] - window.padding[axis]);
    }
    const Descriptor source = channels_last(shape.batch, shape.channels, window.input);
    const Descriptor result = channels_last(shape.batch, shape.filters, output);
    const Descriptor weights = convolution_weights(shape);
    const Descriptor bias = dense({shape.filters});
    using Desc = typename Primitive::desc;
    const auto inference = dnnl::prop_kind::forward_inference;
    const Desc desc =
        shape.epilogue.bias
            ? Desc(inference, algorithm, layout(source), any(weights.dims()), bias, layout(result),
                   window.stride, dilation, window.padding, far_padding)
            : Desc(inference, algorithm, layout(source), any(weights.dims()), layout(result),
                   window.stride, dilation, window.padding, far_padding);
    const typename Primitive::primitive_desc chosen(desc, attributes(shape.epilogue), engine);
    Plan plan{Primitive(chosen),
              {{DNNL_ARG_SRC, source, chosen.src_desc(), 0},
               {DNNL_ARG_WEIGHTS, weights, chosen.weights_desc(), 1}},
              result,
              chosen.dst_desc()};
    if (shape.epilogue.bias) plan.arguments.push_back({DNNL_ARG_BIAS, bias, bias, 2});
    return plan;
  }

  Plan operator()(const Convolution& shape) const {
    return shape.transposed ? plan_convolution<dnnl::deconvolution_forward>(
                                  shape, dnnl::algorithm::deconvolution_direct)
                            : plan_convolution<dnnl::convolution_forward>(
                                  shape, dnnl::algorithm::convolution_direct);
  }

  Plan operator()(const Matmul& shape) const {
    const auto matrix = [&](int64_t rows, int64_t columns, const Matmul::Strides& strides) {
      if (shape.batch == 1)
        return Descriptor({rows, columns}, kFloat, {strides.row, strides.column});
      return Descriptor({shape.batch, rows, columns}, kFloat,
                        {strides.batch, strides.row, strides.column});
    };
    const Descriptor a = matrix(shape.m, shape.k, shape.a);
    const Descriptor b = matrix(shape.k, shape.n, shape.b);
    const Descriptor c = matrix(shape.m, shape.n, {shape.m * shape.n, shape.n, 1});
    Dims bias_dims(c.dims().size(), 1);
    bias_dims.back() = shape.n;
    const Descriptor bias = dense(bias_dims);
    const Descriptor b_asked = shape.constant_b ? any(b.dims()) : b;
    const dnnl::matmul::desc desc = shape.epilogue.bias ? dnnl::matmul::desc(a, b_asked, bias, c)
                                                        : dnnl::matmul::desc(a, b_asked, c);
    const dnnl::matmul::primitive_desc chosen(desc, attributes(shape.epilogue), engine);
    Plan plan{
        dnnl::matmul(chosen),
        {{DNNL_ARG_SRC, a, chosen.src_desc(), 0}, {DNNL_ARG_WEIGHTS, b, chosen.weights_desc(), 1}},
        c,
        chosen.dst_desc()};
    if (shape.epilogue.bias) plan.arguments.push_back({DNNL_ARG_BIAS, bias, bias, 2});
    return plan;
  }

  Plan operator()(const Pool& shape) const {
    const Window& window = shape.window;
    Dims output, far_padding;
    for (size_t axis = 0; axis < window.axes(); ++axis) {
      output.push_back(window.output(axis));
      far_padding.push_back((output[axis] - 1) * window.stride[axis] + window.kernel[axis] -
                            window.input[axis] - window.padding[axis]);
    }
    const Descriptor source = channels_last(shape.batch, shape.channels, window.input);
    const Descriptor result = channels_last(shape.batch, shape.channels, output);
    // The library has no free choice of the source here; channels-last serves both modes.
    const dnnl::pooling_forward::desc desc(
        dnnl::prop_kind::forward_inference,
        shape.kind == Pool::Kind::max ? dnnl::algorithm::pooling_max
                                      : dnnl::algorithm::pooling_avg_exclude_padding,
        source, result, window.stride, window.kernel, window.padding, far_padding);
    const dnnl::pooling_forward::primitive_desc chosen(desc, engine);
    return {dnnl::pooling_forward(chosen), {{DNNL_ARG_SRC, source, source, 0}}, result, result};
  }

  Plan operator()(const Rows& shape) const {
    const auto inference = dnnl::prop_kind::forward_inference;
    const Descriptor source = dense({shape.rows, shape.width});
    const Argument rows{DNNL_ARG_SRC, source, source, 0};
    if (shape.kind == Rows::Kind::softmax) {
      const dnnl::softmax_forward::primitive_desc chosen({inference, source, 1}, engine);
      return {dnnl::softmax_forward(chosen), {rows}, source, source};
    }
    const Descriptor vector = dense({shape.width});
    const dnnl::layer_normalization_forward::primitive_desc chosen(
        {inference, source, static_cast<float>(shape.epsilon),
         dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift},
        engine);
    return {dnnl::layer_normalization_forward(chosen),
            {rows, {DNNL_ARG_SCALE, vector, vector, 1}, {DNNL_ARG_SHIFT, vector, vector, 2}},
            source,
            source};
  }

  Plan operator()(const Elementwise& shape) const {
    const auto algorithm = [&] {
      switch (shape.function) {
        case Elementwise::Function::relu:
          return dnnl::algorithm::eltwise_relu;
        case Elementwise::Function::gelu:
          return dnnl::algorithm::eltwise_gelu_erf;
        case Elementwise::Function::sigmoid:
          return dnnl::algorithm::eltwise_logistic;
        case Elementwise::Function::tanh:
          return dnnl::algorithm::eltwise_tanh;
      }
      ENSURE(false, "function {}", static_cast<int>(shape.function));
      return dnnl::algorithm::undef;
    }();
    const Descriptor flat = dense({shape.count});
    const dnnl::eltwise_forward::primitive_desc chosen(
        {dnnl::prop_kind::forward_inference, algorithm, flat, 0.0f, 0.0f}, engine);
    return {dnnl::eltwise_forward(chosen), {{DNNL_ARG_SRC, flat, flat, 0}}, flat, flat};
  }
};

// The library's norm reduction is its plain reference loop: some hundred times slower than others
// and, adding in one float, wrong in the third digit at a few million elements. Not a peer.
bool offered(const Shape& shape) {
  const auto* rows = std::get_if<Rows>(&shape);
  return !rows || rows->kind != Rows::Kind::norm;
}

Result<MaybePeer> prepare(const Shape& shape, const Inputs& inputs, int threads, bool free_layout) {
  if (!offered(shape)) return nullptr;
  omp_set_num_threads(threads);
  try {
    const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    const Plan plan = std::visit(Planner{engine, free_layout}, shape);
    return std::make_unique<OnednnPeer>(engine, plan, inputs, threads);
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_unimplemented) return nullptr;
    return fail("oneDNN: prepare: {}", error.what());
  }
}

}  // namespace

Result<MaybePeer> prepare_onednn(const Shape& shape, const Inputs& inputs, int threads) {
  return prepare(shape, inputs, threads, true);
}

// Only convolutions have a layout to choose; for the rest this would be the same measurement again.
Result<MaybePeer> prepare_onednn_nhwc(const Shape& shape, const Inputs& inputs, int threads) {
  if (!std::holds_alternative<Convolution>(shape)) return nullptr;
  return prepare(shape, inputs, threads, false);
}

}  // namespace hone::bench
