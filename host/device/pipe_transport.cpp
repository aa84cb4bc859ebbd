// SPDX-License-Identifier: Apache-2.0
#include "device/pipe_transport.h"

#include <utility>

#include "base/text.h"

namespace hone {
namespace {

class PipeTransport : public Transport {
 public:
  PipeTransport(Process process, std::string command)
      : process_(std::move(process)), command_(std::move(command)) {}
  ~PipeTransport() override { close(); }

  Result<void> send(std::span<const uint8_t> bytes, Deadline deadline) override {
    if (!process_.running()) return fail("the pipe is closed");
    return write_all(process_.to_child(), bytes, deadline);
  }

  Result<std::optional<size_t>> receive(std::span<uint8_t> space, Deadline deadline) override {
    if (!process_.running()) return fail("the pipe is closed");
    if (!TRY(wait_readable(process_.from_child(), deadline))) return std::nullopt;
    const size_t count = TRY(read_some(process_.from_child(), space, deadline));
    if (count > 0) return count;
    const auto status = process_.wait(after_seconds(1));
    if (!status) return fail("it closed its output");
    return fail("it ended with {}", status->text());
  }

  // An agent ends by itself when its input ends; what does not is killed with all it started.
  void close() override {
    process_.close_stdin();
    process_.wait(after_seconds(0.2));
    if (process_.running()) process_ = Process();
  }

  std::string describe() const override { return "a pipe to " + command_; }

 private:
  Process process_;
  std::string command_;
};

}  // namespace

Result<std::unique_ptr<Transport>> start_pipe(const std::vector<std::string>& argv) {
  Process process = TRY(Process::start(argv, {}));
  return std::make_unique<PipeTransport>(std::move(process), join(argv, " "));
}

}  // namespace hone
