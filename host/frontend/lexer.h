// SPDX-License-Identifier: Apache-2.0
//
// Text to tokens. A statement ends with its line, unless the line cannot be complete: inside
// brackets, after an operator, or when the next line begins with an operator, `then` or `else`. The
// lexer decides that, so the parser sees a newline only where it ends a statement.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/text.h"
#include "frontend/syntax.h"

namespace hone {

enum class TokenKind : uint8_t { word, number, sign, newline, end };

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;  // into the text that was lexed
  Place place;

  bool is(std::string_view expected) const {
    return (kind == TokenKind::word || kind == TokenKind::sign) && text == expected;
  }
};

// "'foo'", "the end of the line", "the end of the text"
std::string describe(const Token& token);

struct SourceText {
  std::string_view text;
  std::string name;    // stands before line and column in errors
  int first_line = 1;  // of the text, when it is a part of a larger file
};

Result<std::vector<Token>> lex(const SourceText& source);

// "; did you mean 'input'?", or nothing when no candidate is near. Names of one letter are all near
// each other, so nothing is suggested for them.
std::string suggestion(std::string_view word, const std::vector<std::string>& candidates);

std::unexpected<Error> fail_at(std::string_view file, Place place, const std::string& message);

}  // namespace hone
