// SPDX-License-Identifier: Apache-2.0
#include "frontend/parser.h"

#include <charconv>
#include <cmath>
#include <limits>

namespace hone {
namespace {

class Parser {
 public:
  Parser(std::vector<Token> tokens, std::string file)
      : tokens_(std::move(tokens)), file_(std::move(file)) {}

  Result<std::vector<Statement>> statements() {
    std::vector<Statement> statements;
    skip_newlines();
    while (peek().kind != TokenKind::end) {
      statements.push_back(TRY(statement()));
      if (peek().kind != TokenKind::newline && peek().kind != TokenKind::end)
        return expected("an operator or the end of the statement");
      skip_newlines();
    }
    return statements;
  }

 private:
  // -- tokens
  // --------------------------------------------------------------------------------------

  const Token& peek(size_t ahead = 0) const {
    return tokens_[std::min(next_ + ahead, tokens_.size() - 1)];
  }
  Token take() {
    const Token token = peek();
    if (next_ + 1 < tokens_.size()) ++next_;
    return token;
  }
  bool accept(std::string_view text) {
    if (!peek().is(text)) return false;
    take();
    return true;
  }
  void skip_newlines() {
    while (peek().kind == TokenKind::newline) take();
  }

  std::unexpected<Error> expected(std::string_view what) const {
    return fail_at(file_, peek().place,
                   fmt::format("expected {}, found {}", what, describe(peek())));
  }
  Result<void> expect(std::string_view text) {
    if (accept(text)) return {};
    return expected(fmt::format("'{}'", text));
  }

  // After an element of a list: true when another one follows.
  Result<bool> another(std::string_view closing) {
    if (accept(closing)) return false;
    if (accept(",")) return true;
    return expected(fmt::format("',' or '{}'", closing));
  }

  Result<SyntaxName> name(std::string_view what) {
    if (peek().kind != TokenKind::word) return expected(what);
    if (is_reserved(peek().text))
      return fail_at(file_, peek().place,
                     fmt::format("expected {}, found '{}', which is a word of the language", what,
                                 peek().text));
    const Token token = take();
    return SyntaxName{std::string(token.text), token.place};
  }

  Result<int64_t> integer(std::string_view what) {
    const bool negative = peek().is("-") && peek(1).kind == TokenKind::number;
    const Token& token = peek(negative ? 1 : 0);
    if (token.kind != TokenKind::number) return expected(what);
    const std::string text = (negative ? "-" : "") + std::string(token.text);
    int64_t value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code == std::errc::result_out_of_range)
      return fail_at(file_, peek().place, fmt::format("{} does not fit in 64 bits", text));
    if (end != text.data() + text.size()) return expected(what);
    if (negative) take();
    take();
    return value;
  }

  // -- statements
  // ----------------------------------------------------------------------------------

  Result<Statement> statement() {
    if (peek().is("input") || peek().is("param")) return declaration();
    return computation();
  }

  Result<Statement> declaration() {
    Statement statement;
    statement.file = file_;
    statement.kind = take().is("input") ? StatementKind::input : StatementKind::param;
    statement.names.push_back(TRY(name("the name of a tensor")));
    statement.place = statement.names.front().place;
    TRYV(expect(":"));
    const auto dtype = parse_dtype(peek().text);
    if (!dtype) return unknown_dtype();
    take();
    statement.dtype = *dtype;
    TRYV(expect("["));
    if (accept("]")) return statement;
    do {
      statement.shape_places.push_back(peek().place);
      statement.shape.push_back(TRY(integer("an extent (an integer)")));
    } while (TRY(another("]")));
    return statement;
  }

  std::unexpected<Error> unknown_dtype() const {
    std::vector<std::string> names;
    for (int i = 0; i <= static_cast<int>(DType::f64); ++i)
      names.emplace_back(to_string(static_cast<DType>(i)));
    return expected_with_hint(fmt::format("an element type ({})", join(names, ", ")),
                              suggestion(peek().text, names));
  }

  std::unexpected<Error> expected_with_hint(std::string_view what, std::string_view hint) const {
    return fail_at(file_, peek().place,
                   fmt::format("expected {}, found {}{}", what, describe(peek()), hint));
  }

  Result<Statement> computation() {
    Statement statement;
    statement.file = file_;
    statement.output = accept("output");
    TRYV(results(statement));
    TRYV(expect("["));
    if (!accept("]")) statement.axes = TRY(axes("]"));
    TRYV(expect("="));
    TRYV(right_side(statement));
    return statement;
  }

  Result<void> results(Statement& statement) {
    statement.place = peek().place;
    if (accept("(")) {
      statement.tuple = true;
      do {
        statement.names.push_back(TRY(name("the name of a result")));
      } while (TRY(another(")")));
      return {};
    }
    const bool is_name = peek().kind == TokenKind::word && !is_reserved(peek().text);
    if (!is_name || !peek(1).is("[")) {
      const std::string hint = is_name ? suggestion(peek().text, {"input", "param", "output"}) : "";
      if (is_name && hint.empty()) take();
      return expected_with_hint(is_name && hint.empty()
                                    ? "'['"
                                    : "a statement ('input', 'param', 'output' or NAME[axes] = …)",
                                hint);
    }
    statement.names.push_back(TRY(name("the name of a tensor")));
    return {};
  }

  Result<std::vector<SyntaxAxis>> axes(std::string_view closing) {
    std::vector<SyntaxAxis> axes;
    do {
      SyntaxName axis_name = TRY(name("the name of an axis"));
      SyntaxAxis axis{std::move(axis_name.text), axis_name.place, std::nullopt, {}};
      if (accept(":")) {
        axis.extent_place = peek().place;
        axis.extent = TRY(integer("the extent of the axis (an integer)"));
      }
      axes.push_back(std::move(axis));
    } while (TRY(another(closing)));
    return axes;
  }

  // `max(k:10) X[k]` reduces, `max(a, b)` is a function: after a reducer stand axes, so a name is
  // followed by ':', or the closing bracket is followed by an expression in the same line.
  bool at_reducer() const {
    if (peek().kind != TokenKind::word || !find_reducer(peek().text) || !peek(1).is("("))
      return false;
    if (find_function(peek().text) == nullptr) return true;
    size_t i = 2;
    while (peek(i).kind == TokenKind::word && peek(i + 1).is(",")) i += 2;
    if (peek(i).kind != TokenKind::word) return false;
    if (peek(i + 1).is(":")) return true;
    if (i == 2 && peek(3).is(")")) return true;  // the functions take two operands
    const Token& after = peek(i + 2);
    const bool ends = after.is("then") || after.is("else") || after.is("to");
    return peek(i + 1).is(")") && !ends && (after.kind == TokenKind::word || after.is("("));
  }

  Result<void> right_side(Statement& statement) {
    if (at_reducer()) {
      statement.reducer_place = peek().place;
      statement.reducer = find_reducer(take().text)->reducer;
      take();  // "("
      statement.reduce_axes = TRY(axes(")"));
      if (statement.reducer == Reducer::fold) {
        skip_newlines();
        TRYV(expect("from"));
        statement.init = TRY(values(statement.tuple));
        TRYV(expect("to"));
      }
      skip_newlines();
    }
    statement.values = TRY(values(statement.tuple));
    return {};
  }

  Result<std::vector<Syntax>> values(bool tuple) {
    std::vector<Syntax> values;
    if (!tuple) {
      values.push_back(TRY(expression()));
      return values;
    }
    TRYV(expect("("));
    do {
      values.push_back(TRY(expression()));
    } while (TRY(another(")")));
    return values;
  }

  // -- expressions
  // ---------------------------------------------------------------------------------

  Result<Syntax> made(SyntaxNode node) const {
    const Place place = node.place;
    Syntax syntax = make_syntax(std::move(node));
    if (syntax->depth > kMaxDepth)
      return fail_at(file_, place,
                     fmt::format("the expression nests deeper than {} levels", kMaxDepth));
    return syntax;
  }

  Result<Syntax> expression() {
    if (++depth_ > kMaxDepth)
      return fail_at(file_, peek().place,
                     fmt::format("the expression nests deeper than {} levels", kMaxDepth));
    Syntax result = peek().is("if") ? TRY(conditional()) : TRY(infix(kOrPrecedence));
    --depth_;
    return result;
  }

  Result<Syntax> conditional() {
    SyntaxNode node{.kind = SyntaxKind::conditional, .place = take().place};
    node.args.push_back(TRY(expression()));
    TRYV(expect("then"));
    node.args.push_back(TRY(expression()));
    TRYV(expect("else"));
    node.args.push_back(TRY(expression()));
    return made(std::move(node));
  }

  const InfixOperator* infix_here() const {
    return peek().kind == TokenKind::sign ? find_infix(peek().text) : nullptr;
  }

  // Takes operators that bind at least as tightly as `precedence`.
  Result<Syntax> infix(int precedence) {
    Syntax left = TRY(prefix());
    for (;;) {
      const InfixOperator* row = infix_here();
      if (row == nullptr || row->precedence < precedence) return left;
      if (row->precedence == kComparePrecedence) {
        left = TRY(comparison(std::move(left)));
        continue;
      }
      SyntaxNode node{.kind = SyntaxKind::infix, .place = take().place};
      node.text = row->sign;
      node.args.push_back(std::move(left));
      node.args.push_back(TRY(operand(row->precedence + 1)));
      left = TRY(made(std::move(node)));
    }
  }

  // `a + if c then x else y` needs no brackets: the conditional takes all that follows.
  Result<Syntax> operand(int precedence) {
    return peek().is("if") ? expression() : infix(precedence);
  }

  Result<Syntax> comparison(Syntax first) {
    SyntaxNode node{.kind = SyntaxKind::compare, .place = peek().place};
    node.args.push_back(std::move(first));
    for (const InfixOperator* row = infix_here();
         row != nullptr && row->precedence == kComparePrecedence; row = infix_here()) {
      node.signs.emplace_back(take().text);
      node.args.push_back(TRY(operand(kComparePrecedence + 1)));
    }
    return made(std::move(node));
  }

  Result<Syntax> prefix() {
    if (!peek().is("-") && !peek().is("!")) return primary();
    if (++depth_ > kMaxDepth)
      return fail_at(file_, peek().place,
                     fmt::format("the expression nests deeper than {} levels", kMaxDepth));
    Syntax result;
    if (peek().is("-") && (peek(1).kind == TokenKind::number || peek(1).is("inf"))) {
      const Place place = take().place;
      result = TRY(number(place, true));
    } else {
      const Token sign = take();
      SyntaxNode node{.kind = sign.is("-") ? SyntaxKind::negate : SyntaxKind::negation,
                      .place = sign.place};
      node.args.push_back(TRY(prefix()));
      result = TRY(made(std::move(node)));
    }
    --depth_;
    return result;
  }

  // The sign belongs to the literal, so that -128 is an i8.
  Result<Syntax> number(Place place, bool negative) {
    const Token token = take();
    const std::string text = (negative ? "-" : "") + std::string(token.text);
    const bool whole = text.find_first_of(".eEin") == std::string::npos;
    SyntaxNode node{.kind = whole ? SyntaxKind::integer : SyntaxKind::decimal, .place = place};
    const char* const end = text.data() + text.size();
    const std::errc code = whole ? std::from_chars(text.data(), end, node.integer).ec
                                 : std::from_chars(text.data(), end, node.decimal).ec;
    if (code == std::errc::result_out_of_range)
      return fail_at(file_, place, fmt::format("the number {} is out of range", text));
    node.text = text;
    return made(std::move(node));
  }

  Result<Syntax> primary() {
    const Token& token = peek();
    if (token.kind == TokenKind::number || token.is("inf") || token.is("nan"))
      return number(token.place, false);
    if (token.is("true") || token.is("false")) {
      SyntaxNode node{.kind = SyntaxKind::boolean, .place = token.place};
      node.integer = take().is("true") ? 1 : 0;
      return made(std::move(node));
    }
    if (accept("(")) {
      Syntax inner = TRY(expression());
      if (!accept(")")) return expected("an operator or ')'");
      return inner;
    }
    if (token.kind != TokenKind::word) return expected("an expression");
    return reference();
  }

  Result<Syntax> reference() {
    if (at_reducer()) return inner_reducer();
    if (peek(1).is("(")) return call();
    SyntaxName found = TRY(name("an expression"));
    SyntaxNode node{.kind = SyntaxKind::name, .place = found.place, .text = std::move(found.text)};
    if (accept("[")) {
      node.kind = SyntaxKind::index;
      if (!accept("]")) node.args = TRY(arguments("]"));
    }
    return made(std::move(node));
  }

  std::unexpected<Error> inner_reducer() const {
    return fail_at(
        file_, peek().place,
        fmt::format("'{}' must stand alone on the right side of '=': give it a statement "
                    "of its own and read its result here",
                    peek().text));
  }

  Result<Syntax> call() {
    CastFunction cast;
    if (!find_function(peek().text) && !parse_cast(peek().text, cast)) {
      return fail_at(file_, peek().place,
                     fmt::format("expected a function, found '{}'{}", peek().text,
                                 suggestion(peek().text, callable_names())));
    }
    SyntaxNode node{.kind = SyntaxKind::call, .place = peek().place};
    node.text = take().text;
    take();  // "("
    if (!accept(")")) node.args = TRY(arguments(")"));
    return made(std::move(node));
  }

  Result<std::vector<Syntax>> arguments(std::string_view closing) {
    std::vector<Syntax> args;
    do {
      args.push_back(TRY(expression()));
    } while (TRY(another(closing)));
    return args;
  }

  std::vector<Token> tokens_;
  std::string file_;
  size_t next_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<std::vector<Statement>> parse_statements(const SourceText& source) {
  return Parser(TRY(lex(source)), source.name).statements();
}

}  // namespace hone
