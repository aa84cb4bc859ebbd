// SPDX-License-Identifier: Apache-2.0
//
// Statements to a Graph. Extents that were left out are found first (an axis that indexes known
// tensors by itself runs over their extent there), then expressions are typed, then what nobody
// reads is refused: an unused input is more often a slip than a wish.
#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"
#include "frontend/graph.h"
#include "frontend/typing.h"

namespace hone {
namespace {

// Far above any memory, and low enough that iteration counts fit in 64 bits and index arithmetic in a
// double. Elements of a tensor, and extents: what the Program's text and its verifier take.
constexpr int kMaxIterationBits = 48;
constexpr int kMaxElementBits = 40;
constexpr int64_t kMaxExtent = int64_t{1} << kMaxElementBits;

bool product_fits(const std::vector<int64_t>& factors, int bits) {
  int64_t left = int64_t{1} << bits;
  for (const int64_t factor : factors) {
    if (factor > left) return false;
    left /= factor;
  }
  return true;
}

// All places where an axis indexes a tensor by itself.
struct AxisUse {
  const SyntaxNode* node = nullptr;
  size_t position = 0;
};

void find_axis_uses(const Syntax& syntax, const std::string& axis, std::vector<AxisUse>& uses) {
  for (size_t i = 0; i < syntax->args.size(); ++i) {
    const Syntax& arg = syntax->args[i];
    if (syntax->kind == SyntaxKind::index && arg->kind == SyntaxKind::name && arg->text == axis)
      uses.push_back({syntax.get(), i});
    find_axis_uses(arg, axis, uses);
  }
}

class Checker {
 public:
  Checker(const std::vector<Statement>& statements, std::string file)
      : statements_(statements), file_(std::move(file)) {}

  Result<Graph> run() {
    TRYV(note_names());
    for (const Statement& statement : statements_) {
      for (const SyntaxName& name : statement.names) names_.later.erase(name.text);
      if (statement.kind == StatementKind::compute)
        TRYV(compute(statement));
      else
        TRYV(declare(statement));
    }
    TRYV(check_use());
    return std::move(graph_);
  }

 private:
  static std::unexpected<Error> error(const Statement& statement, Place place,
                                      const std::string& message) {
    return fail_at(statement.file, place.line > 0 ? place : statement.place, message);
  }

  Result<void> note_names() {
    for (const Statement& statement : statements_)
      for (const SyntaxName& name : statement.names) {
        TRYV(check_name(statement, name.place, name.text));
        const auto [earlier, fresh] = names_.later.emplace(name.text, name.place);
        if (!fresh)
          return error(
              statement, name.place,
              fmt::format("'{}' is already defined in line {}", name.text, earlier->second.line));
      }
    return {};
  }

  // The parser has looked at names already; the builder takes any string.
  static Result<void> check_name(const Statement& statement, Place place, const std::string& name) {
    const auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
    const bool is_word =
        !name.empty() && (is_letter(name[0]) || name[0] == '_') &&
        std::all_of(name.begin(), name.end(), [&](char c) {
          return is_letter(c) || c == '_' || std::isdigit(static_cast<unsigned char>(c)) != 0;
        });
    if (is_word && !is_reserved(name)) return {};
    return error(statement, place,
                 fmt::format("expected a name, found '{}', which is {}", name,
                             is_word ? "a word of the language" : "not a word"));
  }

  BufferId add_tensor(const Statement& statement, const SyntaxName& name, GraphTensor tensor) {
    const BufferId id = graph_.tensors.add(std::move(tensor));
    declared_.push_back({&statement, name.place});
    is_read_.push_back(false);
    names_.tensors.emplace(name.text, id);
    return id;
  }

  Result<void> check_extent(const Statement& statement, Place place, int64_t extent) const {
    if (extent <= 0)
      return error(statement, place, fmt::format("an extent must be positive, found {}", extent));
    if (extent > kMaxExtent)
      return error(statement, place,
                   fmt::format("the extent {} is too large (at most {})", extent, kMaxExtent));
    return {};
  }

  Result<void> declare(const Statement& statement) {
    for (size_t i = 0; i < statement.shape.size(); ++i)
      TRYV(check_extent(statement,
                        i < statement.shape_places.size() ? statement.shape_places[i] : Place{},
                        statement.shape[i]));
    TRYV(check_size(statement, statement.names[0].text, statement.shape, kMaxElementBits));
    GraphTensor tensor{.name = statement.names[0].text, .dtype = statement.dtype};
    tensor.shape = statement.shape;
    tensor.role = statement.kind == StatementKind::input ? TensorRole::input : TensorRole::param;
    add_tensor(statement, statement.names[0], std::move(tensor));
    return {};
  }

  static Result<void> check_size(const Statement& statement, const std::string& name,
                                 const std::vector<int64_t>& shape, int bits) {
    if (product_fits(shape, bits)) return {};
    return error(statement, statement.place,
                 fmt::format("'{}' is too large: {} elements are more than 2^{}", name,
                             fmt::join(shape, " x "), bits));
  }

  // -- axes
  // ----------------------------------------------------------------------------------------

  Result<void> check_axes(const Statement& statement) const {
    std::map<std::string, Place> seen;
    for (const auto* axes : {&statement.axes, &statement.reduce_axes})
      for (const SyntaxAxis& axis : *axes) {
        TRYV(check_name(statement, axis.place, axis.name));
        if (!seen.emplace(axis.name, axis.place).second)
          return error(statement, axis.place, fmt::format("the axis '{}' stands twice", axis.name));
        const bool is_result =
            std::any_of(statement.names.begin(), statement.names.end(),
                        [&](const SyntaxName& name) { return name.text == axis.name; });
        if (is_result || names_.tensors.contains(axis.name))
          return error(statement, axis.place,
                       fmt::format("the axis '{}' has the name of a tensor", axis.name));
      }
    return {};
  }

  // Before extents are looked for, because an unknown tensor gives none.
  Result<void> check_tensors(const Statement& statement) const {
    Stage stage;
    for (const SyntaxAxis& axis : statement.axes) stage.axes.push_back({axis.name, 1});
    for (const SyntaxAxis& axis : statement.reduce_axes)
      stage.reduce_axes.push_back({axis.name, 1});
    const ExpressionChecker checker(statement, stage, names_);
    for (const auto* values : {&statement.init, &statement.values})
      for (const Syntax& value : *values) TRYV(checker.check_tensors(value));
    return {};
  }

  Result<int64_t> extent_of(const Statement& statement, const SyntaxAxis& axis) const {
    if (axis.extent) {
      TRYV(check_extent(statement, axis.extent_place, *axis.extent));
      return *axis.extent;
    }
    std::vector<AxisUse> uses;
    for (const Syntax& value : statement.values) find_axis_uses(value, axis.name, uses);
    std::optional<int64_t> found;
    std::string found_in;
    for (const AxisUse& use : uses) {
      const auto tensor = names_.tensors.find(use.node->text);
      if (tensor == names_.tensors.end()) continue;
      const std::vector<int64_t>& shape = graph_.tensors[tensor->second].shape;
      if (use.position >= shape.size()) continue;
      const int64_t extent = shape[use.position];
      const std::string where = fmt::format("index {} of '{}'", use.position + 1, use.node->text);
      if (found && *found != extent)
        return error(statement, axis.place,
                     fmt::format("the extent of '{}' is ambiguous: {} gives {}, {} gives {}",
                                 axis.name, found_in, *found, where, extent));
      found = extent;
      found_in = where;
    }
    if (found) return *found;
    return error(statement, axis.place,
                 fmt::format("the axis '{}' has no extent and indexes no known tensor by itself: "
                             "expected '{}:EXTENT'",
                             axis.name, axis.name));
  }

  Result<std::vector<StageAxis>> stage_axes(const Statement& statement,
                                            const std::vector<SyntaxAxis>& axes) const {
    std::vector<StageAxis> result;
    for (const SyntaxAxis& axis : axes)
      result.push_back({axis.name, TRY(extent_of(statement, axis))});
    return result;
  }

  // -- computed tensors
  // ----------------------------------------------------------------------------

  Result<void> check_results(const Statement& statement) const {
    const ReducerFacts& reducer = facts(statement.reducer);
    const size_t results = statement.names.size();
    if ((statement.reducer == Reducer::none) != statement.reduce_axes.empty())
      return error(statement, statement.reducer_place,
                   fmt::format("'{}' needs an axis to reduce", reducer.name));
    if (reducer.results != 0 && results != reducer.results) {
      if (statement.reducer == Reducer::none)
        return error(
            statement, statement.place,
            fmt::format("{} results need a reducer of tuples (argmax, argmin, fold)", results));
      return error(
          statement, statement.reducer_place,
          fmt::format("'{}' gives {} {}, found {} on the left side", reducer.name, reducer.results,
                      reducer.results == 1 ? "result" : "results", results));
    }
    const auto check_count = [&](size_t count) -> Result<void> {
      if (count == results) return {};
      return error(
          statement, statement.reducer_place,
          fmt::format("expected {} values for {} results, found {}", results, results, count));
    };
    TRYV(check_count(statement.values.size()));
    if (statement.reducer == Reducer::fold) TRYV(check_count(statement.init.size()));
    return {};
  }

  Result<void> check_reduced_types(const Statement& statement, const Stage& stage) const {
    if (statement.reducer == Reducer::none) return {};
    for (size_t i = 0; i < stage.values.size(); ++i) {
      const DType dtype = stage.values[i]->dtype;
      const bool pair = facts(statement.reducer).results == 2;
      if (pair && i == 1 && !is_integer(dtype))
        return error(statement, place_of(statement, statement.values[i]),
                     fmt::format("the second value of '{}' must be an integer, found {}",
                                 facts(statement.reducer).name, to_string(dtype)));
      if (dtype == DType::b1 && statement.reducer != Reducer::fold)
        return error(statement, place_of(statement, statement.values[i]),
                     fmt::format("'{}' needs numbers, found b1", facts(statement.reducer).name));
    }
    return {};
  }

  static Place place_of(const Statement& statement, const Syntax& syntax) {
    return syntax->place.line > 0 ? syntax->place : statement.place;
  }

  Result<void> compute(const Statement& statement) {
    TRYV(check_results(statement));
    TRYV(check_axes(statement));
    TRYV(check_tensors(statement));
    Stage stage;
    stage.reducer = statement.reducer;
    stage.axes = TRY(stage_axes(statement, statement.axes));
    stage.reduce_axes = TRY(stage_axes(statement, statement.reduce_axes));
    std::vector<int64_t> shape;
    for (const StageAxis& axis : stage.axes) shape.push_back(axis.extent);
    std::vector<int64_t> domain = shape;
    for (const StageAxis& axis : stage.reduce_axes) domain.push_back(axis.extent);
    TRYV(check_size(statement, statement.names[0].text, shape, kMaxElementBits));
    TRYV(check_size(statement, statement.names[0].text, domain, kMaxIterationBits));

    if (statement.reducer == Reducer::fold) return compute_fold(statement, std::move(stage), shape);
    ExpressionChecker checker(statement, stage, names_);
    for (const Syntax& value : statement.values)
      stage.values.push_back(TRY(checker.value(value, std::nullopt)));
    TRYV(check_reduced_types(statement, stage));
    TRYV(check_axis_use(statement, stage, checker));
    for (size_t i = 0; i < statement.names.size(); ++i)
      stage.results.push_back(add_result(statement, i, stage.values[i]->dtype, shape));
    finish(std::move(stage), checker);
    return {};
  }

  // The results exist while their update is checked, because it reads them.
  Result<void> compute_fold(const Statement& statement, Stage stage,
                            const std::vector<int64_t>& shape) {
    ExpressionChecker init_checker(statement, stage, names_);
    for (const Syntax& value : statement.init) {
      stage.init.push_back(TRY(init_checker.value(value, std::nullopt)));
      if (!is_constant(stage.init.back()))
        return error(statement, place_of(statement, value),
                     "expected a constant, because a fold starts from the same value everywhere");
    }
    const Names before = names_;
    std::map<std::string, BufferId> results;
    for (size_t i = 0; i < statement.names.size(); ++i) {
      stage.results.push_back(add_result(statement, i, stage.init[i]->dtype, shape));
      results.emplace(statement.names[i].text, stage.results[i]);
    }
    ExpressionChecker checker(statement, stage, before);
    checker.allow_results(results);
    for (size_t i = 0; i < statement.values.size(); ++i) {
      const DType dtype = stage.init[i]->dtype;
      stage.values.push_back(TRY(checker.value(statement.values[i], dtype)));
      if (stage.values[i]->dtype != dtype)
        return error(statement, place_of(statement, statement.values[i]),
                     fmt::format("'{}' starts as {} and is then given {}", statement.names[i].text,
                                 to_string(dtype), to_string(stage.values[i]->dtype)));
    }
    TRYV(check_axis_use(statement, stage, checker));
    finish(std::move(stage), checker);
    return {};
  }

  BufferId add_result(const Statement& statement, size_t number, DType dtype,
                      const std::vector<int64_t>& shape) {
    GraphTensor tensor{.name = statement.names[number].text, .dtype = dtype};
    tensor.shape = shape;
    tensor.output = statement.output;
    tensor.stage = static_cast<int>(graph_.stages.size());
    return add_tensor(statement, statement.names[number], std::move(tensor));
  }

  void finish(Stage stage, const ExpressionChecker& checker) {
    for (const BufferId tensor : checker.tensors_read())
      is_read_[static_cast<size_t>(tensor.value)] = true;
    graph_.stages.push_back(std::move(stage));
  }

  // -- unused
  // --------------------------------------------------------------------------------------

  static Result<void> check_axis_use(const Statement& statement, const Stage& stage,
                                     const ExpressionChecker& checker) {
    size_t number = 0;
    for (const auto* axes : {&statement.axes, &statement.reduce_axes})
      for (const SyntaxAxis& axis : *axes) {
        // The value may not depend on an axis of one element: there is nothing to forget.
        const bool trivial = stage.extent_of(static_cast<int32_t>(number)) == 1;
        if (!trivial && !checker.axis_is_used(number))
          return error(statement, axis.place,
                       fmt::format("the axis '{}' is not used in the expression", axis.name));
        ++number;
      }
    return {};
  }

  Result<void> check_use() const {
    if (statements_.empty())
      return fail_at(file_, {1, 1}, "expected a computation, found no statement");
    const bool has_output =
        std::any_of(statements_.begin(), statements_.end(),
                    [](const Statement& statement) { return statement.output; });
    if (!has_output)
      return error(
          statements_.back(), statements_.back().place,
          "nothing is an output: write 'output' before the statement that gives the result");
    for (int32_t i = 0; i < graph_.tensors.size(); ++i) {
      const GraphTensor& tensor = graph_.tensors[BufferId{i}];
      const size_t row = static_cast<size_t>(i);
      if (tensor.output || is_read_[row]) continue;
      constexpr std::array<std::string_view, 3> kRoles = {"input", "param", "tensor"};
      return error(*declared_[row].statement, declared_[row].place,
                   fmt::format("the {} '{}' is never read",
                               kRoles[static_cast<size_t>(tensor.role)], tensor.name));
    }
    return {};
  }

  struct Declared {
    const Statement* statement;
    Place place;
  };

  const std::vector<Statement>& statements_;
  std::string file_;
  Graph graph_;
  Names names_{graph_, {}, {}};
  std::vector<Declared> declared_;  // by tensor
  std::vector<bool> is_read_;       // by tensor
};

}  // namespace

Result<Graph> check(const std::vector<Statement>& statements, const std::string& file) {
  return Checker(statements, file).run();
}

}  // namespace hone
