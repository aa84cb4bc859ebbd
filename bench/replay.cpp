// SPDX-License-Identifier: Apache-2.0
//
// bench-replay FILE…: what one candidate costs the host, stage by stage, on one thread.
//
// For each workload, candidates are drawn from its space as random search draws them (a draw that
// the constraints or lowering refuse is not counted). Then each stage runs over all of them in
// turns, three turns; the number of a stage is the median over candidates of the least time of a
// candidate.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/rng.h"
#include "codegen/codegen.h"
#include "frontend/tasks.h"
#include "frontend/workload.h"
#include "ir/text.h"
#include "lower/lower.h"
#include "schedule/replay.h"
#include "space/constraints.h"
#include "space/generate.h"

namespace hone::bench {
namespace {

constexpr int kTurns = 3;
constexpr int kDrawsPerCandidate = 1000;
constexpr uint64_t kLoadAddress = 0x10000000;

struct Options {
  std::vector<std::string> files;
  std::string targets;
  std::string target = "native";
  int candidates = 64;
  uint64_t seed = 0;
  bool json = false;
};

struct Drawn {
  size_t skeleton = 0;
  Decisions decisions;
};

enum Stage : size_t { kReplay, kPrint, kLower, kCompile, kLink, kStages };
constexpr const char* kStageNames[kStages] = {"replay", "print", "lower", "compile", "link"};

struct Row {
  std::string workload;
  double space_us = 0;  // making the design space, once a task
  int64_t draws = 0;    // that gave `candidates`
  int64_t candidates = 0;
  double us[kStages] = {};  // medians
};

double microseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
      .count();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::vector<Drawn> draw(const Options& options, const Task& task, const DesignSpace& space,
                        const Target& target, int64_t& draws) {
  Rng rng(options.seed);
  std::vector<Drawn> result;
  const int64_t limit = int64_t{options.candidates} * kDrawsPerCandidate;
  for (draws = 0; draws < limit && std::ssize(result) < options.candidates; ++draws) {
    const auto skeleton = static_cast<size_t>(rng.below(std::ssize(space.skeletons)));
    auto sampled = sample(task.program, space.skeletons[skeleton], rng);
    if (!sampled || !check_constraints(sampled->program, target)) continue;
    if (!lower(sampled->program, target, {})) continue;
    result.push_back({skeleton, std::move(sampled->decisions)});
  }
  return result;
}

// One candidate through all stages, as a build worker takes it; adds the least times to `best`.
Result<void> time_candidate(const Task& task, const Trace& skeleton, const Decisions& decisions,
                            const Target& target, CodeGenerator& generator,
                            double (&best)[kStages]) {
  const auto stage = [&](Stage which, auto&& work) {
    const auto start = std::chrono::steady_clock::now();
    auto result = work();
    best[which] = std::min(best[which], microseconds_since(start));
    return result;
  };
  const CodegenOptions names{.entry = "candidate", .optimize = true};
  const Program program =
      TRY(stage(kReplay, [&] { return replay(task.program, skeleton, decisions); }));
  stage(kPrint, [&] { return print(program); });
  const Kernel kernel = TRY(stage(kLower, [&] { return lower(program, target, {}); }));
  const ObjectCode object = TRY(stage(kCompile, [&] { return generator.compile(kernel, names); }));
  TRYV(stage(kLink, [&] { return link_image({{&object, names.entry}}, target, kLoadAddress); }));
  return {};
}

Result<Row> time_task(const Options& options, const Task& task, const Target& target,
                      CodeGenerator& generator) {
  Row row;
  row.workload = task.name;
  const auto start = std::chrono::steady_clock::now();
  const DesignSpace space = TRY(generate_space(task.program, target));
  row.space_us = microseconds_since(start);
  const std::vector<Drawn> drawn = draw(options, task, space, target, row.draws);
  row.candidates = std::ssize(drawn);
  if (drawn.empty()) return fail("{}: no candidate in {} draws", task.name, row.draws);

  std::vector<double> all[kStages];
  for (const Drawn& one : drawn) {
    double best[kStages];
    std::fill(std::begin(best), std::end(best), std::numeric_limits<double>::infinity());
    for (int turn = 0; turn < kTurns; ++turn)
      TRYV(time_candidate(task, space.skeletons[one.skeleton], one.decisions, target, generator,
                          best));
    for (size_t i = 0; i < kStages; ++i) all[i].push_back(best[i]);
  }
  for (size_t i = 0; i < kStages; ++i) row.us[i] = median(all[i]);
  return row;
}

void print_json(const Row& row, const Options& options) {
  nlohmann::json line{{"workload", row.workload}, {"target", options.target},
                      {"seed", options.seed},     {"candidates", row.candidates},
                      {"draws", row.draws},       {"space_us", row.space_us}};
  for (size_t i = 0; i < kStages; ++i) line[fmt::format("{}_us", kStageNames[i])] = row.us[i];
  fmt::print("{}\n", line.dump());
}

void print_row(const Row& row) {
  fmt::print("{:<20} {:>4}/{:<6} {:>9.0f}", row.workload, row.candidates, row.draws, row.space_us);
  for (const double us : row.us) fmt::print(" {:>9.1f}", us);
  fmt::print("   {:>8.0f} {:>8.0f} {:>7.0f}\n", 1e6 / row.us[kReplay], 1e6 / row.us[kLower],
             1e6 / row.us[kCompile]);
}

Result<void> time_all(const Options& options) {
  const Target target = TRY(find_target(options.targets, options.target));
  const auto start = std::chrono::steady_clock::now();
  CodeGenerator generator = TRY(CodeGenerator::create(target));
  if (!options.json) {
    fmt::print("target {}, seed {}; code generator set up in {:.1f} ms; medians in us\n",
               target.name, options.seed, microseconds_since(start) / 1e3);
    fmt::print("{:<20} {:>11} {:>9}", "workload", "drawn", "space");
    for (const char* name : kStageNames) fmt::print(" {:>9}", name);
    fmt::print("   {:>8} {:>8} {:>7}\n", "replay/s", "lower/s", "comp./s");
  }
  for (const std::string& file : options.files) {
    for (const Workload& workload : TRY(load_workloads(file))) {
      const Row row = TRY(time_task(options, TRY(make_task(workload)), target, generator));
      options.json ? print_json(row, options) : print_row(row);
      std::fflush(stdout);
    }
  }
  return {};
}

std::string default_targets() {
  std::error_code ignored;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  return (self.parent_path().parent_path() / "targets").string();
}

}  // namespace
}  // namespace hone::bench

int main(int argc, char** argv) {
  hone::bench::Options options;
  options.targets = hone::bench::default_targets();
  CLI::App app("what one candidate costs the host: replay, lowering, compiling, linking");
  app.add_option("files", options.files, "workload files")->required()->check(CLI::ExistingFile);
  app.add_option("--target", options.target, "name of a target (native)");
  app.add_option("--candidates", options.candidates, "for each workload (64)")
      ->check(CLI::Range(1, 100'000));
  app.add_option("--seed", options.seed, "of the draws (0)");
  app.add_flag("--json", options.json, "one object a workload");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const auto done = hone::bench::time_all(options);
  if (done) return 0;
  fmt::print(stderr, "bench-replay: {}\n", done.error().message);
  return 2;
}
