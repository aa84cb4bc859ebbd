// SPDX-License-Identifier: Apache-2.0
//
// Two steps, because the type of a constant may follow from what stands to its right: `parse` makes
// a tree that knows names and the types that leaves decide; `build` goes down it with the wanted
// type, checks, and makes the Expr.
#include <cctype>

#include "ir/expr_text.h"

namespace hone {
namespace {

constexpr int kDeepest = 200;  // nesting; a text that goes deeper is refused, not a stack overflow

struct Raw {
  enum class Kind : uint8_t { integer, real, leaf, load, op };
  Kind kind = Kind::op;
  TextPosition where;
  std::optional<DType> type;  // null: only bare constants decide it
  int64_t int_value = 0;      // integer, or the lanes of broadcast, ramp, load; the lane of extract
  double float_value = 0;
  Expr leaf;
  BufferSymbol buffer;
  Op op = Op::constant;
  DType cast_to = DType::i64;
  bool exchanged = false;  // > and >= as < and <=
  int depth = 1;
  std::vector<Raw> args;
};

struct Infix {
  std::string_view sign;
  Op op;
  bool exchanged;
};
// Longer signs before those that they start with.
constexpr Infix kInfix[] = {
    {"<<", Op::shl, false},         {">>", Op::shr, false},
    {"<=", Op::le, false},          {">=", Op::le, true},
    {"==", Op::eq, false},          {"!=", Op::ne, false},
    {"&&", Op::logical_and, false}, {"||", Op::logical_or, false},
    {"<", Op::lt, false},           {">", Op::lt, true},
    {"+", Op::add, false},          {"-", Op::sub, false},
    {"*", Op::mul, false},          {"/", Op::div, false},
    {"%", Op::mod, false},          {"&", Op::bit_and, false},
    {"|", Op::bit_or, false},       {"^", Op::bit_xor, false},
};

const Infix* infix_at(TextCursor& cursor) {
  cursor.skip_blanks(false);
  for (const Infix& infix : kInfix)
    if (cursor.rest().starts_with(infix.sign)) return &infix;
  return nullptr;
}

bool is_word(std::string_view text, std::string_view word) {
  TextCursor cursor(text, "");
  return cursor.looking_at(word);
}

bool is_call(Op op) { return !facts(op).infix && facts(op).arity >= 1; }

std::vector<std::string> function_names() {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(Op::fma); ++i)
    if (is_call(static_cast<Op>(i))) names.emplace_back(facts(static_cast<Op>(i)).name);
  return names;
}

// A function name as an operation, with the target type of a conversion.
struct Function {
  Op op;
  DType cast_to;
};
std::optional<Function> find_function(std::string_view word) {
  if (const auto dtype = parse_dtype(word)) return Function{Op::cast, *dtype};
  for (const Op op : {Op::saturate, Op::bitcast}) {
    const std::string prefix = fmt::format("{}_", facts(op).name);
    if (!word.starts_with(prefix)) continue;
    if (const auto dtype = parse_dtype(word.substr(prefix.size()))) return Function{op, *dtype};
  }
  for (int i = 0; i <= static_cast<int>(Op::fma); ++i) {
    const Op op = static_cast<Op>(i);
    const bool converts = op == Op::cast || op == Op::saturate || op == Op::bitcast;
    if (is_call(op) && !converts && facts(op).name == word) return Function{op, DType::i64};
  }
  return std::nullopt;
}

class ExprParser {
 public:
  ExprParser(TextCursor& cursor, const ExprSymbols& symbols) : cursor_(cursor), symbols_(symbols) {}

  Result<Raw> parse(int lowest_precedence) {
    if (++nesting_ > kDeepest) return cursor_.error("the expression is nested too deeply");
    Raw left = TRY(primary());
    while (const Infix* infix = infix_at(cursor_)) {
      const int precedence = facts(infix->op).precedence;
      if (precedence < lowest_precedence) break;
      const TextPosition where = cursor_.position();
      cursor_.advance(infix->sign.size());
      Raw right = TRY(parse(precedence + 1));
      left = TRY(op_node(infix->op, where, {std::move(left), std::move(right)}));
      left.exchanged = infix->exchanged;
    }
    --nesting_;
    return left;
  }

  Result<std::vector<Raw>> indices(std::string_view name, const BufferSymbol& buffer) {
    const TextPosition where = cursor_.position();
    TRYV(cursor_.expect("["));
    std::vector<Raw> list;
    if (!cursor_.accept("]")) {
      do {
        list.push_back(TRY(parse(0)));
      } while (cursor_.accept(","));
      TRYV(cursor_.expect("]"));
    }
    if (buffer.rank && *buffer.rank != list.size())
      return cursor_.error_at(where, fmt::format("'{}' has {} dimensions, found {} indices", name,
                                                 *buffer.rank, list.size()));
    return list;
  }

  Result<Expr> build(const Raw& raw, std::optional<DType> wanted);

  Result<std::vector<Expr>> build_indices(const std::vector<Raw>& list) {
    std::vector<Expr> result;
    for (const Raw& raw : list) {
      Expr index = TRY(build(raw, DType::i64));
      if (!is_integer(index->dtype))
        return cursor_.error_at(
            raw.where, fmt::format("expected an integer index, found {}", to_string(index->dtype)));
      result.push_back(std::move(index));
    }
    return result;
  }

 private:
  Result<Raw> op_node(Op op, TextPosition where, std::vector<Raw> args) {
    Raw node;
    node.op = op;
    node.where = where;
    node.args = std::move(args);
    const bool truth = op >= Op::eq && op <= Op::logical_or;
    if (truth || op == Op::logical_not) node.type = DType::b1;
    for (size_t i = 0; i < node.args.size(); ++i) {
      node.depth = std::max(node.depth, node.args[i].depth + 1);
      const bool decides = !(op == Op::select && i == 0);
      if (!node.type && decides) node.type = node.args[i].type;
    }
    if (node.depth > kDeepest)
      return cursor_.error_at(where, "the expression is nested too deeply");
    return node;
  }

  Result<Raw> primary() {
    cursor_.skip_blanks(false);
    const TextPosition where = cursor_.position();
    const char c = cursor_.peek();
    if (c == '(') {
      cursor_.advance();
      Raw inner = TRY(parse(0));
      TRYV(cursor_.expect(")"));
      return inner;
    }
    const auto digit = [](char d) { return std::isdigit(static_cast<unsigned char>(d)) != 0; };
    const bool minus = c == '-';
    const std::string_view after = cursor_.rest().substr(minus ? 1 : 0);
    if (digit(cursor_.peek(minus ? 1 : 0)) || (minus && is_word(after, "inf")))
      return number(where);
    if (minus) {
      cursor_.advance();
      if (++nesting_ > kDeepest) return cursor_.error("the expression is nested too deeply");
      Raw operand = TRY(primary());
      --nesting_;
      return op_node(Op::neg, where, vector_of(std::move(operand)));
    }
    if (cursor_.looking_at("inf") || cursor_.looking_at("nan")) return number(where);
    const auto word = cursor_.accept_word();
    if (!word) return cursor_.expected("an expression");
    return named(where, *word);
  }

  static std::vector<Raw> vector_of(Raw raw) {
    std::vector<Raw> list;
    list.push_back(std::move(raw));
    return list;
  }

  Result<Raw> number(TextPosition where) {
    Raw node;
    node.where = where;
    const std::string_view rest = cursor_.rest();
    const size_t begin = rest.front() == '-' ? 1 : 0;
    size_t end = begin;
    while (end < rest.size() && std::isdigit(static_cast<unsigned char>(rest[end])) != 0) ++end;
    const char next = end < rest.size() ? rest[end] : '\0';
    const bool real = end == begin || next == '.' || next == 'e' || next == 'E';
    node.kind = real ? Raw::Kind::real : Raw::Kind::integer;
    if (real) {
      node.float_value = TRY(cursor_.expect_number("a number"));
    } else {
      node.int_value = TRY(cursor_.expect_integer("a number"));
    }
    const bool suffix =
        cursor_.peek() == ':' && std::isalpha(static_cast<unsigned char>(cursor_.peek(1))) != 0;
    if (!suffix) return node;
    cursor_.advance();
    const TextPosition suffix_where = cursor_.position();
    const std::string_view word = TRY(cursor_.expect_word("a type"));
    node.type = parse_dtype(word);
    if (!node.type)
      return cursor_.error_at(suffix_where, fmt::format("expected a type, found '{}'", word));
    return node;
  }

  Result<Raw> named(TextPosition where, std::string_view word) {
    Raw node;
    node.where = where;
    if (word == "true" || word == "false") {
      node.kind = Raw::Kind::leaf;
      node.type = DType::b1;
      node.leaf = int_constant(word == "true" ? 1 : 0, DType::b1);
      return node;
    }
    if (cursor_.looking_at("(")) return call(where, word);
    if (Expr leaf = symbols_.value ? symbols_.value(word) : nullptr) {
      node.kind = Raw::Kind::leaf;
      node.type = leaf->dtype;
      node.leaf = std::move(leaf);
      return node;
    }
    const auto buffer = symbols_.buffer ? symbols_.buffer(word) : std::nullopt;
    if (!buffer)
      return unknown_name(cursor_, where, "name", word,
                          symbols_.all_names ? symbols_.all_names() : std::vector<std::string>{});
    return load(where, word, *buffer);
  }

  Result<Raw> load(TextPosition where, std::string_view word, const BufferSymbol& buffer) {
    Raw node;
    node.kind = Raw::Kind::load;
    node.where = where;
    node.type = buffer.dtype;
    node.buffer = buffer;
    node.int_value = 1;
    // The vector form has one index, a lane count and perhaps a mask.
    if (!buffer.rank && vector_load_follows()) {
      TRYV(cursor_.expect("["));
      node.args.push_back(TRY(parse(0)));
      TRYV(cursor_.expect(":"));
      node.int_value = TRY(lane_count());
      if (cursor_.accept(",")) node.args.push_back(TRY(parse(0)));
      TRYV(cursor_.expect("]"));
    } else {
      node.args = TRY(indices(word, buffer));
    }
    for (const Raw& arg : node.args) node.depth = std::max(node.depth, arg.depth + 1);
    if (node.depth > kDeepest)
      return cursor_.error_at(where, "the expression is nested too deeply");
    return node;
  }

  // " : 8" before the bracket closes; the suffix of a constant has no blank before its colon.
  bool vector_load_follows() const {
    int depth = 0;
    const std::string_view rest = cursor_.rest();
    for (size_t i = 0; i < rest.size() && rest[i] != '\n'; ++i) {
      if (rest[i] == '[' || rest[i] == '(') ++depth;
      if (rest[i] == ']' || rest[i] == ')') --depth;
      if (depth == 0) return false;
      if (depth == 1 && rest.substr(i).starts_with(" : ")) return true;
    }
    return false;
  }

  Result<int64_t> lane_count() {
    cursor_.skip_blanks(false);
    const TextPosition where = cursor_.position();
    const int64_t lanes = TRY(cursor_.expect_integer("a number of lanes"));
    if (lanes < 1 || lanes > 4096)
      return cursor_.error_at(where, fmt::format("expected 1 to 4096 lanes, found {}", lanes));
    return lanes;
  }

  Result<Raw> call(TextPosition where, std::string_view word) {
    const auto function = find_function(word);
    if (!function) return unknown_name(cursor_, where, "function", word, function_names());
    TRYV(cursor_.expect("("));
    const Op op = function->op;
    std::vector<Raw> args;
    const bool last_is_number = op == Op::broadcast || op == Op::ramp || op == Op::extract;
    const int arity = facts(op).arity - (op == Op::extract ? 1 : 0);
    for (int i = 0; i < arity; ++i) {
      if (i > 0) TRYV(cursor_.expect(","));
      args.push_back(TRY(parse(0)));
    }
    int64_t number = 0;
    if (last_is_number) {
      TRYV(cursor_.expect(","));
      number = op == Op::extract ? TRY(cursor_.expect_integer("a lane")) : TRY(lane_count());
    }
    TRYV(cursor_.expect(")"));
    Raw node = TRY(op_node(op, where, std::move(args)));
    node.int_value = number;
    node.cast_to = function->cast_to;
    if (op == Op::cast || op == Op::saturate || op == Op::bitcast) node.type = node.cast_to;
    return node;
  }

  Result<Expr> build_constant(const Raw& raw, std::optional<DType> wanted);
  Result<Expr> build_load(const Raw& raw);
  Result<Expr> build_conversion(const Raw& raw);
  Result<Expr> build_op(const Raw& raw, std::vector<Expr> args);

  TextCursor& cursor_;
  const ExprSymbols& symbols_;
  int nesting_ = 0;
};

Result<Expr> ExprParser::build_constant(const Raw& raw, std::optional<DType> wanted) {
  const std::optional<DType> type = raw.type ? raw.type : wanted;
  const bool real = raw.kind == Raw::Kind::real;
  if (!type)
    return cursor_.error_at(raw.where, fmt::format("the type of this constant does not follow from "
                                                   "what stands around it; write it like '{}'",
                                                   real ? "1.0:f32" : "1:i32"));
  if (is_float(*type))
    return float_constant(real ? raw.float_value : static_cast<double>(raw.int_value), *type);
  if (real || *type == DType::b1)
    return cursor_.error_at(
        raw.where, fmt::format("expected a constant of type {}, found {}", to_string(*type),
                               real ? "a float" : "an integer"));
  if (wrap_to(*type, raw.int_value) != raw.int_value)
    return cursor_.error_at(raw.where,
                            fmt::format("{} does not fit {}", raw.int_value, to_string(*type)));
  return int_constant(raw.int_value, *type);
}

Result<Expr> ExprParser::build_load(const Raw& raw) {
  const BufferSymbol& buffer = raw.buffer;
  const int lanes = static_cast<int>(raw.int_value);
  if (lanes == 1) {
    std::vector<Expr> list = TRY(build_indices(raw.args));
    for (const Expr& index : list)
      if (index->lanes != 1) return cursor_.error_at(raw.where, "expected scalar indices");
    return load_expr(buffer.id, buffer.dtype, std::move(list));
  }
  Expr index = TRY(build(raw.args[0], DType::i64));
  if (!is_integer(index->dtype) || (index->lanes != 1 && index->lanes != lanes))
    return cursor_.error_at(raw.where, "expected an integer index, scalar or of as many lanes");
  Expr load = vector_load_expr(buffer.id, buffer.dtype, lanes, index);
  if (raw.args.size() == 1) return load;
  Expr mask = TRY(build(raw.args[1], DType::b1));
  if (mask->dtype != DType::b1 || mask->lanes != lanes)
    return cursor_.error_at(raw.where, "expected a mask of b1 with as many lanes");
  return with_args(load, {std::move(index), std::move(mask)});
}

Result<Expr> ExprParser::build_conversion(const Raw& raw) {
  Expr operand = TRY(build(raw.args[0], std::nullopt));
  const auto refuse = [&] {
    return cursor_.error_at(
        raw.where, fmt::format("no {} from {} to {}", facts(raw.op).name, to_string(operand->dtype),
                               to_string(raw.cast_to)));
  };
  if (raw.op == Op::saturate && !is_integer(raw.cast_to)) return refuse();
  if (raw.op == Op::bitcast && (bytes_of(operand->dtype) != bytes_of(raw.cast_to) ||
                                operand->dtype == DType::b1 || raw.cast_to == DType::b1))
    return refuse();
  return cast_expr(raw.op, raw.cast_to, std::move(operand));
}

Result<Expr> ExprParser::build(const Raw& raw, std::optional<DType> wanted) {
  switch (raw.kind) {
    case Raw::Kind::leaf:
      return raw.leaf;
    case Raw::Kind::load:
      return build_load(raw);
    case Raw::Kind::integer:
    case Raw::Kind::real:
      return build_constant(raw, wanted);
    case Raw::Kind::op:
      break;
  }
  if (raw.op == Op::cast || raw.op == Op::saturate || raw.op == Op::bitcast)
    return build_conversion(raw);
  // The operands' type: what one of them says, else what the place wants of the result.
  const bool compares = raw.op >= Op::eq && raw.op <= Op::le;
  const size_t first_typed = raw.op == Op::select ? 1 : 0;
  std::optional<DType> type;
  for (size_t i = first_typed; i < raw.args.size() && !type; ++i) type = raw.args[i].type;
  if (!type && !compares) type = wanted;
  std::vector<Expr> args;
  for (size_t i = 0; i < raw.args.size(); ++i)
    args.push_back(TRY(build(raw.args[i], i < first_typed ? DType::b1 : type)));
  if (raw.exchanged) std::swap(args[0], args[1]);
  return build_op(raw, std::move(args));
}

Result<Expr> ExprParser::build_op(const Raw& raw, std::vector<Expr> args) {
  const std::string_view name = facts(raw.op).name;
  const size_t first_typed = raw.op == Op::select ? 1 : 0;
  const Expr& first = args[first_typed];
  const auto error = [&](const std::string& text) { return cursor_.error_at(raw.where, text); };
  if (first_typed == 1 && args[0]->dtype != DType::b1)
    return error(fmt::format("expected a condition of b1, found {}", to_string(args[0]->dtype)));
  for (size_t i = first_typed + 1; i < args.size(); ++i) {
    if (args[i]->dtype != first->dtype)
      return error(fmt::format("the operands of '{}' are {} and {}", name, to_string(first->dtype),
                               to_string(args[i]->dtype)));
    if (args[i]->lanes != first->lanes)
      return error(fmt::format("the operands of '{}' have {} and {} lanes", name, first->lanes,
                               args[i]->lanes));
  }
  if (first_typed == 1 && args[0]->lanes != 1 && args[0]->lanes != first->lanes)
    return error("the condition has another number of lanes than what it selects");
  if (raw.op == Op::broadcast || raw.op == Op::ramp) {
    if (first->lanes != 1 || (raw.op == Op::ramp && !is_integer(first->dtype)))
      return error(fmt::format("expected scalar operands of '{}'", name));
    const int lanes = static_cast<int>(raw.int_value);
    return raw.op == Op::broadcast ? broadcast_expr(args[0], lanes)
                                   : ramp_expr(args[0], args[1], lanes);
  }
  if (raw.op == Op::extract) {
    if (raw.int_value < 0 || raw.int_value >= first->lanes)
      return error(fmt::format("lane {} of {}", raw.int_value, first->lanes));
    return binary(Op::extract, args[0], index_constant(raw.int_value));
  }
  if (!accepts(raw.op, first->dtype))
    return error(fmt::format("'{}' does not take {}", name, to_string(first->dtype)));
  switch (args.size()) {
    case 1:
      return unary(raw.op, args[0]);
    case 2:
      return binary(raw.op, args[0], args[1]);
    default:
      return raw.op == Op::select ? select_expr(args[0], args[1], args[2])
                                  : fma_expr(args[0], args[1], args[2]);
  }
}

}  // namespace

std::unexpected<Error> unknown_name(const TextCursor& cursor, TextPosition where,
                                    std::string_view what, std::string_view name,
                                    const std::vector<std::string>& candidates) {
  std::string message = fmt::format("unknown {} '{}'", what, name);
  if (const auto near = closest(name, candidates)) {
    message += fmt::format(", did you mean '{}'?", *near);
  } else if (!candidates.empty() && candidates.size() <= 8) {
    message += fmt::format(", expected one of {}", join(candidates, ", "));
  }
  return cursor.error_at(where, message);
}

Result<Expr> parse_expr(TextCursor& cursor, const ExprSymbols& symbols,
                        std::optional<DType> wanted) {
  ExprParser parser(cursor, symbols);
  const Raw raw = TRY(parser.parse(0));
  return parser.build(raw, wanted);
}

Result<std::vector<Expr>> parse_indices(TextCursor& cursor, const ExprSymbols& symbols,
                                        std::string_view buffer_name, const BufferSymbol& buffer) {
  ExprParser parser(cursor, symbols);
  const std::vector<Raw> list = TRY(parser.indices(buffer_name, buffer));
  return parser.build_indices(list);
}

bool is_name(std::string_view name) {
  for (const std::string_view reserved :
       {"true", "false", "inf", "nan", "spatial", "reduce", "in", "where"})
    if (name == reserved) return false;
  TextCursor cursor(name, "");
  return !name.empty() && cursor.peek() != ' ' && cursor.accept_word() && cursor.at_end();
}

}  // namespace hone
