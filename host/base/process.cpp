// SPDX-License-Identifier: Apache-2.0
#include "base/process.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hone {
namespace {

int poll_timeout_ms(Deadline deadline) {
  if (deadline == Deadline::max()) return -1;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count() + 1, 0, 3'600'000));
}

Result<bool> wait_for(int fd, int16_t events, Deadline deadline) {
  for (;;) {
    pollfd entry{fd, events, 0};
    const int ready = poll(&entry, 1, poll_timeout_ms(deadline));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return fail("poll failed: {}", std::strerror(errno));
    if (ready == 0 && Clock::now() >= deadline) return false;
  }
}

struct Pipe {
  FileDescriptor read;
  FileDescriptor write;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return fail("cannot make a pipe: {}", std::strerror(errno));
  return Pipe{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

// In the child, between fork and exec: only async-signal-safe calls.
[[noreturn]] void become(char* const* argv, int in, int out, int report, bool keep_stderr) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(in, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  if (!keep_stderr) {
    const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (null >= 0) dup2(null, STDERR_FILENO);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  execvp(argv[0], argv);
  const int code = errno;
  [[maybe_unused]] const ssize_t written = ::write(report, &code, sizeof code);
  _exit(127);
}

}  // namespace

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void FileDescriptor::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

Result<bool> wait_readable(int fd, Deadline deadline) { return wait_for(fd, POLLIN, deadline); }

Result<size_t> read_some(int fd, std::span<uint8_t> space, Deadline deadline) {
  for (;;) {
    if (!TRY(wait_for(fd, POLLIN, deadline))) return fail("no answer before the deadline");
    const ssize_t count = ::read(fd, space.data(), space.size());
    if (count >= 0) return static_cast<size_t>(count);
    if (errno != EINTR && errno != EAGAIN) return fail("read failed: {}", std::strerror(errno));
  }
}

Result<void> write_all(int fd, std::span<const uint8_t> bytes, Deadline deadline) {
  while (!bytes.empty()) {
    if (!TRY(wait_for(fd, POLLOUT, deadline))) return fail("the receiver did not read in time");
    // A pipe takes at most PIPE_BUF without blocking once poll says it is writable.
    const ssize_t count = ::write(fd, bytes.data(), std::min<size_t>(bytes.size(), 4096));
    if (count >= 0) {
      bytes = bytes.subspan(static_cast<size_t>(count));
    } else if (errno != EINTR && errno != EAGAIN) {
      return fail("write failed: {}", std::strerror(errno));
    }
  }
  return {};
}

std::string ExitStatus::text() const {
  if (signaled) return fmt::format("signal {} ({})", code, strsignal(code));
  return fmt::format("exit code {}", code);
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      stdin_(std::move(other.stdin_)),
      stdout_(std::move(other.stdout_)) {}

Process& Process::operator=(Process&& other) noexcept {
  if (this != &other) {
    kill();
    wait(Deadline::max());
    pid_ = std::exchange(other.pid_, -1);
    stdin_ = std::move(other.stdin_);
    stdout_ = std::move(other.stdout_);
  }
  return *this;
}

Process::~Process() {
  kill();
  wait(Deadline::max());
}

Result<Process> Process::start(const std::vector<std::string>& argv, Options options) {
  ENSURE(!argv.empty());
  Pipe in = TRY(make_pipe());
  Pipe out = TRY(make_pipe());
  Pipe report = TRY(make_pipe());
  std::vector<char*> raw;
  for (const std::string& argument : argv) raw.push_back(const_cast<char*>(argument.c_str()));
  raw.push_back(nullptr);

  // A child that goes away must be an error of write(), not the end of this process.
  signal(SIGPIPE, SIG_IGN);
  const int pid = fork();
  if (pid < 0) return fail("cannot start {}: {}", argv[0], std::strerror(errno));
  if (pid == 0)
    become(raw.data(), in.read.get(), out.write.get(), report.write.get(), options.keep_stderr);

  Process process;
  process.pid_ = pid;
  process.stdin_ = std::move(in.write);
  process.stdout_ = std::move(out.read);
  report.write.close();
  int code = 0;
  if (::read(report.read.get(), &code, sizeof code) == sizeof code)
    return fail("cannot start {}: {}", argv[0], std::strerror(code));
  return process;
}

void Process::kill() {
  if (pid_ <= 0) return;
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);
}

std::optional<ExitStatus> Process::wait(Deadline deadline) {
  if (pid_ <= 0) return std::nullopt;
  for (int pause_us = 50;; pause_us = std::min(pause_us * 2, 5000)) {
    int status = 0;
    const bool forever = deadline == Deadline::max();
    const int ended = waitpid(pid_, &status, forever ? 0 : WNOHANG);
    if (ended == pid_ || (ended < 0 && errno == ECHILD)) {
      pid_ = -1;
      if (WIFSIGNALED(status)) return ExitStatus{true, WTERMSIG(status)};
      return ExitStatus{false, WEXITSTATUS(status)};
    }
    if (!forever && Clock::now() >= deadline) return std::nullopt;
    if (!forever) std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
  }
}

Result<CommandOutput> run_command(const std::vector<std::string>& argv, Deadline deadline) {
  Process process = TRY(Process::start(argv, {}));
  process.close_stdin();
  CommandOutput output;
  uint8_t space[4096];
  for (;;) {
    const size_t count = TRY(read_some(process.from_child(), space, deadline));
    if (count == 0) break;
    output.text.append(reinterpret_cast<const char*>(space), count);
  }
  const auto status = process.wait(deadline);
  if (!status) return fail("{} did not end before the deadline", argv[0]);
  output.status = *status;
  return output;
}

}  // namespace hone
