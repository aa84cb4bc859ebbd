// SPDX-License-Identifier: Apache-2.0
//
// The one cursor that every text form of the house is parsed with: it knows line and column, and its
// errors read "file:line:column: expected X, found Y".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hone {

struct TextPosition {
  int line = 1;
  int column = 1;
};

class TextCursor {
 public:
  // `name` stands before the position in errors (a file, or what the text is).
  // `first_line` shifts line numbers when the text is a part of a larger file.
  TextCursor(std::string_view text, std::string name, int first_line = 1)
      : text_(text), name_(std::move(name)) {
    position_.line = first_line;
  }

  bool at_end() const { return offset_ >= text_.size(); }
  char peek(size_t ahead = 0) const {
    return offset_ + ahead < text_.size() ? text_[offset_ + ahead] : '\0';
  }
  void advance(size_t count = 1);
  size_t offset() const { return offset_; }
  TextPosition position() const { return position_; }
  std::string_view rest() const { return text_.substr(offset_); }

  // Skips blanks, tabs and comments (`#` to the end of the line); with `newlines`, line ends too.
  void skip_blanks(bool newlines);
  // Skips blanks, then takes `token` if it stands here (a word token only as a whole word).
  bool accept(std::string_view token);
  Result<void> expect(std::string_view token);
  // Skips blanks, then says whether `token` stands here.
  bool looking_at(std::string_view token);

  std::optional<std::string_view> accept_word();  // [A-Za-z_][A-Za-z0-9_.]*
  Result<std::string_view> expect_word(std::string_view what);
  Result<int64_t> expect_integer(std::string_view what);  // with an optional minus sign
  Result<double> expect_number(std::string_view what);    // integer, decimal, exponent, inf, nan
  Result<std::string> expect_quoted(std::string_view what);  // "…" with \" \\ \n

  // What stands at the cursor, for a message: "'foo'", "end of line", "end of text".
  std::string found() const;
  std::unexpected<Error> error(const std::string& message) const;
  std::unexpected<Error> error_at(TextPosition where, const std::string& message) const;
  std::unexpected<Error> expected(std::string_view what) const;

 private:
  std::string_view text_;
  std::string name_;
  size_t offset_ = 0;
  TextPosition position_;
};

std::vector<std::string_view> split_lines(std::string_view text);
std::string join(const std::vector<std::string>& parts, std::string_view separator);
// The candidate closest to `word` by edit distance if it is close enough to be a typing slip.
std::optional<std::string> closest(std::string_view word, const std::vector<std::string>& candidates);

Result<std::string> read_file(const std::string& path);
// Writes to a temporary file beside `path`, then renames it: readers see the old or the new text.
Result<void> write_file(const std::string& path, std::string_view content);

}  // namespace hone
