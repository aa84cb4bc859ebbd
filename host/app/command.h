// SPDX-License-Identifier: Apache-2.0
//
// One file a command; main.cpp has the table. A command declares its options on a CLI11 sub-command and
// gives a function that runs when that sub-command was called.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/result.h"

namespace hone {

// What every command is told.
struct Installation {
  std::string program;         // path of this executable, for build workers
  std::string targets_folder;  // targets/
  std::string agents_folder;   // hone-agent-*
};

using CommandRun = std::function<Result<void>(const Installation&)>;

struct CommandFacts {
  const char* name;
  const char* help;
  CommandRun (*declare)(CLI::App& command);
  bool hidden;  // not for people
};

CommandRun declare_tune(CLI::App& command);
CommandRun declare_emit(CLI::App& command);
CommandRun declare_show(CLI::App& command);
CommandRun declare_measure(CLI::App& command);
CommandRun declare_db(CLI::App& command);
CommandRun declare_device(CLI::App& command);
CommandRun declare_build_worker(CLI::App& command);

}  // namespace hone
