// SPDX-License-Identifier: Apache-2.0
#include "frontend/operators.h"

#include <algorithm>

#include "base/text.h"
#include "frontend/operator_tools.h"

namespace hone {
namespace {

std::vector<Operator> joined_rows() {
  std::vector<Operator> rows;
  for (const auto part : {matrix_operators(), convolution_operators(), pooling_operators(),
                          row_operators(), pointwise_operators()})
    rows.insert(rows.end(), part.begin(), part.end());
  return rows;
}

std::vector<std::string> known_names() {
  std::vector<std::string> names;
  for (const Operator& row : operators()) names.emplace_back(row.name);
  for (const PointFunction& row : point_functions()) names.emplace_back(row.name);
  return names;
}

std::unexpected<Error> unknown(const OperatorCall& call) {
  const std::vector<std::string> names = known_names();
  return fail_at(call.file, call.place,
                 fmt::format("there is no operator '{}', there are {}{}", call.op,
                             join(names, ", "), suggestion(call.op, names)));
}

const Operator* find_operator(std::string_view name) {
  for (const Operator& row : operators())
    if (row.name == name) return &row;
  return nullptr;
}

// `op = "relu"` is `elementwise` with that function.
Result<OperatorCall> resolved(const OperatorCall& call) {
  if (find_operator(call.op) != nullptr) return call;
  const auto functions = point_functions();
  const bool is_function =
      std::any_of(functions.begin(), functions.end(),
                  [&](const PointFunction& row) { return row.name == call.op; });
  if (!is_function) return unknown(call);
  OperatorCall elementwise = call;
  elementwise.op = "elementwise";
  elementwise.attributes.push_back({"function", call.op, call.place});
  return elementwise;
}

}  // namespace

std::span<const Operator> operators() {
  static const std::vector<Operator> rows = joined_rows();
  return rows;
}

// -- TextWriter
// --------------------------------------------------------------------------------------

std::string TextWriter::fresh_name(std::string_view wish) {
  std::string name(wish);
  for (int number = 2; !used_names_.insert(name).second; ++number)
    name = fmt::format("{}{}", wish, number);
  return name;
}

TextTensor TextWriter::declare(std::string_view kind, std::string_view wish, DType dtype,
                               std::vector<int64_t> shape) {
  TextTensor tensor{fresh_name(wish), dtype, std::move(shape)};
  statements_.push_back(fmt::format("{} {}: {}[{}]", kind, tensor.name, to_string(dtype),
                                    fmt::join(tensor.shape, ", ")));
  return tensor;
}

TextTensor TextWriter::compute(std::string_view wish, DType dtype,
                               const std::vector<std::string>& axes, std::vector<int64_t> shape,
                               const std::string& right) {
  ENSURE(axes.size() == shape.size());
  TextTensor tensor{fresh_name(wish), dtype, std::move(shape)};
  std::vector<std::string> texts;
  for (size_t i = 0; i < axes.size(); ++i)
    texts.push_back(fmt::format("{}:{}", axes[i], tensor.shape[i]));
  statements_.push_back(fmt::format("{}[{}] = {}", tensor.name, join(texts, ", "), right));
  result_ = tensor;
  has_result_ = true;
  return tensor;
}

std::string TextWriter::text() const {
  ENSURE(has_result_);
  std::string text;
  for (const std::string& statement : statements_)
    text += (&statement == &statements_.back() ? "output " : "") + statement + "\n";
  return text;
}

// -- chains
// ------------------------------------------------------------------------------------------

Result<std::string> write_operators(const std::vector<OperatorCall>& chain) {
  ENSURE(!chain.empty());
  TextWriter writer;
  bool is_first = true;
  for (const OperatorCall& written : chain) {
    const OperatorCall call = TRY(resolved(written));
    const Operator* row = find_operator(call.op);
    const Attributes attributes = TRY(Attributes::match(call, row->parameters, is_first));
    TRYV(row->write(attributes, writer));
    is_first = false;
  }
  return writer.text();
}

Result<Graph> graph_of_operators(const std::vector<OperatorCall>& chain) {
  const std::string text = TRY(write_operators(chain));
  auto graph = parse_graph({text, "its text", 1});
  if (graph) return graph;
  // The operators write correct text; what is left are sizes that no machine has.
  return fail_at(chain[0].file, chain[0].place,
                 fmt::format("'{}': {}", chain[0].op, graph.error().message));
}

}  // namespace hone
