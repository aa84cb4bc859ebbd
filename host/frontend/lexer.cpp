// SPDX-License-Identifier: Apache-2.0
#include "frontend/lexer.h"

#include <array>
#include <cctype>

namespace hone {
namespace {

// Longer signs first, so that `<=` is not read as `<`.
constexpr std::array<std::string_view, 27> kSigns = {
    "||", "&&", "==", "!=", "<=", ">=", "<<", ">>", "//", "<", ">", "|", "^", "&",
    "+",  "-",  "*",  "/",  "%",  "!",  "=",  ",",  ":",  "(", ")", "[", "]"};

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_word_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_word_char(char c) { return is_word_start(c) || is_digit(c); }

size_t number_length(const TextCursor& cursor) {
  size_t length = 0;
  while (is_digit(cursor.peek(length))) ++length;
  if (cursor.peek(length) == '.' && is_digit(cursor.peek(length + 1))) {
    ++length;
    while (is_digit(cursor.peek(length))) ++length;
  }
  if (cursor.peek(length) == 'e' || cursor.peek(length) == 'E') {
    size_t exponent = length + 1;
    if (cursor.peek(exponent) == '+' || cursor.peek(exponent) == '-') ++exponent;
    if (is_digit(cursor.peek(exponent))) {
      length = exponent;
      while (is_digit(cursor.peek(length))) ++length;
    }
  }
  return length;
}

size_t sign_length(std::string_view rest) {
  for (const std::string_view sign : kSigns)
    if (rest.starts_with(sign)) return sign.size();
  return 0;
}

// An infix sign or a word that goes on with an expression: no statement starts or ends with it.
bool continues(const Token& token) {
  if (token.kind == TokenKind::sign)
    return find_infix(token.text) != nullptr || token.text == "=" || token.text == "," ||
           token.text == ":" || token.text == "!";
  return token.is("if") || token.is("then") || token.is("else") || token.is("from") ||
         token.is("to");
}

// Drops the newlines that do not end a statement.
std::vector<Token> drop_inner_newlines(const std::vector<Token>& tokens) {
  std::vector<Token> kept;
  int depth = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const Token& token = tokens[i];
    if (token.is("(") || token.is("[")) ++depth;
    if (token.is(")") || token.is("]")) depth = std::max(0, depth - 1);
    if (token.kind == TokenKind::newline) {
      size_t next = i + 1;
      while (tokens[next].kind == TokenKind::newline) ++next;
      const bool inner = depth > 0 || (!kept.empty() && continues(kept.back())) ||
                         (continues(tokens[next]) && !tokens[next].is("if"));
      const bool repeated = kept.empty() || kept.back().kind == TokenKind::newline;
      if (inner || repeated) continue;
    }
    kept.push_back(token);
  }
  return kept;
}

}  // namespace

std::string describe(const Token& token) {
  if (token.kind == TokenKind::end) return "the end of the text";
  if (token.kind == TokenKind::newline) return "the end of the line";
  return fmt::format("'{}'", token.text);
}

std::string suggestion(std::string_view word, const std::vector<std::string>& candidates) {
  if (word.size() < 2) return "";
  const auto near = closest(word, candidates);
  return near ? fmt::format("; did you mean '{}'?", *near) : "";
}

std::unexpected<Error> fail_at(std::string_view file, Place place, const std::string& message) {
  return fail("{}:{}:{}: {}", file, place.line, place.column, message);
}

Result<std::vector<Token>> lex(const SourceText& source) {
  TextCursor cursor(source.text, source.name, source.first_line);
  std::vector<Token> tokens;
  for (;;) {
    cursor.skip_blanks(false);
    const Place place{cursor.position().line, cursor.position().column};
    if (cursor.at_end()) {
      tokens.push_back({TokenKind::newline, {}, place});
      tokens.push_back({TokenKind::end, {}, place});
      return drop_inner_newlines(tokens);
    }
    TokenKind kind = TokenKind::sign;
    size_t length = 0;
    if (cursor.peek() == '\n') {
      kind = TokenKind::newline;
      length = 1;
    } else if (is_word_start(cursor.peek())) {
      kind = TokenKind::word;
      while (is_word_char(cursor.peek(length))) ++length;
    } else if (is_digit(cursor.peek())) {
      kind = TokenKind::number;
      length = number_length(cursor);
      if (is_word_char(cursor.peek(length)))
        return cursor.error(fmt::format("a number must not run into a word, found '{}'",
                                        cursor.rest().substr(0, length + 1)));
    } else {
      length = sign_length(cursor.rest());
    }
    if (length == 0)
      return cursor.error(fmt::format("the sign {} means nothing here", cursor.found()));
    tokens.push_back({kind, cursor.rest().substr(0, length), place});
    cursor.advance(length);
  }
}

}  // namespace hone
