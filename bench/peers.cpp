// SPDX-License-Identifier: Apache-2.0
//
// bench-peers FILE…: the times of the other libraries alone, beside the machine's own limits.
// Every case is answered by all libraries that have it and the answers are compared before anything
// is timed, so a figure stands for the right result.
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "peers/case_toml.h"
#include "peers/machine.h"
#include "peers/peer.h"

namespace hone::bench {
namespace {

struct Options {
  std::vector<std::string> files;
  int threads = 1;
  bool json = false;
};

struct Contender {
  std::string_view name;
  MaybePeer peer;
};

// How far two libraries' sums may lie apart: they add up in different orders.
constexpr double kTolerance = 1e-3;

Result<std::vector<Contender>> prepare_all(const PeerCase& workload, int threads) {
  const Inputs inputs = make_inputs(workload.shape, 1);
  std::vector<Contender> contenders;
  std::optional<std::vector<float>> first;
  for (const PeerLibrary& library : peer_libraries()) {
    MaybePeer peer = TRY(library.prepare(workload.shape, inputs, threads));
    if (!peer) continue;
    TRYV(peer->run());
    const std::vector<float> output = TRY(peer->output());
    if (!first) first = output;
    if (const double apart = difference(output, *first); apart > kTolerance)
      return fail("{}: {} and {} differ by {:.1e} of the result's scale", workload.name,
                  library.name, contenders.front().name, apart);
    contenders.push_back({library.name, std::move(peer)});
  }
  TRYV(pin_threads(threads));
  return contenders;
}

// Libraries take turns, `kRounds` each, so that a slow phase of the machine does not fall on one.
Result<std::vector<double>> least_times_ns(std::vector<Contender>& contenders, int threads) {
  constexpr int kRounds = 3;
  std::vector<double> least(contenders.size(), 1e300);
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < contenders.size(); ++i) {
      if (threads > 1) let_idle_workers_sleep();
      least[i] = std::min(least[i], TRY(least_time_ns(*contenders[i].peer, TimingOptions{})));
    }
  }
  return least;
}

void print_header(const Options& options, double peak) {
  fmt::print(
      "{} thread{}; FMA peak {:.0f} GFLOP/s; one core reads {:.0f} GB/s (256 KiB), "
      "{:.0f} GB/s (8 MiB), {:.0f} GB/s (256 MiB)\n",
      options.threads, options.threads == 1 ? "" : "s", peak, read_bandwidth_gbs(256 << 10),
      read_bandwidth_gbs(8 << 20), read_bandwidth_gbs(256 << 20));
  fmt::print("{:<16} {:>9}", "workload", "MFLOP");
  for (const PeerLibrary& library : peer_libraries()) fmt::print(" {:>20}", library.name);
  fmt::print("\n{:<16} {:>9}", "", "useful");
  for (size_t i = 0; i < peer_libraries().size(); ++i) fmt::print(" {:>11} {:>8}", "us", "% peak");
  fmt::print("\n");
}

void print_row(const PeerCase& workload, const std::vector<Contender>& contenders,
               const std::vector<double>& times_ns, double peak) {
  const Work work = work_of(workload.shape);
  fmt::print("{:<16} {:>9.2f}", workload.name, work.useful_flops / 1e6);
  for (const PeerLibrary& library : peer_libraries()) {
    std::string time = "-", part = "-";
    for (size_t i = 0; i < contenders.size(); ++i) {
      if (contenders[i].name != library.name) continue;
      time = fmt::format("{:.1f}", times_ns[i] / 1e3);
      if (work.useful_flops > 0)
        part = fmt::format("{:.1f}", 100 * work.useful_flops / times_ns[i] / peak);
    }
    fmt::print(" {:>11} {:>8}", time, part);
  }
  fmt::print("\n");
  std::fflush(stdout);
}

void print_json(const PeerCase& workload, const std::vector<Contender>& contenders,
                const std::vector<double>& times_ns, int threads, double peak) {
  const Work work = work_of(workload.shape);
  nlohmann::json line{
      {"workload", workload.name},           {"threads", threads},  {"flops", work.flops},
      {"useful_flops", work.useful_flops},   {"bytes", work.bytes}, {"peak_gflops", peak},
      {"peers_us", nlohmann::json::object()}};
  for (size_t i = 0; i < contenders.size(); ++i)
    line["peers_us"][std::string(contenders[i].name)] = times_ns[i] / 1e3;
  fmt::print("{}\n", line.dump());
  std::fflush(stdout);
}

Result<void> compare(const Options& options) {
  std::vector<PeerCase> workloads;
  for (const std::string& file : options.files)
    for (PeerCase& workload : TRY(load_cases(file))) workloads.push_back(std::move(workload));
  const double peak = TRY(fma_peak_gflops(options.threads));
  if (!options.json) print_header(options, peak);
  for (const PeerCase& workload : workloads) {
    std::vector<Contender> contenders = TRY(prepare_all(workload, options.threads));
    const std::vector<double> times_ns = TRY(least_times_ns(contenders, options.threads));
    if (options.json)
      print_json(workload, contenders, times_ns, options.threads, peak);
    else
      print_row(workload, contenders, times_ns, peak);
  }
  return {};
}

}  // namespace
}  // namespace hone::bench

int main(int argc, char** argv) {
  hone::bench::Options options;
  CLI::App app("times of oneDNN, XNNPACK and OpenBLAS on workload files");
  app.add_option("files", options.files, "workload files")->required()->check(CLI::ExistingFile);
  app.add_option("--threads", options.threads, "threads, pinned one a core")
      ->check(CLI::Range(1, 256));
  app.add_flag("--json", options.json, "one object a workload");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  auto done = hone::bench::start_clean(argv, options.threads);
  if (done) done = hone::bench::compare(options);
  if (done) return 0;
  fmt::print(stderr, "bench-peers: {}\n", done.error().message);
  return 2;
}
