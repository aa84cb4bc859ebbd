// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include <nlohmann/json.hpp>

#include "app/command.h"
#include "measure/runner.h"
#include "target/target.h"

namespace hone {
namespace {

struct Options {
  std::string device = "local";
  std::string target = "native";
  bool json = false;
};

Result<void> list(const Options& options, const Installation& installation) {
  for (const std::string& name : target_names(installation.targets_folder)) {
    const Target target = TRY(find_target(installation.targets_folder, name));
    if (options.json) {
      fmt::print("{}\n", nlohmann::json{{"target", name},
                                        {"isa", to_string(target.isa)},
                                        {"cpu", target.cpu},
                                        {"vector_bits", target.vector_bits},
                                        {"agent", target.agent}}
                             .dump());
    } else {
      fmt::print("{:<14} {:<8} {:<14} {:>4}-bit vectors  {}\n", name, to_string(target.isa),
                 target.cpu, target.vector_bits,
                 target.agent.empty() ? "no agent: build and emit only" : "agent " + target.agent);
    }
  }
  if (!options.json)
    fmt::print("\nA device is where an agent runs:\n"
               "  local                      this machine\n"
               "  'exec:COMMAND … {{agent}}'   any command that runs the agent with its stdin and stdout,\n"
               "                             such as exec:qemu-aarch64-static -cpu cortex-a72 {{agent}}\n");
  return {};
}

Result<void> probe(const Options& options, const Installation& installation) {
  const Target target = TRY(find_target(installation.targets_folder, options.target));
  const auto runner = TRY(open_runner({options.device, installation.agents_folder, target.agent}));
  const DeviceFacts& facts = runner->facts();
  if (options.json) {
    fmt::print("{}\n", nlohmann::json{{"device", options.device},
                                      {"identity", facts.identity},
                                      {"agent", facts.agent_version},
                                      {"load_address", facts.load_address},
                                      {"cores", facts.cores},
                                      {"emulated", facts.emulated}}
                           .dump());
  } else {
    fmt::print("{}", facts.summary);
    if (facts.emulated) fmt::print("  emulated      its times say nothing about a real core\n");
  }
  return {};
}

}  // namespace

CommandRun declare_device(CLI::App& command) {
  auto options = std::make_shared<Options>();
  command.require_subcommand(1);
  CLI::App* list_command = command.add_subcommand("list", "targets, and how devices are named");
  list_command->add_flag("--json", options->json, "one object a line");
  CLI::App* probe_command = command.add_subcommand("probe", "start the agent there and ask what it is");
  probe_command->add_option("device", options->device, "local (default) or exec:…");
  probe_command->add_option("--target", options->target, "whose agent to start (native)");
  probe_command->add_flag("--json", options->json, "one object");
  return [=](const Installation& installation) -> Result<void> {
    return list_command->parsed() ? list(*options, installation) : probe(*options, installation);
  };
}

}  // namespace hone
