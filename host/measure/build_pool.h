// SPDX-License-Identifier: Apache-2.0
//
// Build workers: processes that build candidates beside each other and beside the measuring. A crash or
// a hang in the code generator costs the one candidate that caused it; the worker is started anew.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/process.h"
#include "base/queue.h"
#include "measure/build.h"

namespace hone {

struct BuildPoolOptions {
  std::vector<std::string> worker_command;  // runs build_worker_main() on its stdin and stdout
  int workers = 1;
  double timeout_seconds = 30;  // for one candidate
};

class BuildPool {
 public:
  struct Done {
    int64_t ticket = 0;
    BuildResult result;
  };

  // Error: a worker could not be started.
  static Result<std::unique_ptr<BuildPool>> start(const BuildPoolOptions& options);
  ~BuildPool();

  void submit(int64_t ticket, BuildRequest request);  // waits while twice as many as workers are queued
  Done wait();          // the next that is ready, in any order; one for each submit

 private:
  struct Job {
    int64_t ticket;
    BuildRequest request;
  };
  class Worker;

  explicit BuildPool(const BuildPoolOptions& options);

  Queue<Job> jobs_;
  Queue<Done> done_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

// The worker's side: requests on stdin, results on stdout, each a 4-byte little-endian length and the
// bytes of build.h, until stdin ends. Gives the exit code.
int build_worker_main(const Target& target);

}  // namespace hone
