// SPDX-License-Identifier: Apache-2.0
//
// The only file that sees toml++. It is used without exceptions; positions of its nodes become
// places in our errors, and a compute text is parsed with the line it has in the file.
//
// Its assertions are off: some of them fire on wrong texts for which the line below has an error
// message. NDEBUG would turn them into assumptions that the compiler may build on.
#undef NDEBUG
#define TOML_ASSERT(expr) static_cast<void>(0)
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "base/text.h"
#include "frontend/lexer.h"
#include "frontend/operators.h"
#include "frontend/workload.h"

namespace hone {
namespace {

Place place_of(const toml::source_region& region) {
  return {static_cast<int>(region.begin.line), static_cast<int>(region.begin.column)};
}
Place place_of(const toml::node& node) { return place_of(node.source()); }

std::string_view kind_of(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "a list";
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::floating_point:
      return "a decimal number";
    case toml::node_type::boolean:
      return "true or false";
    default:
      return "a date or time";
  }
}

class Loader {
 public:
  Loader(std::string_view text, std::string path)
      : lines_(split_lines(text)), path_(std::move(path)) {}

  Result<std::vector<Workload>> load(const toml::table& root) {
    for (const auto& [key, node] : root)
      if (key.str() != "workload")
        return error(place_of(key.source()),
                     fmt::format("expected [[workload]], found '{}'", key.str()));
    const toml::node* list = root.get("workload");
    if (list == nullptr) return error({1, 1}, "expected a [[workload]] table, found none");
    if (!list->is_array_of_tables())
      return error(place_of(*list), "expected [[workload]] in double brackets");
    std::vector<Workload> workloads;
    for (const toml::node& entry : *list->as_array())
      workloads.push_back(TRY(workload(*entry.as_table())));
    return workloads;
  }

 private:
  std::unexpected<Error> error(Place place, const std::string& message) const {
    return fail_at(path_, place, message);
  }

  std::unexpected<Error> wrong_type(const toml::node& node, std::string_view what,
                                    std::string_view key) const {
    return error(place_of(node),
                 fmt::format("'{}' must be {}, found {}", key, what, kind_of(node)));
  }

  Result<Workload> workload(const toml::table& table) {
    Workload workload;
    workload.name = TRY(name(table));
    if (const toml::node* node = table.get("weight")) {
      const auto weight = node->value<double>();
      if (!node->is_number() || !weight) return wrong_type(*node, "a number", "weight");
      if (!(*weight > 0))
        return error(place_of(*node), fmt::format("'weight' must be positive, found {}", *weight));
      workload.weight = *weight;
    }
    const std::vector<std::string> forms = {"compute", "op", "ops"};
    std::vector<std::string> given;
    for (const std::string& form : forms)
      if (table.contains(form)) given.push_back(form);
    if (given.size() != 1)
      return error(place_of(table),
                   fmt::format("workload '{}' needs one of compute, op and ops, "
                               "found {}",
                               workload.name, given.empty() ? "none" : join(given, " and ")));
    if (given[0] == "compute")
      workload.graph = TRY(from_compute(table));
    else
      workload.graph = given[0] == "op" ? TRY(from_op(table)) : TRY(from_ops(table));
    return workload;
  }

  // Names of workloads become names of Programs and files, so they are words (dots allowed).
  Result<std::string> name(const toml::table& table) {
    const toml::node* node = table.get("name");
    if (node == nullptr) return error(place_of(table), "a workload needs a name");
    const auto name = node->value_exact<std::string>();
    if (!name) return wrong_type(*node, "a string", "name");
    const auto is_start = [](char c) {
      return std::isalpha(static_cast<unsigned char>(c)) || c == '_';
    };
    const bool is_word =
        !name->empty() && is_start(name->front()) &&
        std::all_of(name->begin(), name->end(), [&](char c) {
          return is_start(c) || std::isdigit(static_cast<unsigned char>(c)) || c == '.';
        });
    if (!is_word)
      return error(place_of(*node),
                   fmt::format("'name' must be letters, digits, '_' and '.', and not "
                               "start with a digit or dot, found \"{}\"",
                               *name));
    if (!names_.insert(*name).second)
      return error(place_of(*node), fmt::format("there are two workloads named '{}'", *name));
    return *name;
  }

  Result<Graph> from_compute(const toml::table& table) const {
    TRYV(only_known_keys(table, {"name", "weight", "compute"}));
    const toml::node& node = *table.get("compute");
    const auto text = node.value_exact<std::string>();
    if (!text) return wrong_type(node, "a string", "compute");
    const Place start = place_of(node);
    // A line end directly behind the opening quotes does not belong to the string.
    const std::string_view line = lines_[static_cast<size_t>(start.line - 1)];
    const size_t quotes = static_cast<size_t>(start.column - 1);
    const std::string_view behind = line.size() > quotes ? line.substr(quotes) : "";
    const bool multiline = behind.starts_with("\"\"\"") || behind.starts_with("'''");
    if (!multiline) return parse_graph({*text, path_, start.line});
    const bool trimmed = behind.substr(3).find_first_not_of("\r") == std::string_view::npos;
    if (trimmed) return parse_graph({*text, path_, start.line + 1});
    // Text behind the quotes: columns of its first line count from the start of that line.
    const std::string shifted = std::string(quotes + 3, ' ') + *text;
    return parse_graph({shifted, path_, start.line});
  }

  Result<void> only_known_keys(const toml::table& table,
                               const std::vector<std::string>& known) const {
    for (const auto& [key, node] : table) {
      const std::string word(key.str());
      if (std::find(known.begin(), known.end(), word) != known.end()) continue;
      return error(place_of(key.source()), fmt::format("unknown key '{}', expected {}{}", word,
                                                       join(known, ", "), suggestion(word, known)));
    }
    return {};
  }

  Result<Graph> from_op(const toml::table& table) const {
    return graph_of_operators({TRY(call(table, {"name", "weight"}))});
  }

  Result<Graph> from_ops(const toml::table& table) const {
    TRYV(only_known_keys(table, {"name", "weight", "ops"}));
    const toml::array* list = table.get("ops")->as_array();
    if (list == nullptr) return wrong_type(*table.get("ops"), "a list of tables", "ops");
    std::vector<OperatorCall> chain;
    for (const toml::node& entry : *list) {
      if (!entry.is_table())
        return error(place_of(entry),
                     fmt::format("expected a table such as {{ op = \"relu\" }}, found "
                                 "{}",
                                 kind_of(entry)));
      if (!entry.as_table()->contains("op"))
        return error(place_of(entry), "expected the key 'op' in each table of 'ops'");
      chain.push_back(TRY(call(*entry.as_table(), {})));
    }
    if (chain.empty()) return error(place_of(*list), "'ops' must hold at least one operator");
    return graph_of_operators(chain);
  }

  Result<OperatorCall> call(const toml::table& table, const std::set<std::string>& others) const {
    const toml::node& op = *table.get("op");
    const auto name = op.value_exact<std::string>();
    if (!name) return wrong_type(op, "a string", "op");
    OperatorCall call{*name, path_, place_of(op), {}};
    for (const auto& [key, node] : table) {
      const std::string word(key.str());
      if (word == "op" || others.contains(word)) continue;
      call.attributes.push_back({word, TRY(value(word, node)), place_of(node)});
    }
    return call;
  }

  Result<AttributeValue> value(const std::string& key, const toml::node& node) const {
    if (const auto truth = node.value_exact<bool>()) return AttributeValue(*truth);
    if (const auto integer = node.value_exact<int64_t>()) return AttributeValue(*integer);
    if (const auto number = node.value_exact<double>()) return AttributeValue(*number);
    if (const auto text = node.value_exact<std::string>()) return AttributeValue(*text);
    const toml::array* list = node.as_array();
    if (list == nullptr) return wrong_type(node, "a number, a string or a list of integers", key);
    std::vector<int64_t> integers;
    for (const toml::node& element : *list) {
      const auto integer = element.value_exact<int64_t>();
      if (!integer) return wrong_type(element, "a list of integers", key);
      integers.push_back(*integer);
    }
    return AttributeValue(std::move(integers));
  }

  std::vector<std::string_view> lines_;
  std::string path_;
  std::set<std::string> names_;
};

}  // namespace

Result<std::vector<Workload>> parse_workloads_toml(std::string_view text, const std::string& path) {
  const toml::parse_result parsed = toml::parse(text, path);
  if (!parsed) {
    const toml::parse_error& found = parsed.error();
    std::string message(found.description());
    if (!message.empty())
      message[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(message[0])));
    return fail_at(path, place_of(found.source()), message);
  }
  return Loader(text, path).load(parsed.table());
}

}  // namespace hone
