// SPDX-License-Identifier: Apache-2.0
//
// Runs the cases of a folder: run_cases FOLDER [--update]. A case needs no C++. Sections:
//
//   before     a Program; or `workload`, a computation in the text language
//   trace      a trace
//   decisions  optional: a row of decisions for a trace that is open
//   after      the Program that it must give
//   error      or the message that it must give
//
// Beside the text each case is a test of meaning: every step must verify, the trace must print and
// parse to itself, and the result must compute what the first Program computes. --update writes
// what comes out into the files; the difference is then yours to read.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "base/text.h"
#include "case_file.h"
#include "frontend/graph.h"
#include "frontend/to_program.h"
#include "ir/interpret.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "schedule/replay.h"
#include "schedule/trace.h"

namespace hone {
namespace {

struct Outcome {
  bool failed = false;  // the case says `error`
  std::string text;     // of the Program, or the message and a line end
};

Result<Program> first_program(const TextCase& one) {
  if (const auto text = one.sections.find("before"); text != one.sections.end())
    return parse_program(text->second, "before");
  const auto text = one.sections.find("workload");
  if (text == one.sections.end()) return fail("the case has neither `before` nor `workload`");
  const Graph graph = TRY(parse_graph({text->second, "workload", 1}));
  return to_program(graph, "workload");
}

// Error: the case cannot run, or its result is wrong whatever the text says.
Result<Outcome> run_case(const TextCase& one) {
  if (!one.sections.contains("trace")) return fail("the case has no `trace`");
  const Program before = TRY(first_program(one));
  TRYV(verify(before));
  const Result<Trace> trace = parse_trace(one.sections.at("trace"), "trace");
  if (!trace) return Outcome{true, trace.error().message + "\n"};
  if (const Result<Trace> again = parse_trace(print(*trace), "printed"); !again || *again != *trace)
    return fail("the trace does not print and parse to itself:\n{}", print(*trace));
  Decisions decisions;
  if (const auto row = one.sections.find("decisions"); row != one.sections.end())
    decisions = TRY(parse_decisions(row->second, "decisions"));

  Result<void> steps;
  const Result<Program> after =
      replay_steps(before, *trace, decisions, [&](size_t number, const Program& program) {
        if (!steps) return;
        if (auto good = verify(program); !good)
          steps = std::unexpected(within(good.error(), "after instruction {}", number));
      });
  TRYV(steps);
  if (!after) return Outcome{true, after.error().message + "\n"};
  TRYV(check_equivalent(before, *after, 1));
  return Outcome{false, print(*after)};
}

// The file with what came out in the place of its `after` and `error` sections.
std::string updated(const std::string& text, const std::vector<Outcome>& outcomes) {
  std::string result;
  size_t next = 0;
  bool in_case = false;
  bool skipping = false;
  const auto finish = [&] {
    if (!in_case) return;
    const Outcome& outcome = outcomes[next++];
    result += std::string("--- ") + (outcome.failed ? "error" : "after") + "\n" + outcome.text;
  };
  for (const std::string_view line : split_lines(text)) {
    if (line.starts_with("=== ")) {
      finish();
      in_case = true;
      skipping = false;
    } else if (line.starts_with("--- ")) {
      skipping = line == "--- after" || line == "--- error";
    }
    if (!skipping) result += std::string(line) + "\n";
  }
  finish();
  return result;
}

bool check(const TextCase& one, const Outcome& outcome) {
  const std::string name = outcome.failed ? "error" : "after";
  const auto expected = one.sections.find(name);
  const bool same = expected != one.sections.end() && expected->second == outcome.text;
  if (same) return true;
  std::printf("  expected:\n");
  for (const char* section : {"after", "error"})
    if (const auto found = one.sections.find(section); found != one.sections.end())
      std::printf("--- %s\n%s", section, found->second.c_str());
  std::printf("  came out:\n--- %s\n%s", name.c_str(), outcome.text.c_str());
  return false;
}

// Number of cases that failed; -1: the file cannot be read.
int run_file(const std::string& path, bool update, int& total) {
  const Result<std::string> text = read_file(path);
  if (!text) {
    std::printf("%s\n", text.error().message.c_str());
    return -1;
  }
  int failures = 0;
  std::vector<Outcome> outcomes;
  for (const TextCase& one : parse_cases(*text)) {
    ++total;
    const Result<Outcome> outcome = run_case(one);
    outcomes.push_back(outcome ? *outcome : Outcome{true, outcome.error().message + "\n"});
    bool good = outcome.has_value();
    if (!outcome) std::printf("  %s\n", outcome.error().message.c_str());
    if (outcome && !update) good = check(one, *outcome);
    if (!good) std::printf("FAILED %s: %s\n", path.c_str(), one.title.c_str());
    failures += good ? 0 : 1;
  }
  if (update && failures == 0)
    if (const auto written = write_file(path, updated(*text, outcomes)); !written)
      std::printf("%s\n", written.error().message.c_str());
  return failures;
}

int run_folder(const std::string& folder, bool update) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (entry.path().extension() == ".case") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  int total = 0;
  int failures = 0;
  for (const std::string& file : files) {
    const int failed = run_file(file, update, total);
    if (failed < 0) return 2;
    failures += failed;
  }
  std::printf("%d cases in %zu files, %d failed\n", total, files.size(), failures);
  return failures > 0 || total == 0 ? 1 : 0;
}

}  // namespace
}  // namespace hone

int main(int argc, char** argv) {
  const bool update = argc == 3 && std::string_view(argv[2]) == "--update";
  if (argc < 2 || (argc == 3 && !update) || argc > 3) {
    std::printf(
        "usage: run_cases FOLDER [--update], FOLDER being tests/cases/trace or another of its "
        "kind\n");
    return 2;
  }
  return hone::run_folder(argv[1], update);
}
