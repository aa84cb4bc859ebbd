// SPDX-License-Identifier: Apache-2.0
//
// bench-ops FILE…: own operators beside oneDNN, XNNPACK and OpenBLAS.
//
// First each workload is tuned through the local device (trials of an earlier call with the same
// database count). Then this program starts itself three times for each workload; each process times
// the best kernel and the peers in turns, five samples a turn, three turns, and the least time of all
// processes is the result. The FMA peak is measured in the same processes. Own times come from the
// agent, which is how every time of a kernel comes about; it fills its buffers itself, peers get
// inputs of the same shapes.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/process.h"
#include "base/text.h"
#include "ir/text.h"
#include "measure/build.h"
#include "measure/runner.h"
#include "peers/case_toml.h"
#include "peers/machine.h"
#include "peers/peer.h"
#include "schedule/replay.h"
#include "tune/best.h"
#include "tune/reference.h"
#include "tune/tune.h"

namespace hone::bench {
namespace {

constexpr int kProcesses = 3;
constexpr int kTurns = 3;
constexpr int kSamplesPerTurn = 5;

struct Options {
  std::vector<std::string> files;
  int threads = 1;
  int64_t trials = 32;
  uint64_t seed = 0;
  std::string database = "bench-ops.db";
  bool json = false;
  int64_t time_only = -1;  // this is a timing process, of the workload with that number
};

struct Row {
  std::string workload;
  double own_ns = INFINITY;
  std::map<std::string, double> peers_ns;
  double peak_gflops = 0;
  double useful_flops = 0;
  std::string trouble;  // why there is no own time
};

Places places() {
  std::error_code ignored;
  const std::filesystem::path folder =
      std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path().parent_path();
  const std::string targets = (folder / "targets").string();
  return {targets,
          (folder / "agents").string(),
          {(folder / "hone").string(), "build-worker", "--targets", targets, "--target"}};
}

struct Loaded {
  PeerCase shape;
  Task task;
};

Result<std::vector<Loaded>> load(const Options& options) {
  std::vector<Loaded> result;
  for (const std::string& file : options.files) {
    const std::vector<PeerCase> shapes = TRY(load_cases(file));
    const std::vector<Workload> workloads = TRY(load_workloads(file));
    if (shapes.size() != workloads.size()) return fail("{}: the two readers disagree", file);
    for (size_t i = 0; i < shapes.size(); ++i)
      result.push_back({shapes[i], TRY(make_task(workloads[i]))});
  }
  return result;
}

Result<void> tune_all(const Options& options, const std::vector<Loaded>& all, Database& database) {
  TuneOptions tune;
  tune.trials = options.trials;
  tune.seed = options.seed;
  tune.threads = options.threads;
  tune.deadline_seconds = 10;
  const std::atomic<bool> never = false;
  for (const Loaded& one : all) {
    const TaskReport report =
        TRY(tune_task(one.task, tune, places(), database, [](const Progress&) {}, never));
    int64_t failures = 0;
    for (const auto& [kind, count] : report.failures) failures += count;
    fmt::print(stderr, "tuned {:<16} {} trials, {} failed, {:.1f} a second, best {:.1f} us\n",
               report.task, report.trials, failures, report.trials_per_second,
               report.best.value_or(NAN) / 1e3);
  }
  return {};
}

// -- one timing process ----------------------------------------------------------------------------------

struct Own {
  std::unique_ptr<Runner> runner;
  Built built;
  Answer answer;
  RunLimits limits;
};

Result<Own> prepare_own(const Options& options, const Task& task, Database& database) {
  const Target native = TRY(find_target(places().targets_folder, "native"));
  TrialFilter filter;
  filter.device = "local";
  filter.threads = options.threads;
  const BestRecord best = TRY(best_record(database, task, native, filter));
  const Program program = TRY(replay(task.program, best.trace, decisions_of(best.trace)));
  Own own;
  own.runner = TRY(open_runner({"local", places().agents_folder, native.agent}));
  const BuildResult built =
      build({print(program), own.runner->facts().load_address, true}, native);
  if (const auto* failure = std::get_if<Failure>(&built)) return fail("{}", failure->reason);
  own.built = std::get<Built>(built);
  const TaskData data = to_task_data(task);
  own.answer = TRY(reference_answer(task, data, places(), database));
  TRYV(own.runner->set_up(data));
  own.limits.threads = options.threads;
  own.limits.samples = kSamplesPerTurn;
  own.limits.deadline_seconds = 60;
  own.limits.max_total_seconds = 20;
  return own;
}

Result<Row> time_one(const Options& options, const Loaded& one, Database& database, double peak) {
  Row row;
  row.workload = one.shape.name;
  row.peak_gflops = peak;
  row.useful_flops = one.task.operations.useful;
  auto own = prepare_own(options, one.task, database);  // before pinning: children inherit the mask
  if (!own) row.trouble = own.error().message;
  const Inputs inputs = make_inputs(one.shape.shape, 1);
  std::vector<std::pair<std::string, MaybePeer>> peers;
  for (const PeerLibrary& library : peer_libraries()) {
    MaybePeer peer = TRY(library.prepare(one.shape.shape, inputs, options.threads));
    if (!peer) continue;
    TRYV(peer->run());
    peers.emplace_back(library.name, std::move(peer));
  }
  TRYV(pin_threads(options.threads));
  for (int turn = 0; turn < kTurns; ++turn) {
    if (own) {
      if (options.threads > 1) let_idle_workers_sleep();
      const Outcome outcome = TRY(own->runner->run(own->built, own->answer, own->limits));
      if (outcome.failure) {
        row.trouble = outcome.failure->reason;
      } else {
        row.own_ns = std::min(row.own_ns, score(outcome));
      }
    }
    for (const auto& [name, peer] : peers) {
      if (options.threads > 1) let_idle_workers_sleep();
      TimingOptions timing;
      timing.samples = kSamplesPerTurn;
      const double time = TRY(least_time_ns(*peer, timing));
      const auto [at, fresh] = row.peers_ns.emplace(name, time);
      if (!fresh) at->second = std::min(at->second, time);
    }
  }
  return row;
}

nlohmann::json to_json(const Row& row) {
  nlohmann::json line{{"workload", row.workload},         {"peak_gflops", row.peak_gflops},
                      {"useful_flops", row.useful_flops}, {"peers_ns", row.peers_ns},
                      {"trouble", row.trouble},           {"own_ns", nullptr}};
  if (std::isfinite(row.own_ns)) line["own_ns"] = row.own_ns;
  return line;
}

Result<void> time_and_print(const Options& options, const std::vector<Loaded>& all,
                            Database& database) {
  const auto number = static_cast<size_t>(options.time_only);
  ENSURE(number < all.size(), "no workload number {}", number);
  const double peak = TRY(fma_peak_gflops(options.threads));
  fmt::print("{}\n", to_json(TRY(time_one(options, all[number], database, peak))).dump());
  return {};
}

// -- the comparison --------------------------------------------------------------------------------------

Result<std::vector<std::string>> command_line() {
  std::string raw = TRY(read_file("/proc/self/cmdline"));
  std::vector<std::string> arguments;
  while (!raw.empty()) {
    arguments.push_back(raw.substr(0, raw.find('\0')));
    raw.erase(0, arguments.back().size() + 1);
  }
  arguments[0] = "/proc/self/exe";
  return arguments;
}

// The better of what was found so far and what one more process printed.
void take_better(Row& row, const nlohmann::json& line) {
  row.workload = line.at("workload");
  row.useful_flops = line.at("useful_flops");
  row.peak_gflops = std::max(row.peak_gflops, line.at("peak_gflops").get<double>());
  row.trouble = line.at("trouble");
  if (line.at("own_ns").is_number())
    row.own_ns = std::min(row.own_ns, line.at("own_ns").get<double>());
  for (const auto& [name, time] : line.at("peers_ns").items()) {
    const auto [at, fresh] = row.peers_ns.emplace(name, time.get<double>());
    if (!fresh) at->second = std::min(at->second, time.get<double>());
  }
}

Result<std::vector<Row>> run_timing_processes(const std::vector<Loaded>& all) {
  std::vector<std::string> command = TRY(command_line());
  command.push_back("--time-only");
  command.emplace_back();
  std::vector<Row> rows(all.size());
  for (int process = 0; process < kProcesses; ++process) {
    for (size_t i = 0; i < all.size(); ++i) {
      command.back() = std::to_string(i);
      const CommandOutput output = TRY(run_command(command, Deadline::max()));
      const nlohmann::json line = nlohmann::json::parse(output.text, nullptr, false);
      if (line.is_discarded())
        return fail("the timing process of {} ended with {}", all[i].shape.name,
                    output.status.text());
      take_better(rows[i], line);
    }
  }
  return rows;
}

void print_row(const Row& row, const Options& options) {
  const double gflops = row.useful_flops / row.own_ns;
  if (options.json) {
    nlohmann::json line{{"workload", row.workload},
                        {"threads", options.threads},
                        {"trials", options.trials},
                        {"own_us", nullptr},
                        {"peers_us", nlohmann::json::object()},
                        {"ratio", nlohmann::json::object()},
                        {"peak_fraction", gflops / row.peak_gflops},
                        {"useful_gflops", gflops}};
    if (std::isfinite(row.own_ns)) line["own_us"] = row.own_ns / 1e3;
    for (const auto& [name, time] : row.peers_ns) {
      line["peers_us"][name] = time / 1e3;
      line["ratio"][name] = time / row.own_ns;
    }
    fmt::print("{}\n", line.dump());
    return;
  }
  fmt::print("{:<16} {:>11.1f} {:>9.1f} {:>6.1f}%", row.workload, row.own_ns / 1e3, gflops,
             100 * gflops / row.peak_gflops);
  for (const PeerLibrary& library : peer_libraries()) {
    const auto peer = row.peers_ns.find(std::string(library.name));
    if (peer == row.peers_ns.end()) {
      fmt::print(" {:>11} {:>6}", "-", "-");
    } else {
      fmt::print(" {:>11.1f} {:>6.2f}", peer->second / 1e3, peer->second / row.own_ns);
    }
  }
  fmt::print("  {}\n", row.trouble);
}

Result<void> compare_all(const Options& options) {
  const std::vector<Loaded> all = TRY(load(options));
  const auto database = TRY(open_sqlite(options.database));
  if (options.time_only >= 0) return time_and_print(options, all, *database);
  TRYV(tune_all(options, all, *database));
  const std::vector<Row> rows = TRY(run_timing_processes(all));
  if (!options.json) {
    fmt::print("{} thread(s), {} trials, seed {}; ratio = peer's time / own time\n", options.threads,
               options.trials, options.seed);
    fmt::print("{:<16} {:>11} {:>9} {:>7}", "workload", "own us", "GFLOP/s", "peak");
    for (const PeerLibrary& library : peer_libraries())
      fmt::print(" {:>11} {:>6}", library.name, "ratio");
    fmt::print("\n");
  }
  for (const Row& row : rows) print_row(row, options);
  if (options.json) return {};
  fmt::print("geometric mean of ratios:");
  for (const PeerLibrary& library : peer_libraries()) {
    double logs = 0;
    int count = 0;
    for (const Row& row : rows) {
      const auto peer = row.peers_ns.find(std::string(library.name));
      if (peer == row.peers_ns.end() || !std::isfinite(row.own_ns)) continue;
      logs += std::log(peer->second / row.own_ns);
      ++count;
    }
    if (count > 0) fmt::print("  {} {:.2f} ({})", library.name, std::exp(logs / count), count);
  }
  fmt::print("\n");
  return {};
}

}  // namespace
}  // namespace hone::bench

int main(int argc, char** argv) {
  hone::bench::Options options;
  CLI::App app("own operators beside oneDNN, XNNPACK and OpenBLAS");
  app.add_option("files", options.files, "workload files")->required()->check(CLI::ExistingFile);
  app.add_option("--threads", options.threads, "threads, pinned one a core (1)")
      ->check(CLI::Range(1, 64));
  app.add_option("--trials", options.trials, "for each workload (32)")->check(CLI::PositiveNumber);
  app.add_option("--seed", options.seed, "of the search (0)");
  app.add_option("--db", options.database, "trials are kept here (bench-ops.db)");
  app.add_flag("--json", options.json, "one object a workload");
  app.add_option("--time-only", options.time_only)->group("");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  auto done = hone::bench::start_clean(argv, options.threads);
  if (done) done = hone::bench::compare_all(options);
  if (done) return 0;
  fmt::print(stderr, "bench-ops: {}\n", done.error().message);
  return 2;
}
