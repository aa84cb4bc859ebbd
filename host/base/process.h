// SPDX-License-Identifier: Apache-2.0
//
// Child processes with pipes, and reads and writes that know a deadline. Used for build workers and
// for agents behind a pipe. A child dies with its parent (PDEATHSIG) and is the leader of a process
// group, so that ending it ends what it started.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace hone {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

inline Deadline after_seconds(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

// A file descriptor that closes itself.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor() { close(); }

  int get() const { return fd_; }
  bool open() const { return fd_ >= 0; }
  void close();

 private:
  int fd_ = -1;
};

// Waits until `fd` can be read or the deadline passes; false: deadline.
Result<bool> wait_readable(int fd, Deadline deadline);
// Reads what is there, at most `space`, at least one byte; 0: end of file. Error at the deadline.
Result<size_t> read_some(int fd, std::span<uint8_t> space, Deadline deadline);
// Writes all of `bytes`; Error at the deadline or when the reader is gone (SIGPIPE is not raised).
Result<void> write_all(int fd, std::span<const uint8_t> bytes, Deadline deadline);

struct ExitStatus {
  bool signaled = false;
  int code = 0;  // exit code, or the signal's number
  std::string text() const;  // "exit code 3", "signal 11 (Segmentation fault)"
};

class Process {
 public:
  struct Options {
    bool keep_stderr = true;  // false: the child's stderr goes to /dev/null
  };

  Process() = default;
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  ~Process();  // kills the group and reaps

  // Starts argv[0] (found along PATH) with its stdin and stdout on pipes.
  static Result<Process> start(const std::vector<std::string>& argv, Options options);

  bool running() const { return pid_ > 0; }
  int pid() const { return pid_; }
  int to_child() const { return stdin_.get(); }
  int from_child() const { return stdout_.get(); }
  void close_stdin() { stdin_.close(); }

  void kill();  // SIGKILL to the group; reap with wait()
  // The child's status once it ended; nullopt when the deadline passes first.
  std::optional<ExitStatus> wait(Deadline deadline);

 private:
  int pid_ = -1;
  FileDescriptor stdin_;
  FileDescriptor stdout_;
};

// Runs argv to its end and returns what it printed. Error: it could not start, or passed the deadline.
struct CommandOutput {
  ExitStatus status;
  std::string text;
};
Result<CommandOutput> run_command(const std::vector<std::string>& argv, Deadline deadline);

}  // namespace hone
