// SPDX-License-Identifier: Apache-2.0
//
// Runs tests/cases/frontend/*.case: error messages to the letter, and golden graphs.
#include <doctest/doctest.h>

#include <filesystem>
#include <set>

#include "case_file.h"
#include "frontend/tasks.h"
#include "frontend/to_program.h"
#include "ir/text.h"

namespace hone {
namespace {

std::vector<TextCase> cases_of(const std::string& file) {
  const auto text = read_file(std::string(HONE_SOURCE_DIR) + "/tests/cases/frontend/" + file);
  REQUIRE_MESSAGE(text.has_value(), file);
  return parse_cases(*text);
}

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

std::string section(const TextCase& one, const std::string& name) {
  const auto found = one.sections.find(name);
  return found == one.sections.end() ? "" : found->second;
}

TEST_CASE("errors of the text language") {
  const auto cases = cases_of("language_errors.case");
  CHECK(cases.size() > 80);
  std::set<std::string> titles;
  for (const TextCase& one : cases) {
    CAPTURE(one.title);
    CHECK(titles.insert(one.title).second);
    const auto graph = parse_graph({one.sections.at("text"), "t", 1});
    const std::string got = graph ? "no error:\n" + print(*graph) : graph.error().message;
    CHECK(got == trimmed(one.sections.at("error")));
  }
}

TEST_CASE("errors of workload files") {
  const auto cases = cases_of("workload_errors.case");
  CHECK(cases.size() > 40);
  for (const TextCase& one : cases) {
    CAPTURE(one.title);
    const auto workloads = parse_workloads_toml(one.sections.at("text"), "w.toml");
    CHECK((workloads ? "no error" : workloads.error().message) ==
          trimmed(one.sections.at("error")));
  }
}

TEST_CASE("golden graphs and programs") {
  const auto cases = cases_of("golden.case");
  CHECK(cases.size() >= 12);
  for (const TextCase& one : cases) {
    CAPTURE(one.title);
    Graph graph;
    if (one.sections.contains("toml")) {
      const auto workloads = parse_workloads_toml(one.sections.at("toml"), "w.toml");
      REQUIRE_MESSAGE(workloads.has_value(), workloads.error().message);
      graph = workloads->front().graph;
    } else {
      const auto parsed = parse_graph({one.sections.at("text"), "t", 1});
      REQUIRE_MESSAGE(parsed.has_value(), parsed.error().message);
      graph = *parsed;
    }
    CHECK(trimmed(print(graph)) == trimmed(section(one, "graph")));
    const std::string program = print(to_program(graph, "golden"));
    CHECK(trimmed(program) == trimmed(section(one, "program")));
    const auto again = parse_program(program, "golden");
    REQUIRE_MESSAGE(again.has_value(), again.error().message);
    CHECK(print(*again) == program);
  }
}

}  // namespace
}  // namespace hone
