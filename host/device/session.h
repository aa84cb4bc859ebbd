// SPDX-License-Identifier: Apache-2.0
//
// A conversation with one agent. Two kinds of bad news stay apart here:
//   an Error        the device is lost: nothing more can be asked of this session, open a new one
//   a value         the device answered, even if the answer is that the candidate crashed or that a
//                   request cannot be met
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "device/agent_data.h"
#include "device/frames.h"
#include "device/transport.h"
#include "protocol.h"

namespace hone {

struct DeviceInfo {
  struct Core {
    int id = 0;
    int capacity = 0;     // relative to the fastest core's 1024; 0: unknown
    int64_t max_khz = 0;  // 0: unknown
  };
  int version = 0;
  std::string arch;  // "x86_64", "aarch64", "armv7", "riscv64"
  int pointer_bits = 0;
  std::string timer;  // "tsc", "cntvct", "rdtime", "clock"
  std::string unit;   // "ns", "cycles", "insn"
  int64_t timer_overhead_ns = 0;
  int64_t page_bytes = 0;
  uint64_t load_address = 0;
  int64_t load_bytes = 0;
  int64_t arena_bytes = 0;  // most that the buffers of a task may take
  uint64_t boot_nonce = 0;  // another one each time the agent starts
  uint64_t agent_hash = 0;  // of its code: part of a record's fingerprint
  int64_t frame_bytes = 0;
  int64_t message_bytes = 0;
  int64_t max_buffers = 0;
  std::vector<Core> cores;
  std::vector<std::string> features;  // in LLVM's names
};

struct BufferSpec {
  int64_t bytes = 0;
  uint8_t dtype = HONE_F32;
  bool output = false;
  FillSpec fill;  // of inputs
};

struct SetUpReply {
  bool ok = false;
  std::string reason;       // why not
  int64_t arena_bytes = 0;  // with guards
};

struct RunRequest {
  // -- the candidate
  std::span<const uint8_t> image;  // flat, linked for the load address of the device
  int64_t entry_offset = 0;
  std::optional<int64_t> prepare_offset;  // of the function that fills the constants
  int64_t bss_bytes = 0;                  // zeros behind the image
  int64_t constants_bytes = 0;
  int64_t workspace_bytes = 0;
  int threads = 1;
  std::vector<int> cores;  // to pin thread t to cores[t]; empty: the agent chooses
  // -- how to check and time it
  bool check = true;                // false: outputs are not looked at
  bool tolerant = false;            // samples and sums of float outputs instead of a hash
  int warm_ups = 1;                 // calls before the first sample; the first is the checked one
  int64_t deadline_ms = 1000;       // for everything that the candidate does
  int64_t min_sample_ns = 100'000;  // a sample is as many calls as last this long
  int64_t max_samples = 10;         // 0: only the checked call
  int64_t max_total_ns = 100'000'000;  // no further sample after so much time in samples
  int64_t abandon_above_ns = 0;        // first sample above this time of one call: stop; 0: never
};

struct RawSample {
  int64_t ns = 0;  // of all iterations
  int64_t iterations = 1;
  double ns_per_call() const { return static_cast<double>(ns) / static_cast<double>(iterations); }
};

struct RunReply {
  hone_outcome outcome = HONE_OK;
  // -- fault, illegal instruction
  int signal = 0;
  int signal_code = 0;
  uint64_t fault_address = 0;
  uint64_t fault_pc = 0;
  // -- broken guard
  int guard_buffer = 0;  // HONE_WORKSPACE_BUFFER: the workspace
  hone_guard_side guard_side = HONE_BELOW;
  int trouble = 0;  // errno of the agent
  // -- ok, abandoned
  std::vector<RawSample> samples;
  std::vector<OutputCheck> checks;  // one for each output, in their order
  struct Context {
    hone_context tag;
    int64_t value;
  };
  std::vector<Context> context;

  bool measured() const { return outcome == HONE_OK || outcome == HONE_ABANDONED; }
  std::optional<int64_t> find(hone_context tag) const;
};

std::string_view to_string(hone_outcome outcome);
std::string_view to_string(hone_context tag);  // "core_before", …
// One line: "fault: signal 11 (Segmentation fault), address 0x10, pc 0x200000040, …".
std::string describe(const RunReply& reply);

class Session {
 public:
  struct Options {
    double handshake_seconds = 10;  // an emulator or a slow line has to start first
    double answer_seconds = 60;     // beyond a run's deadline; filling large inputs takes a while
  };
  // Takes `transport` over; Error: no agent answers there, or it speaks another version.
  static Result<Session> open(std::unique_ptr<Transport> transport, const Options& options);

  const DeviceInfo& device() const { return device_; }
  std::string describe() const { return transport_->describe(); }

  // Lays out and fills the buffers of a task; runs use them until the next set-up.
  Result<SetUpReply> set_up(std::span<const BufferSpec> buffers);
  Result<RunReply> run(const RunRequest& request);

  uint32_t damaged_frames() const { return link_->damaged_frames(); }
  uint32_t retransmitted_frames() const { return link_->retransmitted_frames(); }

 private:
  Session(std::unique_ptr<Transport> transport, const Options& options);

  Result<void> handshake();
  Result<void> pump(Deadline deadline);
  Result<Message> receive(Deadline deadline);
  void upload(std::span<const uint8_t> image, uint64_t hash);
  Result<RunReply> run_uploaded(const RunRequest& request, uint64_t hash);
  std::unexpected<Error> lost(const std::string& why) const;

  std::unique_ptr<Transport> transport_;
  Options options_;
  std::unique_ptr<std::string> write_error_;  // at a fixed address: the link's writer points to it
  std::unique_ptr<FrameLink> link_;
  DeviceInfo device_;
  std::set<uint64_t> uploaded_;  // hashes of images that the agent should have
};

}  // namespace hone
