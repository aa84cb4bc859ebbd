// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <unistd.h>

namespace hone {
namespace {

bool is_word_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_word_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}

}  // namespace

void TextCursor::advance(size_t count) {
  for (; count > 0 && !at_end(); --count) {
    if (text_[offset_] == '\n') {
      ++position_.line;
      position_.column = 1;
    } else {
      ++position_.column;
    }
    ++offset_;
  }
}

void TextCursor::skip_blanks(bool newlines) {
  for (;;) {
    const char c = peek();
    if (c == ' ' || c == '\t' || c == '\r' || (newlines && c == '\n')) {
      advance();
    } else if (c == '#') {
      while (!at_end() && peek() != '\n') advance();
    } else {
      return;
    }
  }
}

bool TextCursor::looking_at(std::string_view token) {
  skip_blanks(false);
  if (!rest().starts_with(token)) return false;
  return !is_word_start(token.front()) || !is_word_char(peek(token.size()));
}

bool TextCursor::accept(std::string_view token) {
  if (!looking_at(token)) return false;
  advance(token.size());
  return true;
}

Result<void> TextCursor::expect(std::string_view token) {
  if (accept(token)) return {};
  return expected(fmt::format("'{}'", token));
}

std::optional<std::string_view> TextCursor::accept_word() {
  skip_blanks(false);
  if (!is_word_start(peek())) return std::nullopt;
  size_t length = 1;
  while (is_word_char(peek(length))) ++length;
  const std::string_view word = rest().substr(0, length);
  advance(length);
  return word;
}

Result<std::string_view> TextCursor::expect_word(std::string_view what) {
  if (const auto word = accept_word()) return *word;
  return expected(what);
}

Result<int64_t> TextCursor::expect_integer(std::string_view what) {
  skip_blanks(false);
  int64_t value = 0;
  const std::string_view text = rest();
  const auto [end, error_code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error_code == std::errc::result_out_of_range)
    return error(fmt::format("{} does not fit in 64 bits", what));
  if (error_code != std::errc()) return expected(what);
  advance(static_cast<size_t>(end - text.data()));
  return value;
}

Result<double> TextCursor::expect_number(std::string_view what) {
  skip_blanks(false);
  double value = 0;
  const std::string_view text = rest();
  const auto [end, error_code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error_code == std::errc::result_out_of_range)
    return error(fmt::format("{} does not fit in a double", what));
  if (error_code != std::errc()) return expected(what);
  advance(static_cast<size_t>(end - text.data()));
  return value;
}

Result<std::string> TextCursor::expect_quoted(std::string_view what) {
  skip_blanks(false);
  if (peek() != '"') return expected(what);
  advance();
  std::string value;
  while (peek() != '"') {
    if (at_end() || peek() == '\n') return expected("a closing '\"'");
    if (peek() == '\\') {
      advance();
      value += peek() == 'n' ? '\n' : peek();
    } else {
      value += peek();
    }
    advance();
  }
  advance();
  return value;
}

std::string TextCursor::found() const {
  if (at_end()) return "the end of the text";
  if (peek() == '\n' || peek() == '\r') return "the end of the line";
  size_t length = 1;
  if (is_word_char(peek()))
    while (is_word_char(peek(length))) ++length;
  return fmt::format("'{}'", rest().substr(0, length));
}

std::unexpected<Error> TextCursor::error_at(TextPosition where, const std::string& message) const {
  return fail("{}:{}:{}: {}", name_, where.line, where.column, message);
}

std::unexpected<Error> TextCursor::error(const std::string& message) const {
  return error_at(position_, message);
}

std::unexpected<Error> TextCursor::expected(std::string_view what) const {
  return error(fmt::format("expected {}, found {}", what, found()));
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

std::optional<std::string> closest(std::string_view word,
                                   const std::vector<std::string>& candidates) {
  std::optional<std::string> best;
  size_t best_distance = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    std::vector<size_t> row(candidate.size() + 1);
    for (size_t j = 0; j < row.size(); ++j) row[j] = j;
    for (size_t i = 1; i <= word.size(); ++i) {
      size_t diagonal = row[0];
      row[0] = i;
      for (size_t j = 1; j < row.size(); ++j) {
        const size_t substitute = diagonal + (word[i - 1] == candidate[j - 1] ? 0 : 1);
        diagonal = row[j];
        row[j] = std::min({substitute, row[j] + 1, row[j - 1] + 1});
      }
    }
    if (row.back() < best_distance) {
      best_distance = row.back();
      best = candidate;
    }
  }
  return best;
}

Result<std::string> read_file(const std::string& path) {
  std::error_code code;
  if (std::filesystem::is_directory(path, code)) return fail("cannot read {}: is a directory", path);
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return fail("cannot read {}: {}", path, std::strerror(errno));
  std::ostringstream content;
  content << stream.rdbuf();
  if (stream.bad()) return fail("cannot read {}: {}", path, std::strerror(errno));
  return std::move(content).str();
}

Result<void> write_file(const std::string& path, std::string_view content) {
  // What stands there and is no file (a device, a pipe) is written to; renaming over it would replace it.
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
      !std::filesystem::is_directory(status)) {
    std::ofstream stream(path, std::ios::binary);
    stream << content;
    stream.flush();
    if (!stream) return fail("cannot write {}: {}", path, std::strerror(errno));
    return {};
  }
  const std::string temporary = fmt::format("{}.{}.tmp", path, getpid());
  {
    std::ofstream stream(temporary, std::ios::binary | std::ios::trunc);
    stream << content;
    stream.flush();
    if (!stream) {
      const int code = errno;
      std::remove(temporary.c_str());
      return fail("cannot write {}: {}", path, std::strerror(code));
    }
  }
  if (std::rename(temporary.c_str(), path.c_str()) != 0) {
    const int code = errno;
    std::remove(temporary.c_str());
    return fail("cannot write {}: {}", path, std::strerror(code));
  }
  return {};
}

}  // namespace hone
