// SPDX-License-Identifier: Apache-2.0
#include "peers/case_toml.h"

#include <array>
#include <functional>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include <toml++/toml.h>

#include "base/text.h"

namespace hone::bench {
namespace {

// One operator's table: typed reads that remember the first fault, so that a shape can be written
// as one expression and checked once.
class Fields {
 public:
  Fields(const toml::table& table, std::string where) : table_(table), where_(std::move(where)) {}

  std::string text(std::string_view key) {
    if (const auto value = table_[key].value<std::string>()) return *value;
    return missing(key, "a string"), std::string();
  }
  int64_t number(std::string_view key) {
    const auto value = table_[key].value<int64_t>();
    if (value && *value > 0) return *value;
    return missing(key, "a positive integer"), 1;
  }
  // The same with a value for when the key is absent.
  std::string text(std::string_view key, std::string_view otherwise) {
    return table_.contains(key) ? text(key) : std::string(otherwise);
  }
  int64_t number(std::string_view key, int64_t otherwise) {
    return table_.contains(key) ? number(key) : otherwise;
  }
  double decimal(std::string_view key, double otherwise) { return table_[key].value_or(otherwise); }
  std::vector<int64_t> numbers(std::string_view key, size_t count, int64_t least) {
    std::vector<int64_t> result;
    if (const toml::array* array = table_[key].as_array())
      for (const toml::node& node : *array)
        if (const auto value = node.value<int64_t>(); value && *value >= least)
          result.push_back(*value);
    if (result.size() == count) return result;
    missing(key, fmt::format("{} integers from {} on", count, least));
    return std::vector<int64_t>(count, 1);
  }
  // The product of a list of any length.
  int64_t elements(std::string_view key) {
    const toml::array* array = table_[key].as_array();
    const std::vector<int64_t> extents = numbers(key, array ? array->size() : 1, 1);
    return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
  }
  // One integer for every axis, or one an axis; `otherwise`, the least that it can be, when absent.
  std::vector<int64_t> per_axis(std::string_view key, size_t count, int64_t otherwise) {
    if (!table_.contains(key)) return std::vector<int64_t>(count, otherwise);
    if (const auto value = table_[key].value<int64_t>(); value && *value >= otherwise)
      return std::vector<int64_t>(count, *value);
    return numbers(key, count, otherwise);
  }

  const std::string& where() const { return where_; }
  void fault(std::string message) {
    if (!fault_) fault_ = Error{where_ + ": " + std::move(message)};
  }
  Result<void> check() const {
    if (fault_) return std::unexpected(*fault_);
    return {};
  }

 private:
  void missing(std::string_view key, std::string_view wanted) {
    fault(fmt::format("'{}' must be {}", key, wanted));
  }

  const toml::table& table_;
  std::string where_;
  std::optional<Error> fault_;
};

Window read_window(Fields& fields, size_t axes) {
  const std::vector<int64_t> input = fields.numbers("input", axes + 2, 1);
  Window window{{input.begin() + 1, input.end() - 1},
                fields.numbers("kernel", axes, 1),
                fields.per_axis("stride", axes, 1),
                fields.per_axis("padding", axes, 0),
                fields.per_axis("dilation", axes, 1)};
  return window;
}

// The same, refused where nothing of the output would be left.
Window read_sliding_window(Fields& fields, size_t axes) {
  const Window window = read_window(fields, axes);
  for (size_t axis = 0; axis < axes; ++axis)
    if (window.reach(axis) > window.input[axis] + 2 * window.padding[axis])
      fields.fault("the kernel is larger than the padded input");
  return window;
}

template <size_t kAxes>
Shape read_convolution(Fields& fields) {
  const std::vector<int64_t> input = fields.numbers("input", kAxes + 2, 1);
  Convolution shape{.batch = input.front(),
                    .channels = input.back(),
                    .filters = fields.number("filters"),
                    .groups = fields.number("groups", 1),
                    .window = read_sliding_window(fields, kAxes)};
  if (shape.channels % shape.groups != 0 || shape.filters % shape.groups != 0)
    fields.fault("groups must divide channels and filters");
  return shape;
}

Shape read_depthwise(Fields& fields) {
  const std::vector<int64_t> input = fields.numbers("input", 4, 1);
  return Convolution{.batch = input.front(),
                     .channels = input.back(),
                     .filters = input.back() * fields.number("multiplier", 1),
                     .groups = input.back(),
                     .window = read_sliding_window(fields, 2)};
}

Shape read_transposed(Fields& fields) {
  const std::vector<int64_t> input = fields.numbers("input", 4, 1);
  Convolution shape{.batch = input.front(),
                    .channels = input.back(),
                    .filters = fields.number("filters"),
                    .window = read_window(fields, 2),
                    .transposed = true};
  for (size_t axis = 0; axis < 2; ++axis)
    if (shape.output(axis) < 1) fields.fault("the padding leaves nothing of the output");
  return shape;
}

// In N,H,W,i,k,c the row i of the capsule's matrix only rides along, and the column k is summed
// together with the channels: a third axis that the window does not move on, and more channels.
Shape read_capsule(Fields& fields) {
  const std::vector<int64_t> input = fields.numbers("input", 4, 1);
  const int64_t capsule = fields.number("capsule");
  Window window = read_sliding_window(fields, 2);
  window.input.push_back(capsule);
  window.kernel.push_back(1);
  window.stride.push_back(1);
  window.padding.push_back(0);
  window.dilation.push_back(1);
  return Convolution{.batch = input.front(),
                     .channels = input.back() * capsule,
                     .filters = fields.number("filters") * capsule,
                     .window = window};
}

Matmul row_major(int64_t batch, int64_t m, int64_t n, int64_t k) {
  return {.batch = batch, .m = m, .n = n, .k = k, .a = {m * k, k, 1}, .b = {k * n, n, 1}};
}

Matmul constant_product(Fields& fields) {
  Matmul shape = row_major(1, fields.number("m"), fields.number("n"), fields.number("k"));
  shape.constant_b = true;
  return shape;
}

Shape read_matmul(Fields& fields) { return constant_product(fields); }

Shape read_dense(Fields& fields) {
  Matmul shape = constant_product(fields);
  shape.epilogue.bias = fields.text("bias", "yes") == "yes";
  return shape;
}

Shape read_batch_matmul(Fields& fields) {
  return row_major(fields.number("batch"), fields.number("m"), fields.number("n"),
                   fields.number("k"));
}

Shape read_transpose_batch_matmul(Fields& fields) {
  const int64_t seq = fields.number("seq"), heads = fields.number("heads"),
                dim = fields.number("dim");
  if (fields.number("batch") != 1)
    fields.fault("the comparison has transpose_batch_matmul with batch 1 only");
  return Matmul{.batch = heads,
                .m = seq,
                .n = seq,
                .k = dim,
                .a = {dim, heads * dim, 1},
                .b = {dim, 1, heads * dim}};
}

template <Pool::Kind kKind>
Shape read_pool(Fields& fields) {
  const std::vector<int64_t> input = fields.numbers("input", 4, 1);
  return Pool{kKind, input.front(), input.back(), read_sliding_window(fields, 2)};
}

template <Rows::Kind kKind>
Shape read_rows(Fields& fields) {
  return Rows{.kind = kKind,
              .rows = fields.number("m"),
              .width = fields.number("n"),
              .epsilon = fields.decimal("epsilon", 1e-5)};
}

Shape read_norm(Fields& fields) {
  return Rows{.kind = Rows::Kind::norm,
              .rows = fields.number("batch"),
              .width = fields.number("m") * fields.number("n")};
}

Shape read_elementwise(Fields& fields) {
  using Function = Elementwise::Function;
  static constexpr std::array<std::pair<std::string_view, Function>, 4> kFunctions{{
      {"relu", Function::relu},
      {"gelu", Function::gelu},
      {"sigmoid", Function::sigmoid},
      {"tanh", Function::tanh},
  }};
  // A function is also an operator by its own name.
  const std::string op = fields.text("op");
  const std::string name = op == "elementwise" ? fields.text("function") : op;
  const int64_t count = fields.elements("shape");
  for (const auto& [known, function] : kFunctions)
    if (known == name) return Elementwise{function, count};
  fields.fault(fmt::format("the comparison has no function '{}'", name));
  return Elementwise{};
}

struct OperatorReader {
  std::string_view name;
  Shape (*read)(Fields& fields);
};

constexpr std::array kOperators{
    OperatorReader{"matmul", read_matmul},
    OperatorReader{"batch_matmul", read_batch_matmul},
    OperatorReader{"transpose_batch_matmul", read_transpose_batch_matmul},
    OperatorReader{"dense", read_dense},
    OperatorReader{"conv1d", read_convolution<1>},
    OperatorReader{"conv2d", read_convolution<2>},
    OperatorReader{"conv3d", read_convolution<3>},
    OperatorReader{"depthwise_conv2d", read_depthwise},
    OperatorReader{"conv2d_transpose", read_transposed},
    OperatorReader{"conv2d_capsule", read_capsule},
    OperatorReader{"max_pool2d", read_pool<Pool::Kind::max>},
    OperatorReader{"avg_pool2d", read_pool<Pool::Kind::average>},
    OperatorReader{"softmax", read_rows<Rows::Kind::softmax>},
    OperatorReader{"layer_norm", read_rows<Rows::Kind::layer_norm>},
    OperatorReader{"norm", read_norm},
    OperatorReader{"elementwise", read_elementwise},
    OperatorReader{"relu", read_elementwise},
    OperatorReader{"gelu", read_elementwise},
    OperatorReader{"sigmoid", read_elementwise},
    OperatorReader{"tanh", read_elementwise},
};

Result<Shape> read_operator(const toml::table& table, const std::string& where) {
  Fields fields(table, where);
  const std::string name = fields.text("op");
  if (const auto dtype = table["dtype"].value<std::string>(); dtype && *dtype != "f32")
    fields.fault(fmt::format("the comparison has f32 only, not {}", *dtype));
  TRYV(fields.check());
  for (const OperatorReader& reader : kOperators) {
    if (reader.name != name) continue;
    Shape shape = reader.read(fields);
    TRYV(fields.check());
    return shape;
  }
  return fail("{}: the comparison has no operator '{}'", where, name);
}

// bias and batch_norm become one constant a filter (scales are folded into the weights, as a
// deployed model has them), relu the end.
Result<void> append(Shape& shape, const std::string& op, const std::string& where) {
  Epilogue* epilogue = nullptr;
  if (auto* convolution = std::get_if<Convolution>(&shape)) epilogue = &convolution->epilogue;
  if (auto* matmul = std::get_if<Matmul>(&shape)) epilogue = &matmul->epilogue;
  if (epilogue && !epilogue->relu && (op == "bias" || op == "batch_norm")) {
    epilogue->bias = true;
    return {};
  }
  if (epilogue && op == "relu") {
    epilogue->relu = true;
    return {};
  }
  return fail("{}: the comparison cannot append '{}' here", where, op);
}

Result<Shape> read_chain(const toml::array& ops, const std::string& where) {
  std::optional<Shape> shape;
  for (const toml::node& node : ops) {
    const toml::table* table = node.as_table();
    if (!table) return fail("{}: each of 'ops' must be a table", where);
    if (!shape)
      shape = TRY(read_operator(*table, where));
    else
      TRYV(append(*shape, (*table)["op"].value_or(std::string("?")), where));
  }
  if (!shape) return fail("{}: 'ops' is empty", where);
  return *shape;
}

Result<PeerCase> read_case(const toml::table& table, const std::string& file) {
  const auto name = table["name"].value<std::string>();
  const std::string where =
      fmt::format("{}:{}: workload '{}'", file, table.source().begin.line, name.value_or("?"));
  if (!name) return fail("{}: 'name' must be a string", where);
  if (table.contains("compute"))
    return fail("{}: written in the text language, which no other library has", where);
  if (const toml::array* ops = table["ops"].as_array())
    return PeerCase{*name, TRY(read_chain(*ops, where))};
  return PeerCase{*name, TRY(read_operator(table, where))};
}

}  // namespace

Result<std::vector<PeerCase>> parse_cases(const std::string& text, const std::string& name) {
  toml::table document;
  try {
    document = toml::parse(text);
  } catch (const toml::parse_error& error) {
    return fail("{}:{}: {}", name, error.source().begin.line, error.description());
  }
  const toml::array* workloads = document["workload"].as_array();
  if (!workloads || workloads->empty()) return fail("{}: no [[workload]]", name);
  std::vector<PeerCase> cases;
  for (const toml::node& node : *workloads) {
    const toml::table* table = node.as_table();
    if (!table) return fail("{}: [[workload]] must be a table", name);
    cases.push_back(TRY(read_case(*table, name)));
  }
  return cases;
}

Result<std::vector<PeerCase>> load_cases(const std::string& path) {
  return parse_cases(TRY(read_file(path)), path);
}

}  // namespace hone::bench
