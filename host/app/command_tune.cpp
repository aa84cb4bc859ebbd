// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <csignal>
#include <memory>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "app/command.h"
#include "app/options.h"
#include "app/selection.h"
#include "tune/tune.h"

namespace hone {
namespace {

struct Options {
  Selection selection;
  TuneOptions tune;
  std::string database = "hone.db";
  bool json = false;
};

// Set by Ctrl-C, a terminal that goes away, or a supervisor; the run ends after the candidate that is
// being measured. A second one kills.
std::atomic<bool> stop_requested = false;

void request_stop(int signal) {
  stop_requested = true;
  std::signal(signal, SIG_DFL);
}

std::string in_words(double time, TimeUnit unit) {
  if (unit != TimeUnit::ns) return fmt::format("{:.0f} {}", time, to_string(unit));
  if (time >= 1e9) return fmt::format("{:.3f} s", time * 1e-9);
  if (time >= 1e6) return fmt::format("{:.3f} ms", time * 1e-6);
  return fmt::format("{:.2f} us", time * 1e-3);
}

std::string speed_in_words(const Progress& progress) {
  if (!progress.best) return "nothing measured yet";
  std::string text = in_words(*progress.best, progress.unit);
  if (progress.unit == TimeUnit::ns && progress.task->operations.useful > 0)
    text += fmt::format(" ({:.1f} GFLOP/s)", progress.task->operations.useful / *progress.best);
  return text;
}

// A terminal gets one line that changes; a pipe a line for each new best; --json an object for each.
class Reporter {
 public:
  explicit Reporter(bool json) : json_(json), terminal_(!json && isatty(STDOUT_FILENO) != 0) {}

  void progress(const Progress& now) {
    if (json_) {
      if (now.new_best)
        print_json({{"event", "best"}, {"task", now.task->name}, {"trial", now.trials},
                    {"unit", to_string(now.unit)}, {"best", *now.best}, {"seconds", now.seconds}});
    } else if (terminal_) {
      fmt::print("\r\x1b[K{}  {}/{}  best {}  {} failed  {:.0f} s left", now.task->name, now.trials,
                 now.wanted, speed_in_words(now), now.failures, std::max(0.0, now.seconds_left));
      std::fflush(stdout);
    } else if (now.new_best) {
      fmt::print("{}  trial {}  {}\n", now.task->name, now.trials, speed_in_words(now));
      std::fflush(stdout);
    }
  }

  void report(const TaskReport& report) {
    if (json_) {
      nlohmann::json line{{"event", "task"},
                          {"task", report.task},
                          {"target", report.target},
                          {"device", report.device},
                          {"unit", to_string(report.unit)},
                          {"emulated", report.emulated},
                          {"best", nullptr},
                          {"gflops", report.gflops},
                          {"trials", report.trials},
                          {"resumed", report.resumed},
                          {"failures", report.failures},
                          {"seconds", report.seconds},
                          {"trials_per_second", report.trials_per_second},
                          {"interrupted", report.interrupted},
                          {"exhausted", report.exhausted}};
      if (report.best) line["best"] = *report.best;
      print_json(line);
      return;
    }
    if (terminal_) fmt::print("\r\x1b[K");
    std::string failures;
    for (const auto& [kind, count] : report.failures) failures += fmt::format("  {} {}", count, kind);
    fmt::print("{}  {}  {}  best {}{}  {} trials{}{}  {:.1f} s{}\n", report.task, report.target,
               report.device, report.best ? in_words(*report.best, report.unit) : "none",
               report.gflops > 0 && !report.emulated ? fmt::format(" ({:.1f} GFLOP/s)", report.gflops)
                                                     : "",
               report.trials, report.resumed > 0 ? fmt::format(" ({} known)", report.resumed) : "",
               failures.empty() ? "" : " :" + failures, report.seconds,
               report.emulated     ? "  (emulated: not a core's time)"
               : report.exhausted  ? "  (no further candidates)"
               : report.interrupted ? "  (stopped; the same command goes on)"
                                   : "");
    std::fflush(stdout);
  }

 private:
  static void print_json(const nlohmann::json& line) {
    fmt::print("{}\n", line.dump());
    std::fflush(stdout);
  }

  bool json_;
  bool terminal_;
};

}  // namespace

CommandRun declare_tune(CLI::App& command) {
  auto options = std::make_shared<Options>();
  TuneOptions& tune = options->tune;
  add_workload_options(command, options->selection);
  command.add_option("--target", tune.target, "a core of targets/ (native for the local device)");
  command.add_option("--device", tune.device, "where to measure: local, exec:… (local)");
  command.add_option("--trials", tune.trials, "candidates for each task (128)")
      ->check(whole_number<int64_t>(1));
  command.add_option("--time", tune.seconds, "seconds for each task, 0: no limit (0)")
      ->check(seconds(true));
  command.add_option("--threads", tune.threads, "of parallel loops (1)")->check(CLI::Range(1, 64));
  command.add_option("--workers", tune.workers, "build processes (one less than there are cores)")
      ->check(CLI::Range(1, 256));
  command.add_option("--seed", tune.seed, "of the search (0)")
      ->check(whole_number<uint64_t>(0));
  command.add_option("--strategy", tune.strategy, "how to search (random)");
  command.add_option("--db", options->database, "the database file (hone.db)");
  command.add_flag("--json", options->json, "one object a line");
  return [=](const Installation& installation) -> Result<void> {
    if (options->tune.device != "local" && options->tune.target.empty())
      return fail("--device {} needs --target: what core is it? (hone device list)",
                  options->tune.device);
    const std::vector<Task> tasks = TRY(select_tasks(options->selection));
    const auto database = TRY(open_sqlite(options->database));
    Reporter reporter(options->json);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      // What nohup or a shell in the background has switched off stays off.
      if (std::signal(signal, request_stop) == SIG_IGN) std::signal(signal, SIG_IGN);
    }
    for (const Task& task : tasks) {
      reporter.report(TRY(tune_task(
          task, options->tune, places_of(installation), *database,
          [&](const Progress& progress) { reporter.progress(progress); }, stop_requested)));
      if (stop_requested) break;
    }
    return {};
  };
}

}  // namespace hone
