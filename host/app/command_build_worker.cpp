// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "app/command.h"
#include "measure/build_pool.h"

namespace hone {

CommandRun declare_build_worker(CLI::App& command) {
  struct Options {
    std::string targets;
    std::string target;
  };
  auto options = std::make_shared<Options>();
  command.add_option("--targets", options->targets, "folder of the targets")->required();
  command.add_option("--target", options->target, "what to build for")->required();
  return [=](const Installation&) -> Result<void> {
    if (build_worker_main(TRY(find_target(options->targets, options->target))) != 0)
      return fail("the build worker was sent something that it does not understand");
    return {};
  };
}

}  // namespace hone
