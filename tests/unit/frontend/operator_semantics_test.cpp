// SPDX-License-Identifier: Apache-2.0
//
// Every operator of the library, its Program run naively, against loops that are written out here,
// on small odd shapes and in every type that makes sense.
#include <doctest/doctest.h>

#include <cmath>

#include "frontend/fills.h"
#include "reference.h"

namespace hone {
namespace {

using Index = std::vector<int64_t>;
using Ints = std::vector<int64_t>;

constexpr uint64_t kSeed = 1977;

struct Run {
  Graph graph;
  Arrays inputs;
  Array result;  // of the last output
};

OperatorCall call(const std::string& op, std::vector<Attribute> attributes) {
  return {op, "test", {1, 1}, std::move(attributes)};
}
Attribute attribute(const std::string& name, AttributeValue value) {
  return {name, std::move(value), {1, 1}};
}

Run run(const std::vector<OperatorCall>& chain, int64_t most) {
  Run run;
  auto graph = graph_of_operators(chain);
  REQUIRE_MESSAGE(graph.has_value(), graph.error().message);
  run.graph = std::move(*graph);
  Rng rng(kSeed);
  run.inputs = random_inputs(run.graph, most, rng);
  const Arrays outputs = run_naively(run.graph, run.inputs);
  REQUIRE(outputs.size() == 1);
  run.result = outputs.begin()->second;
  return run;
}

DType result_type(const Run& run) {
  for (const GraphTensor& tensor : run.graph.tensors)
    if (tensor.output) return tensor.dtype;
  return DType::f32;
}

void check_equal(const Array& got, const Array& want) {
  REQUIRE(got.shape == want.shape);
  for (size_t i = 0; i < want.data.size(); ++i)
    if (got.data[i] != want.data[i]) {
      CAPTURE(i);
      CHECK(got.data[i] == want.data[i]);
      return;
    }
  CHECK(!want.data.empty());
}

void check_near(const Array& got, const Array& want, double tolerance) {
  REQUIRE(got.shape == want.shape);
  for (size_t i = 0; i < want.data.size(); ++i) {
    const double allowed = tolerance * std::max(1.0, std::fabs(want.data[i]));
    if (!(std::fabs(got.data[i] - want.data[i]) <= allowed)) {
      CAPTURE(i);
      CHECK(got.data[i] == want.data[i]);
      return;
    }
  }
  CHECK(!want.data.empty());
}

struct TypeCase {
  const char* name;
  DType result;
  int64_t most;  // keeps sums exact
};
const TypeCase kTypes[] = {
    {"f32", DType::f32, 8},   {"f64", DType::f64, 8},   {"f16", DType::f32, 8},
    {"bf16", DType::f32, 8},  {"i8", DType::i32, 127},  {"u8", DType::i32, 255},
    {"i16", DType::i32, 999}, {"i32", DType::i32, 999},
};

// -- matrices
// ----------------------------------------------------------------------------------------

TEST_CASE("matmul and dense") {
  for (const TypeCase& type : kTypes) {
    CAPTURE(type.name);
    for (const std::string op : {"matmul", "dense"}) {
      const Run r = run({call(op, {attribute("m", 3), attribute("n", 5), attribute("k", 7),
                                   attribute("dtype", type.name)})},
                        type.most);
      CHECK(result_type(r) == type.result);
      const Array& a = r.inputs.at("A");
      const Array& b = r.inputs.at("B");
      Array want({3, 5});
      for (int64_t i = 0; i < 3; ++i)
        for (int64_t j = 0; j < 5; ++j) {
          for (int64_t k = 0; k < 7; ++k) want({i, j}) += a({i, k}) * b({k, j});
          if (op == "dense") want({i, j}) += r.inputs.at("bias")({j});
        }
      check_equal(r.result, want);
    }
  }
}

TEST_CASE("an accumulator that is asked for") {
  const Run r = run({call("matmul", {attribute("m", 3), attribute("n", 5), attribute("k", 7),
                                     attribute("dtype", "i8"), attribute("accumulator", "i16")})},
                    10);
  CHECK(result_type(r) == DType::i16);
  const Run half =
      run({call("matmul", {attribute("m", 3), attribute("n", 5), attribute("k", 7),
                           attribute("dtype", "f16"), attribute("accumulator", "f16")})},
          4);
  CHECK(result_type(half) == DType::f16);
}

TEST_CASE("batch_matmul and transpose_batch_matmul") {
  for (const TypeCase& type : kTypes) {
    CAPTURE(type.name);
    const Run r =
        run({call("batch_matmul", {attribute("batch", 2), attribute("m", 3), attribute("n", 4),
                                   attribute("k", 5), attribute("dtype", type.name)})},
            type.most);
    const Array& a = r.inputs.at("A");
    const Array& b = r.inputs.at("B");
    Array want({2, 3, 4});
    each({2, 3, 4, 5}, [&](const Index& at) {
      want({at[0], at[1], at[2]}) += a({at[0], at[1], at[3]}) * b({at[0], at[3], at[2]});
    });
    check_equal(r.result, want);

    const Run t = run({call("transpose_batch_matmul",
                            {attribute("batch", 2), attribute("seq", 3), attribute("heads", 2),
                             attribute("dim", 5), attribute("dtype", type.name)})},
                      type.most);
    Array scores({2, 2, 3, 3});
    each({2, 2, 3, 3, 5}, [&](const Index& at) {
      scores({at[0], at[1], at[2], at[3]}) += t.inputs.at("Q")({at[0], at[2], at[1], at[4]}) *
                                              t.inputs.at("K")({at[0], at[3], at[1], at[4]});
    });
    check_equal(t.result, scores);
  }
}

// -- convolutions
// ------------------------------------------------------------------------------------

struct ConvCase {
  Ints input;  // N, spatial…, C
  int64_t filters;
  Ints kernel, stride, padding, dilation;  // padding: before and after a dimension
  int64_t groups;
};

Array direct_convolution(const ConvCase& c, const Array& x, const Array& w) {
  const size_t dimensions = c.kernel.size();
  Ints out = {c.input[0]};
  for (size_t d = 0; d < dimensions; ++d) {
    const int64_t padded = c.input[d + 1] + c.padding[2 * d] + c.padding[2 * d + 1];
    out.push_back((padded - c.dilation[d] * (c.kernel[d] - 1) - 1) / c.stride[d] + 1);
  }
  out.push_back(c.filters);
  const int64_t channels = c.input.back() / c.groups;
  Ints taps = c.kernel;
  taps.push_back(channels);
  Array result(out);
  each(out, [&](const Index& at) {
    each(taps, [&](const Index& tap) {
      Index from = {at[0]};
      Index weight;
      for (size_t d = 0; d < dimensions; ++d) {
        from.push_back(at[d + 1] * c.stride[d] + tap[d] * c.dilation[d] - c.padding[2 * d]);
        weight.push_back(tap[d]);
      }
      const int64_t group = at.back() / (c.filters / c.groups);
      from.push_back(group * channels + tap.back());
      weight.push_back(tap.back());
      weight.push_back(at.back());
      result(at) += x.or_zero(from) * w(weight);
    });
  });
  return result;
}

TEST_CASE("convolutions of 1, 2 and 3 dimensions") {
  const ConvCase cases[] = {
      {{2, 9, 3}, 4, {3}, {2}, {1, 1}, {1}, 1},
      {{1, 9, 4}, 6, {2}, {1}, {0, 2}, {3}, 2},
      {{1, 6, 7, 3}, 5, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 1},
      {{2, 6, 7, 4}, 6, {3, 2}, {2, 1}, {1, 0, 2, 1}, {1, 2}, 2},
      {{1, 5, 5, 4}, 4, {1, 1}, {2, 2}, {0, 0, 0, 0}, {1, 1}, 1},
      {{1, 5, 5, 4}, 4, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 4},
      {{1, 5, 5, 1}, 3, {1, 3}, {1, 1}, {0, 0, 1, 1}, {1, 1}, 1},
      {{1, 1, 1, 1}, 1, {1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}, 1},
      {{1, 3, 4, 5, 2}, 3, {2, 3, 3}, {1, 2, 1}, {1, 0, 1, 1, 1, 1}, {1, 1, 2}, 1},
  };
  for (const ConvCase& c : cases)
    for (const TypeCase& type : kTypes) {
      CAPTURE(type.name);
      const std::string op = c.kernel.size() == 1   ? "conv1d"
                             : c.kernel.size() == 2 ? "conv2d"
                                                    : "conv3d";
      const Run r =
          run({call(op, {attribute("input", c.input), attribute("filters", c.filters),
                         attribute("kernel", c.kernel), attribute("stride", c.stride),
                         attribute("padding", c.padding), attribute("dilation", c.dilation),
                         attribute("groups", c.groups), attribute("dtype", type.name)})},
              type.most);
      CHECK(result_type(r) == type.result);
      check_equal(r.result, direct_convolution(c, r.inputs.at("X"), r.inputs.at("W")));
    }
}

TEST_CASE("depthwise convolution") {
  for (const int64_t multiplier : {1, 3})
    for (const TypeCase& type : kTypes) {
      CAPTURE(type.name);
      const Run r =
          run({call("depthwise_conv2d",
                    {attribute("input", Ints{2, 6, 5, 3}), attribute("kernel", Ints{3, 2}),
                     attribute("stride", 2), attribute("padding", 1),
                     attribute("multiplier", multiplier), attribute("dtype", type.name)})},
              type.most);
      const Array& x = r.inputs.at("X");
      const Array& w = r.inputs.at("W");
      Array want({2, 3, 3, 3 * multiplier});
      each({2, 3, 3, 3, multiplier, 3, 2}, [&](const Index& at) {
        const Index tap =
            multiplier == 1 ? Index{at[5], at[6], at[3]} : Index{at[5], at[6], at[3], at[4]};
        want({at[0], at[1], at[2], at[3] * multiplier + at[4]}) +=
            x.or_zero({at[0], at[1] * 2 + at[5] - 1, at[2] * 2 + at[6] - 1, at[3]}) * w(tap);
      });
      check_equal(r.result, want);
    }
}

TEST_CASE("transposed convolution scatters") {
  struct Case {
    int64_t kernel, stride, before, after;
  };
  for (const Case c : {Case{4, 2, 1, 1}, Case{3, 1, 0, 0}, Case{3, 3, 2, 1}, Case{1, 2, 0, 0},
                       Case{2, 3, 0, 1}, Case{1, 1, 0, 0}})
    for (const TypeCase& type : kTypes) {
      CAPTURE(type.name);
      CAPTURE(c.kernel);
      CAPTURE(c.stride);
      const Run r = run({call("conv2d_transpose",
                              {attribute("input", Ints{2, 4, 3, 3}), attribute("filters", 2),
                               attribute("kernel", c.kernel), attribute("stride", c.stride),
                               attribute("padding", Ints{c.before, c.after, c.before, c.after}),
                               attribute("dtype", type.name)})},
                        type.most);
      const auto extent = [&](int64_t in) {
        return (in - 1) * c.stride + c.kernel - c.before - c.after;
      };
      Array want({2, extent(4), extent(3), 2});
      each({2, 4, 3, 3, c.kernel, c.kernel, 2}, [&](const Index& at) {
        const Index to = {at[0], at[1] * c.stride + at[4] - c.before,
                          at[2] * c.stride + at[5] - c.before, at[6]};
        if (want.is_inside(to))
          want(to) += r.inputs.at("X")({at[0], at[1], at[2], at[3]}) *
                      r.inputs.at("W")({at[4], at[5], at[3], at[6]});
      });
      check_equal(r.result, want);
    }
}

TEST_CASE("capsule convolution") {
  for (const int64_t padding : {0, 1}) {
    const Run r =
        run({call("conv2d_capsule", {attribute("input", Ints{1, 5, 4, 2}), attribute("filters", 3),
                                     attribute("kernel", 3), attribute("stride", 2),
                                     attribute("capsule", 2), attribute("padding", padding)})},
            8);
    const int64_t height = (5 + 2 * padding - 3) / 2 + 1;
    const int64_t width = (4 + 2 * padding - 3) / 2 + 1;
    Array want({1, height, width, 2, 2, 3});
    each({height, width, 2, 2, 3, 3, 3, 2, 2}, [&](const Index& at) {
      want({0, at[0], at[1], at[2], at[3], at[4]}) +=
          r.inputs.at("X").or_zero(
              {0, at[0] * 2 + at[5] - padding, at[1] * 2 + at[6] - padding, at[2], at[7], at[8]}) *
          r.inputs.at("W")({at[5], at[6], at[7], at[3], at[8], at[4]});
    });
    check_equal(r.result, want);
  }
}

// -- pools
// -------------------------------------------------------------------------------------------

TEST_CASE("pools ignore what lies outside") {
  for (const std::string type : {"f32", "f16", "i8", "u8", "i32"})
    for (const int64_t padding : {0, 1})
      for (const std::string op : {"max_pool2d", "avg_pool2d"}) {
        CAPTURE(type);
        CAPTURE(op);
        const Run r = run({call(op, {attribute("input", Ints{2, 7, 6, 3}),
                                     attribute("kernel", Ints{3, 2}), attribute("stride", 2),
                                     attribute("padding", padding), attribute("dtype", type)})},
                          100);
        const Array& x = r.inputs.at("X");
        Array want({2, (7 + 2 * padding - 3) / 2 + 1, (6 + 2 * padding - 2) / 2 + 1, 3});
        each(want.shape, [&](const Index& at) {
          double most = -INFINITY, sum = 0, count = 0;
          each({3, 2}, [&](const Index& tap) {
            const Index from = {at[0], at[1] * 2 + tap[0] - padding, at[2] * 2 + tap[1] - padding,
                                at[3]};
            if (!x.is_inside(from)) return;
            most = std::max(most, x(from));
            sum += x(from);
            ++count;
          });
          want(at) = op == "max_pool2d" ? most
                     : type[0] == 'f'   ? sum / count
                                        : std::floor(sum / count + 0.5);
        });
        if (op == "max_pool2d" || type[0] != 'f')
          check_equal(r.result, want);
        else
          check_near(r.result, want, type == "f16" ? 1e-3 : 1e-6);
      }
}

// -- rows
// --------------------------------------------------------------------------------------------

TEST_CASE("softmax, layer_norm and norm") {
  for (const auto& [type, tolerance] : {std::pair<std::string, double>{"f32", 1e-5},
                                        {"f64", 1e-12},
                                        {"f16", 2e-3},
                                        {"bf16", 2e-2}}) {
    CAPTURE(type);
    const Run s =
        run({call("softmax", {attribute("m", 3), attribute("n", 7), attribute("dtype", type)})}, 4);
    const Run l = run({call("layer_norm", {attribute("m", 3), attribute("n", 7),
                                           attribute("epsilon", 0.5), attribute("dtype", type)})},
                      4);
    Array soft({3, 7}), normed({3, 7});
    for (int64_t i = 0; i < 3; ++i) {
      double total = 0, sum = 0, squares = 0;
      for (int64_t j = 0; j < 7; ++j) {
        total += std::exp(s.inputs.at("X")({i, j}));
        sum += l.inputs.at("X")({i, j});
      }
      for (int64_t j = 0; j < 7; ++j) squares += std::pow(l.inputs.at("X")({i, j}) - sum / 7, 2);
      for (int64_t j = 0; j < 7; ++j) {
        soft({i, j}) = std::exp(s.inputs.at("X")({i, j})) / total;
        normed({i, j}) = (l.inputs.at("X")({i, j}) - sum / 7) / std::sqrt(squares / 7 + 0.5) *
                             l.inputs.at("gamma")({j}) +
                         l.inputs.at("beta")({j});
      }
    }
    check_near(s.result, soft, tolerance);
    check_near(l.result, normed, tolerance);

    const Run n = run({call("norm", {attribute("batch", 2), attribute("m", 3), attribute("n", 5),
                                     attribute("dtype", type)})},
                      4);
    Array root({2});
    each({2, 3, 5}, [&](const Index& at) { root({at[0]}) += std::pow(n.inputs.at("X")(at), 2); });
    for (double& value : root.data) value = std::sqrt(value);
    check_near(n.result, root, tolerance);
  }
}

TEST_CASE("embedding") {
  for (const std::string type : {"f32", "f16", "i8"}) {
    const Run r = run({call("embedding", {attribute("rows", 10), attribute("width", 4),
                                          attribute("count", 6), attribute("dtype", type)})},
                      100);
    Array want({6, 4});
    each({6, 4}, [&](const Index& at) {
      const double row = r.inputs.at("index")({at[0]});
      want(at) = r.inputs.at("table")({static_cast<int64_t>(row), at[1]});
    });
    check_equal(r.result, want);
  }
}

// -- elements
// ----------------------------------------------------------------------------------------

TEST_CASE("functions of one value") {
  const std::map<std::string, std::function<double(double)>> functions = {
      {"relu", [](double x) { return std::max(x, 0.0); }},
      {"relu6", [](double x) { return std::min(std::max(x, 0.0), 6.0); }},
      {"leaky_relu", [](double x) { return x > 0 ? x : 0.01 * x; }},
      {"abs", [](double x) { return std::fabs(x); }},
      {"neg", [](double x) { return -x; }},
      {"square", [](double x) { return x * x; }},
      {"exp", [](double x) { return std::exp(x); }},
      {"log", [](double x) { return std::log(x); }},
      {"sqrt", [](double x) { return std::sqrt(x); }},
      {"rsqrt", [](double x) { return 1 / std::sqrt(x); }},
      {"tanh", [](double x) { return std::tanh(x); }},
      {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"erf", [](double x) { return std::erf(x); }},
      {"floor", [](double x) { return std::floor(x); }},
      {"ceil", [](double x) { return std::ceil(x); }},
      {"round", [](double x) { return std::nearbyint(x); }},
      {"gelu", [](double x) { return x * 0.5 * (1 + std::erf(x / std::sqrt(2))); }},
      {"silu", [](double x) { return x / (1 + std::exp(-x)); }},
      {"hard_swish", [](double x) { return x * std::min(std::max(x + 3, 0.0), 6.0) / 6; }},
  };
  CHECK(functions.size() == point_functions().size());
  for (const PointFunction& row : point_functions()) {
    const std::string name(row.name);
    CAPTURE(name);
    auto graph = graph_of_operators({call(name, {attribute("shape", Ints{3, 5})})});
    REQUIRE_MESSAGE(graph.has_value(), graph.error().message);
    Array x({3, 5});
    const bool positive = name == "log" || name.ends_with("sqrt");
    for (size_t i = 0; i < x.data.size(); ++i)
      x.data[i] = (static_cast<double>(i) - (positive ? -1 : 7)) * 0.75;
    Array want = x;
    for (double& value : want.data) value = functions.at(name)(value);
    check_near(run_naively(*graph, {{"X", x}}).begin()->second, want, 1e-6);
  }
  // The same as an attribute, and of integers.
  const Run r =
      run({call("elementwise", {attribute("shape", Ints{7}), attribute("function", "relu6"),
                                attribute("dtype", "i16")})},
          100);
  Array want = r.inputs.at("X");
  for (double& value : want.data) value = std::min(std::max(value, 0.0), 6.0);
  check_equal(r.result, want);
}

TEST_CASE("what follows a convolution") {
  const ConvCase c{{1, 5, 6, 3}, 4, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 1};
  const Run r =
      run({call("conv2d", {attribute("input", c.input), attribute("filters", 4),
                           attribute("kernel", 3), attribute("padding", 1)}),
           call("bias", {}), call("batch_norm", {}), call("add", {}), call("multiply", {}),
           call("relu", {}), call("cast", {attribute("to", "f64")})},
          3);
  CHECK(result_type(r) == DType::f64);
  Array want = direct_convolution(c, r.inputs.at("X"), r.inputs.at("W"));
  each(want.shape, [&](const Index& at) {
    const Index channel = {at[3]};
    double value = want(at) + r.inputs.at("bias")(channel);
    value = value * r.inputs.at("scale")(channel) + r.inputs.at("shift")(channel);
    value = (value + r.inputs.at("R")(at)) * r.inputs.at("R2")(at);
    want(at) = std::max(value, 0.0);
  });
  check_equal(r.result, want);
}

TEST_CASE("a quantised layer") {
  const Run r = run({call("matmul", {attribute("m", 5), attribute("n", 6), attribute("k", 9),
                                     attribute("dtype", "i8")}),
                     call("bias", {}),
                     call("requantize", {attribute("multiplier", 4099), attribute("shift", 19),
                                         attribute("zero_point", -3)})},
                    127);
  CHECK(result_type(r) == DType::i8);
  Array want({5, 6});
  size_t clamped = 0;
  each(want.shape, [&](const Index& at) {
    double sum = r.inputs.at("bias")({at[1]});
    for (int64_t k = 0; k < 9; ++k)
      sum += r.inputs.at("A")({at[0], k}) * r.inputs.at("B")({k, at[1]});
    const double scaled = std::floor((sum * 4099 + std::ldexp(1, 18)) / std::ldexp(1, 19)) - 3;
    want(at) = std::min(std::max(scaled, -128.0), 127.0);
    clamped += want(at) != scaled;
  });
  CHECK(clamped > 0);
  CHECK(clamped < want.data.size() / 2);
  check_equal(r.result, want);
}

TEST_CASE("attention scores with a softmax over any rank") {
  const Run r = run({call("transpose_batch_matmul", {attribute("batch", 1), attribute("seq", 4),
                                                     attribute("heads", 2), attribute("dim", 3)}),
                     call("softmax", {})},
                    1);
  Array want({1, 2, 4, 4});
  each({1, 2, 4, 4, 3}, [&](const Index& at) {
    want({0, at[1], at[2], at[3]}) +=
        r.inputs.at("Q")({0, at[2], at[1], at[4]}) * r.inputs.at("K")({0, at[3], at[1], at[4]});
  });
  for (int64_t h = 0; h < 2; ++h)
    for (int64_t i = 0; i < 4; ++i) {
      double total = 0;
      for (int64_t j = 0; j < 4; ++j) total += std::exp(want({0, h, i, j}));
      for (int64_t j = 0; j < 4; ++j) want({0, h, i, j}) = std::exp(want({0, h, i, j})) / total;
    }
  check_near(r.result, want, 1e-6);
}

TEST_CASE("fills are within what is exact") {
  auto graph = graph_of_operators(
      {call("matmul", {attribute("m", 2), attribute("n", 2), attribute("k", 300),
                       attribute("dtype", "f16"), attribute("accumulator", "f16")})});
  REQUIRE(graph.has_value());
  const auto check = plan_answer_check(*graph);
  REQUIRE(check.has_value());
  CHECK(check->exact);
  Rng rng(kSeed);
  const Arrays inputs = random_inputs(*graph, 1000, rng);
  Array want({2, 2});
  each({2, 2, 300}, [&](const Index& at) {
    want({at[0], at[1]}) += inputs.at("A")({at[0], at[2]}) * inputs.at("B")({at[2], at[1]});
  });
  check_equal(run_naively(*graph, inputs).begin()->second, want);
}

}  // namespace
}  // namespace hone
