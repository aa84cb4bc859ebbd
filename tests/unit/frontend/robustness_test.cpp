// SPDX-License-Identifier: Apache-2.0
//
// Damaged texts: whatever stands in a file ends in a Graph or in a message with its place.
#include <doctest/doctest.h>

#include <cctype>

#include "base/rng.h"
#include "case_file.h"
#include "frontend/workload.h"

namespace hone {
namespace {

std::vector<std::string> texts_of(const std::string& file, const std::string& section) {
  const auto text = read_file(std::string(HONE_SOURCE_DIR) + "/tests/cases/frontend/" + file);
  REQUIRE_MESSAGE(text.has_value(), file);
  std::vector<std::string> texts;
  for (const TextCase& one : parse_cases(*text))
    if (const auto found = one.sections.find(section); found != one.sections.end())
      texts.push_back(found->second);
  return texts;
}

std::string damaged(std::string text, const std::vector<std::string>& others, Rng& rng) {
  for (int64_t edits = rng.between(1, 4); edits > 0 && !text.empty(); --edits) {
    const size_t at = static_cast<size_t>(rng.below(static_cast<int64_t>(text.size())));
    const size_t length = static_cast<size_t>(rng.between(1, 6));
    const std::string& other =
        others[static_cast<size_t>(rng.below(static_cast<int64_t>(others.size())))];
    switch (rng.below(4)) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.insert(at, text.substr(text.size() - std::min(text.size(), at), length));
        break;
      case 2:
        text[at] = static_cast<char>(rng.between(1, 255));
        break;
      default:
        text.insert(at, other.substr(other.size() / 2, length));
        break;
    }
  }
  return text;
}

// NAME:LINE:COLUMN: message
bool has_place(const std::string& message, const std::string& name) {
  if (!message.starts_with(name + ":")) return false;
  size_t at = name.size() + 1;
  for (int part = 0; part < 2; ++part) {
    const size_t start = at;
    while (at < message.size() && std::isdigit(static_cast<unsigned char>(message[at])) != 0) ++at;
    if (at == start || message[at] != ':') return false;
    ++at;
  }
  return message.size() > at + 1;
}

TEST_CASE("damaged texts of the language") {
  constexpr uint64_t kSeed = 31337;
  MESSAGE("seed " << kSeed);
  Rng rng(kSeed);
  std::vector<std::string> texts = texts_of("golden.case", "text");
  for (const std::string& text : texts_of("language_errors.case", "text"))
    if (text.size() < 400) texts.push_back(text);
  int good = 0;
  for (int round = 0; round < 20000; ++round) {
    const std::string text = damaged(
        texts[static_cast<size_t>(rng.below(static_cast<int64_t>(texts.size())))], texts, rng);
    const auto graph = parse_graph({text, "t", 1});
    if (graph) {
      ++good;
      const auto again = parse_graph({print(*graph), "t", 1});
      CHECK_MESSAGE(again.has_value(), text);
      continue;
    }
    CHECK_MESSAGE(has_place(graph.error().message, "t"), graph.error().message);
  }
  CHECK(good > 30);
}

TEST_CASE("damaged workload files") {
  constexpr uint64_t kSeed = 42;
  MESSAGE("seed " << kSeed);
  Rng rng(kSeed);
  std::vector<std::string> texts = texts_of("golden.case", "toml");
  for (const std::string& text : texts_of("workload_errors.case", "text")) texts.push_back(text);
  int good = 0;
  for (int round = 0; round < 20000; ++round) {
    const std::string text = damaged(
        texts[static_cast<size_t>(rng.below(static_cast<int64_t>(texts.size())))], texts, rng);
    const auto workloads = parse_workloads_toml(text, "w.toml");
    good += workloads.has_value();
    if (!workloads)
      CHECK_MESSAGE(has_place(workloads.error().message, "w.toml"), workloads.error().message);
  }
  CHECK(good > 10);
}

}  // namespace
}  // namespace hone
