// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iostream>

#include <fcntl.h>
#include <unistd.h>

#include "app/command.h"
#include "base/text.h"

namespace hone {
namespace {

constexpr int kWrongInput = 2;

constexpr std::array<CommandFacts, 7> kCommands = {{
    {"tune", "search the fastest program for each workload, on the device that will run it",
     declare_tune, false},
    {"emit", "write the best programs found as a static C library", declare_emit, false},
    {"show", "print a stage between a workload and machine code", declare_show, false},
    {"measure", "build, check and time one schedule", declare_measure, false},
    {"db", "look into the database of trials, export and import it", declare_db, false},
    {"device", "list and probe devices", declare_device, false},
    {"build-worker", "build candidates read from standard input", declare_build_worker, true},
}};

// Data files stand beside the program in a build tree: <build>/hone, <build>/agents, and the source
// tree's targets/ under the name that the build recorded.
Installation find_installation() {
  std::error_code ignored;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  const std::filesystem::path folder = program.parent_path();
  Installation installation;
  installation.program = program.string();
  installation.agents_folder = (folder / "agents").string();
  installation.targets_folder = (folder / "targets").string();
  return installation;
}

int complain(const Error& error) {
  fmt::print(stderr, "hone: {}\n", error.message);
  return kWrongInput;
}

Result<void> check_command_name(const std::string& word) {
  std::vector<std::string> names;
  for (const CommandFacts& row : kCommands) {
    if (word == row.name) return {};
    if (!row.hidden) names.emplace_back(row.name);
  }
  const auto near = closest(word, names);
  return fail("unknown command '{}'{}; there are: {}", word,
              near ? fmt::format(" (is it {}?)", *near) : "", join(names, ", "));
}

int run(int argc, char** argv) {
  if (argc > 1 && argv[1][0] != '-')
    if (const auto known = check_command_name(argv[1]); !known) return complain(known.error());
  CLI::App app{"Finds the fastest program for a tensor computation on the board that will run it."};
  app.name("hone");
  app.require_subcommand(1);
  app.set_help_flag("-h,--help", "print this and end");
  std::vector<std::pair<CLI::App*, CommandRun>> commands;
  for (const CommandFacts& row : kCommands) {
    CLI::App* command = app.add_subcommand(row.name, row.help);
    if (row.hidden) command->group("");
    commands.emplace_back(command, row.declare(*command));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForAllHelp& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    return complain(Error{fmt::format("{} (try hone --help)", error.what())});
  }
  for (const auto& [command, body] : commands) {
    if (!command->parsed()) continue;
    if (const auto done = body(find_installation()); !done) return complain(done.error());
  }
  return 0;
}

// A closed descriptor 0, 1 or 2 would be given to the next file or pipe that is opened, and what is printed
// would go into it. Read only, so that output is still known to be lost.
void hold_standard_streams() {
  for (int fd = open("/dev/null", O_RDONLY | O_CLOEXEC); fd >= 0;
       fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) {
    if (fd <= STDERR_FILENO) continue;
    close(fd);
    break;
  }
}

// Whoever redirects output into a full disk must not take what is there for the whole.
bool output_arrived() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good()) return true;
  std::fprintf(stderr, "hone: cannot write to standard output: %s\n", std::strerror(errno));
  return false;
}

}  // namespace
}  // namespace hone

int main(int argc, char** argv) {
  hone::hold_standard_streams();
  try {
    const int code = hone::run(argc, argv);
    return hone::output_arrived() || code != 0 ? code : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "hone: %s\n", error.what());
    return 1;
  }
}
