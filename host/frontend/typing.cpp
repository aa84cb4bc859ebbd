// SPDX-License-Identifier: Apache-2.0
#include "frontend/typing.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace hone {
namespace {

constexpr std::string_view kHowToType = "write its type around it, as in f32(1)";

// The type to cast to when two operands differ: the one that holds more.
DType wider(DType a, DType b) {
  if (is_float(a) != is_float(b)) return is_float(a) ? a : b;
  if (bytes_of(a) != bytes_of(b)) return bytes_of(a) > bytes_of(b) ? a : b;
  return a == DType::f16 || a == DType::bf16 ? DType::f32 : DType::i16;
}

std::string bound_text(double bound) { return fmt::format("{:.0f}", bound); }

}  // namespace

ExpressionChecker::ExpressionChecker(const Statement& statement, const Stage& stage,
                                     const Names& names)
    : statement_(statement),
      stage_(stage),
      names_(names),
      scope_([&stage](int32_t axis) { return stage.extent_of(axis); },
             [&names](BufferId tensor) { return range_of(names.graph.tensors[tensor].dtype); }),
      axis_used_(stage.axes.size() + stage.reduce_axes.size(), false) {}

Result<void> ExpressionChecker::check_tensors(const Syntax& syntax) const {
  if (syntax->depth > kMaxDepth)
    return error(syntax, fmt::format("the expression nests deeper than {} levels", kMaxDepth));
  if (syntax->kind == SyntaxKind::index && !names_.tensors.contains(syntax->text)) {
    if (axis_number(syntax->text))
      return error(syntax, fmt::format("'{}' is an axis and has no elements", syntax->text));
    return unknown(syntax);
  }
  for (const Syntax& arg : syntax->args) TRYV(check_tensors(arg));
  return {};
}

Result<Expr> ExpressionChecker::value(const Syntax& syntax, std::optional<DType> wanted) {
  const std::optional<DType> own = type_of(syntax);
  return converted(syntax, own ? own : wanted);
}

std::unexpected<Error> ExpressionChecker::error(const Syntax& at,
                                                const std::string& message) const {
  return fail_at(statement_.file, at->place.line > 0 ? at->place : statement_.place, message);
}

std::string ExpressionChecker::written(const Expr& expr) const {
  return print(names_.graph, stage_, expr);
}

// Empty when only numbers stand below. Wrong operands are found later, when they are converted.
std::optional<DType> ExpressionChecker::type_of(const Syntax& syntax) const {
  switch (syntax->kind) {
    case SyntaxKind::integer:
    case SyntaxKind::decimal:
      return std::nullopt;
    case SyntaxKind::boolean:
    case SyntaxKind::negation:
    case SyntaxKind::compare:
      return DType::b1;
    case SyntaxKind::name:
      if (const auto result = results_.find(syntax->text); result != results_.end())
        return names_.graph.tensors[result->second].dtype;
      return DType::i64;
    case SyntaxKind::index:
      if (const auto tensor = names_.tensors.find(syntax->text); tensor != names_.tensors.end())
        return names_.graph.tensors[tensor->second].dtype;
      return std::nullopt;
    case SyntaxKind::call: {
      CastFunction cast;
      if (parse_cast(syntax->text, cast)) return cast.dtype;
      break;
    }
    case SyntaxKind::infix:
      if (syntax->text == "&&" || syntax->text == "||") return DType::b1;
      break;
    case SyntaxKind::conditional: {
      const auto then_type = type_of(syntax->args[1]);
      return then_type ? then_type : type_of(syntax->args[2]);
    }
    case SyntaxKind::negate:
      break;
  }
  for (const Syntax& arg : syntax->args)
    if (const auto found = type_of(arg)) return found;
  return std::nullopt;
}

Result<Expr> ExpressionChecker::converted(const Syntax& syntax, std::optional<DType> wanted) {
  switch (syntax->kind) {
    case SyntaxKind::integer:
    case SyntaxKind::decimal:
      return number(syntax, wanted);
    case SyntaxKind::boolean:
      return int_constant(syntax->integer, DType::b1);
    case SyntaxKind::name:
      return name(syntax);
    case SyntaxKind::index:
      return load(syntax);
    case SyntaxKind::call:
      return call(syntax, wanted);
    case SyntaxKind::negate:
    case SyntaxKind::negation:
      return prefix(syntax, wanted);
    case SyntaxKind::infix:
      return infix(syntax, wanted);
    case SyntaxKind::compare:
      return compare(syntax);
    case SyntaxKind::conditional:
      return conditional(syntax, wanted);
  }
  return error(syntax, "unknown syntax");
}

// -- leaves
// ------------------------------------------------------------------------------------------

Result<Expr> ExpressionChecker::number(const Syntax& syntax, std::optional<DType> wanted) const {
  if (!wanted)
    return error(syntax,
                 fmt::format("the type of {} cannot be told: {}", syntax->text, kHowToType));
  const bool whole = syntax->kind == SyntaxKind::integer;
  if (is_float(*wanted)) {
    const double value = whole ? static_cast<double>(syntax->integer) : syntax->decimal;
    if (std::isfinite(value) && !std::isfinite(round_to(*wanted, value)))
      return error(syntax, fmt::format("{} does not fit in {}", syntax->text, to_string(*wanted)));
    return float_constant(value, *wanted);
  }
  if (*wanted == DType::b1)
    return error(syntax,
                 fmt::format("expected a condition (b1), found the number {}", syntax->text));
  if (!whole)
    return error(syntax, fmt::format("expected an integer, because its type is {} here, found {}",
                                     to_string(*wanted), syntax->text));
  if (syntax->integer < lowest(*wanted) || syntax->integer > highest(*wanted))
    return error(syntax, fmt::format("{} does not fit in {} ({} to {})", syntax->text,
                                     to_string(*wanted), lowest(*wanted), highest(*wanted)));
  return int_constant(syntax->integer, *wanted);
}

std::optional<int32_t> ExpressionChecker::axis_number(const std::string& name) const {
  int32_t number = 0;
  for (const auto* axes : {&stage_.axes, &stage_.reduce_axes})
    for (const StageAxis& axis : *axes) {
      if (axis.name == name) return number;
      ++number;
    }
  return std::nullopt;
}

std::unexpected<Error> ExpressionChecker::unknown(const Syntax& syntax) const {
  const bool indexed = syntax->kind == SyntaxKind::index;
  for (const SyntaxName& own : statement_.names)
    if (own.text == syntax->text)
      return error(syntax, fmt::format("'{}' is defined by itself: a statement may read only what "
                                       "stands above it",
                                       syntax->text));
  if (const auto later = names_.later.find(syntax->text); later != names_.later.end())
    return error(syntax, fmt::format("'{}' is read before its definition in line {}", syntax->text,
                                     later->second.line));
  std::vector<std::string> known;
  for (const auto& [tensor, id] : names_.tensors) known.push_back(tensor);
  if (!indexed)
    for (const auto* axes : {&stage_.axes, &stage_.reduce_axes})
      for (const StageAxis& axis : *axes) known.push_back(axis.name);
  return error(syntax, fmt::format("expected {}, found the unknown name '{}'{}",
                                   indexed ? "a tensor" : "an axis or a tensor", syntax->text,
                                   suggestion(syntax->text, known)));
}

Result<Expr> ExpressionChecker::name(const Syntax& syntax) {
  if (const auto axis = axis_number(syntax->text)) {
    axis_used_[static_cast<size_t>(*axis)] = true;
    return axis_expr(*axis);
  }
  if (const auto result = results_.find(syntax->text); result != results_.end()) {
    std::vector<Expr> indices;
    for (size_t i = 0; i < stage_.axes.size(); ++i)
      indices.push_back(axis_expr(static_cast<int32_t>(i)));
    return load_expr(result->second, names_.graph.tensors[result->second].dtype, indices);
  }
  const auto tensor = names_.tensors.find(syntax->text);
  if (tensor == names_.tensors.end()) return unknown(syntax);
  const size_t rank = names_.graph.tensors[tensor->second].shape.size();
  return error(syntax, fmt::format("'{}' is a tensor: expected '{}[…]' with {} {}", syntax->text,
                                   syntax->text, rank, rank == 1 ? "index" : "indices"));
}

Result<Expr> ExpressionChecker::load(const Syntax& syntax) {
  const auto found = names_.tensors.find(syntax->text);
  ENSURE(found != names_.tensors.end(), "check_tensors() comes first");
  const GraphTensor& tensor = names_.graph.tensors[found->second];
  if (syntax->args.size() != tensor.shape.size())
    return error(syntax,
                 fmt::format("'{}' has {} {}, found {} {}", tensor.name, tensor.shape.size(),
                             tensor.shape.size() == 1 ? "dimension" : "dimensions",
                             syntax->args.size(), syntax->args.size() == 1 ? "index" : "indices"));
  std::vector<Expr> indices;
  for (size_t i = 0; i < syntax->args.size(); ++i) indices.push_back(TRY(index(syntax, tensor, i)));
  tensors_read_.push_back(found->second);
  return load_expr(found->second, tensor.dtype, std::move(indices));
}

Result<Expr> ExpressionChecker::index(const Syntax& syntax, const GraphTensor& tensor,
                                      size_t position) {
  const Syntax& arg = syntax->args[position];
  const auto own = type_of(arg);
  const Expr plain = TRY(converted(arg, own ? own : DType::i64));
  if (!is_integer(plain->dtype))
    return error(arg,
                 fmt::format("an index must be an integer, found {}", to_string(plain->dtype)));
  Expr expr = cast_expr(Op::cast, DType::i64, plain);
  // A value that comes out of a tensor is the caller's: tasks choose inputs that stay in range.
  bool depends_on_data = false;
  walk(expr, [&](const ExprNode& node) { depends_on_data |= node.op == Op::load; });
  const Range range = scope_.range(expr);
  const double last = static_cast<double>(tensor.shape[position] - 1);
  if (!depends_on_data && !range.is_within({0, last}))
    return error(
        arg, fmt::format("index {} of '{}' ({}) runs over {} to {}, outside 0 to {}: guard "
                         "it with 'if' or change an extent",
                         position + 1, tensor.name,
                         is_constant(plain) ? fmt::format("{}", plain->int_value) : written(plain),
                         bound_text(range.low), bound_text(range.high), bound_text(last)));
  return expr;
}

// -- operations
// --------------------------------------------------------------------------------------

Result<void> ExpressionChecker::check_operand(const Syntax& at, std::string_view what,
                                              Operands operands, const Expr& operand) const {
  if (accepts(operands, operand->dtype)) return {};
  std::string hint;
  if (what == "'/'" && is_integer(operand->dtype))
    hint = "; '//' divides integers and rounds down";
  else if (what == "'//'" && is_float(operand->dtype))
    hint = "; '/' divides floating-point numbers";
  return error(at, fmt::format("{} needs {}, found {}{}", what, to_string(operands),
                               to_string(operand->dtype), hint));
}

Result<void> ExpressionChecker::check_same(const Syntax& at, std::string_view what,
                                           const Expr& left, const Expr& right) const {
  if (left->dtype == right->dtype) return {};
  if (left->dtype == DType::b1 || right->dtype == DType::b1)
    return error(at, fmt::format("the operands of {} are {} and {}", what, to_string(left->dtype),
                                 to_string(right->dtype)));
  const DType common = wider(left->dtype, right->dtype);
  std::vector<std::string> casts;
  for (const Expr& side : {left, right})
    if (side->dtype != common)
      casts.push_back(
          fmt::format("'{}'", print(names_.graph, stage_, cast_expr(Op::cast, common, side))));
  return error(
      at, fmt::format("the operands of {} are {} and {}: write {}", what, to_string(left->dtype),
                      to_string(right->dtype), join(casts, " and ")));
}

Result<Expr> ExpressionChecker::applied(const Syntax& at, const InfixOperator& row, Expr left,
                                        Expr right) const {
  const std::string what = fmt::format("'{}'", row.sign);
  TRYV(check_same(at, what, left, right));
  TRYV(check_operand(at, what, row.operands, left));
  if (row.swapped) std::swap(left, right);
  return binary(row.op, std::move(left), std::move(right));
}

Result<Expr> ExpressionChecker::infix(const Syntax& syntax, std::optional<DType> wanted) {
  const InfixOperator* row = find_infix(syntax->text);
  ENSURE(row != nullptr, "'{}' has no row", syntax->text);
  if (row->operands == Operands::boolean) wanted = DType::b1;
  const auto left_type = type_of(syntax->args[0]);
  const auto right_type = type_of(syntax->args[1]);
  const auto type = left_type ? left_type : right_type ? right_type : wanted;
  // Each side that has a type keeps it, so that a difference is reported at the operator.
  Expr left = TRY(converted(syntax->args[0], left_type ? left_type : type));
  Expr right = TRY(converted(syntax->args[1], right_type ? right_type : type));
  return applied(syntax, *row, std::move(left), std::move(right));
}

Result<Expr> ExpressionChecker::compare(const Syntax& syntax) {
  std::optional<DType> type;
  for (const Syntax& arg : syntax->args)
    if (!type) type = type_of(arg);
  if (!type) type = DType::i64;
  std::vector<Expr> operands;
  for (const Syntax& arg : syntax->args) {
    const auto own = type_of(arg);
    operands.push_back(TRY(converted(arg, own ? own : type)));
  }
  Expr all;
  for (size_t i = 0; i < syntax->signs.size(); ++i) {
    const InfixOperator* row = find_infix(syntax->signs[i]);
    ENSURE(row != nullptr, "'{}' has no row", syntax->signs[i]);
    Expr one = TRY(applied(syntax, *row, operands[i], operands[i + 1]));
    all = all ? binary(Op::logical_and, std::move(all), std::move(one)) : std::move(one);
  }
  return all;
}

Result<Expr> ExpressionChecker::prefix(const Syntax& syntax, std::optional<DType> wanted) {
  const bool negate = syntax->kind == SyntaxKind::negate;
  const auto own = type_of(syntax->args[0]);
  if (!own && !negate) wanted = DType::b1;
  Expr operand = TRY(converted(syntax->args[0], own ? own : wanted));
  TRYV(check_operand(syntax, negate ? "'-'" : "'!'", negate ? Operands::number : Operands::boolean,
                     operand));
  return unary(negate ? Op::neg : Op::logical_not, std::move(operand));
}

Result<Expr> ExpressionChecker::call(const Syntax& syntax, std::optional<DType> wanted) {
  CastFunction cast_function;
  const bool is_cast = parse_cast(syntax->text, cast_function);
  const Function* function = find_function(syntax->text);
  if (!is_cast && function == nullptr)
    return error(syntax, fmt::format("expected a function, found '{}'", syntax->text));
  const size_t arity = is_cast ? 1 : function->arity;
  if (syntax->args.size() != arity)
    return error(syntax, fmt::format("'{}' takes {} {}, found {}", syntax->text, arity,
                                     arity == 1 ? "operand" : "operands", syntax->args.size()));
  if (is_cast) return cast(syntax, cast_function);
  const auto own = type_of(syntax);
  std::vector<Expr> operands;
  for (const Syntax& arg : syntax->args) {
    const auto type = type_of(arg);
    operands.push_back(TRY(converted(arg, type ? type : own ? own : wanted)));
  }
  const std::string what = fmt::format("'{}'", function->name);
  if (arity == 2) TRYV(check_same(syntax, what, operands[0], operands[1]));
  TRYV(check_operand(syntax, what, function->operands, operands[0]));
  if (arity == 1) return unary(function->op, std::move(operands[0]));
  return binary(function->op, std::move(operands[0]), std::move(operands[1]));
}

Result<Expr> ExpressionChecker::cast(const Syntax& syntax, const CastFunction& cast) {
  const auto own = type_of(syntax->args[0]);
  Expr operand = TRY(converted(syntax->args[0], own ? own : cast.dtype));
  if (cast.op == Op::saturate && !is_integer(cast.dtype))
    return error(syntax, fmt::format("'{}': only integer types saturate", syntax->text));
  if (cast.op == Op::bitcast && (bytes_of(operand->dtype) != bytes_of(cast.dtype) ||
                                 operand->dtype == DType::b1 || cast.dtype == DType::b1))
    return error(syntax, fmt::format("'{}' needs an operand of {} bytes, found {}", syntax->text,
                                     bytes_of(cast.dtype), to_string(operand->dtype)));
  return cast_expr(cast.op, cast.dtype, std::move(operand));
}

Result<Expr> ExpressionChecker::conditional(const Syntax& syntax, std::optional<DType> wanted) {
  const Expr condition = TRY(converted(syntax->args[0], DType::b1));
  if (condition->dtype != DType::b1)
    return error(syntax->args[0], fmt::format("expected a condition (b1) after 'if', found {}",
                                              to_string(condition->dtype)));
  const auto own = type_of(syntax);
  std::vector<Expr> sides;
  for (const bool holds : {true, false}) {
    const Syntax& side = syntax->args[holds ? 1 : 2];
    const auto type = type_of(side);
    const size_t mark = scope_.enter(condition, holds);
    Result<Expr> expr = converted(side, type ? type : own ? own : wanted);
    scope_.leave(mark);
    sides.push_back(TRY(std::move(expr)));
  }
  TRYV(check_same(syntax, "'then' and 'else'", sides[0], sides[1]));
  return select_expr(condition, std::move(sides[0]), std::move(sides[1]));
}

}  // namespace hone
