// SPDX-License-Identifier: Apache-2.0
//
// Runs built candidates on one device: sets the task up there, sends images, turns the agent's replies
// into Outcomes. It owns the session and makes a new one when the device was lost.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "measure/answer.h"
#include "measure/build.h"
#include "measure/outcome.h"

namespace hone {

struct RunnerOptions {
  std::string device;         // URL: local, exec:…
  std::string agents_folder;
  std::string agent;          // architecture's name, as in Target::agent
};

struct RunLimits {
  int64_t threads = 1;
  double deadline_seconds = 2;          // of the whole run on the device
  std::optional<double> best;           // of one call, in ns: what the candidate has to beat
  int samples = 3;
  double min_sample_seconds = 0.2e-3;   // calls are repeated until a sample is this long
  double max_total_seconds = 0.5;       // of all samples
};

// What a device said of itself, as far as the host needs it.
struct DeviceFacts {
  std::string identity;        // core's name or features, part of a record's fingerprint
  std::string agent_version;
  uint64_t load_address = 0;
  int64_t cores = 1;
  bool emulated = false;
  std::string summary;         // a few lines for people: hone device probe
};

class Runner {
 public:
  virtual ~Runner() = default;

  virtual const DeviceFacts& facts() const = 0;

  // Sends the task's buffers. Must come before run().
  virtual Result<void> set_up(const TaskData& task) = 0;

  // The checked output of one run with nothing timed: how the reference answer is made.
  virtual Result<Answer> answer_of(const Built& built, double deadline_seconds) = 0;

  // Uploads, checks against `want` and times. Every way to end is an Outcome; an Error only when no
  // session can be made any more.
  virtual Result<Outcome> run(const Built& built, const Answer& want, const RunLimits& limits) = 0;
};

Result<std::unique_ptr<Runner>> open_runner(const RunnerOptions& options);

}  // namespace hone
