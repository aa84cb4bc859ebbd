// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <memory>

#include <nlohmann/json.hpp>

#include "app/command.h"
#include "app/existing.h"
#include "app/options.h"
#include "base/text.h"
#include "store/database.h"
#include "store/trial_json.h"

namespace hone {
namespace {

struct Options {
  std::string file = "hone.db";
  std::string other;  // of export and import: where to, where from
  std::string workload;
  std::string target;
  std::string device;
  int64_t limit = 10;
  bool json = false;
};

Result<void> stats(const Options& options) {
  const auto db = TRY(open_existing(options.file));
  const auto rows = TRY(db->stats());
  if (!options.json)
    fmt::print("{:<24} {:<14} {:<10} {:>7} {:>8} {:>9} {:>14}\n", "workload", "target", "device",
               "threads", "trials", "failures", "best");
  for (const TaskStats& row : rows) {
    if (options.json) {
      nlohmann::json line{{"workload", row.workload_name}, {"hash", row.key.workload},
                          {"target", row.key.target},      {"device", row.key.device},
                          {"threads", row.key.threads},    {"fingerprint", row.key.fingerprint},
                          {"trials", row.trials},          {"failures", row.failures},
                          {"unit", row.unit},              {"best", nullptr}};
      if (row.best) line["best"] = *row.best;
      fmt::print("{}\n", line.dump());
    } else {
      fmt::print("{:<24} {:<14} {:<10} {:>7} {:>8} {:>9} {:>14}\n", row.workload_name,
                 row.key.target, row.key.device, row.key.threads, row.trials, row.failures,
                 row.best ? fmt::format("{:.0f} {}", *row.best, row.unit) : "-");
    }
  }
  return {};
}

Result<void> best(const Options& options) {
  const auto db = TRY(open_existing(options.file));
  TrialFilter filter;
  filter.winners_only = true;
  if (!options.target.empty()) filter.target = options.target;
  if (!options.device.empty()) filter.device = options.device;
  int64_t shown = 0;
  for (const TrialRow& row : TRY(db->trials(filter))) {
    if (!options.workload.empty() && row.workload_name != options.workload &&
        row.key.workload != options.workload)
      continue;
    if (shown++ == options.limit) break;
    if (options.json) {
      fmt::print("{}\n", to_json_line(row));
    } else {
      fmt::print("{} on {} for {}: {:.0f} {}\n  decisions {}\n", row.workload_name, row.key.device,
                 row.key.target, score(row.trial.outcome), to_string(row.trial.outcome.unit),
                 row.trial.decisions);
    }
  }
  if (shown == 0) return fail("{} has no measured trial that matches", options.file);
  return {};
}

Result<void> export_to(const Options& options) {
  const auto db = TRY(open_existing(options.file));
  std::string text;
  TRYV(db->export_lines([&](const std::string& line) { text += line + '\n'; }));
  if (options.other == "-") {
    std::cout << text << std::flush;
    return {};
  }
  return write_file(options.other, text);
}

Result<void> import_from(const Options& options) {
  const std::string text = TRY(read_file(options.other));
  const auto db = TRY(open_sqlite(options.file));
  fmt::print("{} trials added to {}\n", TRY(db->import_lines(text, options.other)), options.file);
  return {};
}

}  // namespace

CommandRun declare_db(CLI::App& command) {
  auto options = std::make_shared<Options>();
  command.require_subcommand(1);
  const auto add = [&](const char* name, const char* help) {
    CLI::App* sub = command.add_subcommand(name, help);
    sub->add_option("--db", options->file, "the database file (hone.db)");
    return sub;
  };
  CLI::App* stats_command = add("stats", "a line for each task and device");
  stats_command->add_flag("--json", options->json, "one object a line");
  CLI::App* best_command = add("best", "the fastest trials");
  best_command->add_flag("--json", options->json, "one object a line");
  best_command->add_option("--workload", options->workload, "only this one, by name or hash");
  best_command->add_option("--target", options->target, "only this target");
  best_command->add_option("--device", options->device, "only this device");
  best_command->add_option("--limit", options->limit, "at most so many (10)")
      ->check(whole_number<int64_t>(1));
  CLI::App* export_command = add("export", "write everything as JSON lines");
  export_command->add_option("file", options->other, "where to; - is standard output")->required();
  CLI::App* import_command = add("import", "add the trials of a file of JSON lines");
  import_command->add_option("file", options->other, "where from")->required();
  return [=](const Installation&) -> Result<void> {
    if (stats_command->parsed()) return stats(*options);
    if (best_command->parsed()) return best(*options);
    if (export_command->parsed()) return export_to(*options);
    return import_from(*options);
  };
}

}  // namespace hone
