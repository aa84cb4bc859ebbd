// SPDX-License-Identifier: Apache-2.0
#include "measure/build_pool.h"

#include <cstring>
#include <thread>

#include <unistd.h>

namespace hone {
namespace {

constexpr size_t kLongestMessage = size_t{256} << 20;

std::span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

Result<void> send_message(int fd, const std::string& body, Deadline deadline) {
  const uint32_t length = static_cast<uint32_t>(body.size());
  std::string message(4, '\0');
  std::memcpy(message.data(), &length, 4);
  return write_all(fd, bytes_of(message + body), deadline);
}

// Exactly `count` bytes; an empty string where the stream ended before the first one.
Result<std::string> receive_exactly(int fd, size_t count, Deadline deadline) {
  std::string bytes(count, '\0');
  size_t have = 0;
  while (have < count) {
    const std::span space(reinterpret_cast<uint8_t*>(bytes.data()) + have, count - have);
    const size_t got = TRY(read_some(fd, space, deadline));
    if (got == 0 && have == 0) return std::string();
    if (got == 0) return fail("the stream ended within a message");
    have += got;
  }
  return bytes;
}

// The next message; an empty string at the end of the stream.
Result<std::string> receive_message(int fd, Deadline deadline) {
  const std::string head = TRY(receive_exactly(fd, 4, deadline));
  if (head.empty()) return head;
  uint32_t length = 0;
  std::memcpy(&length, head.data(), 4);
  if (length == 0 || length > kLongestMessage) return fail("a message of {} bytes", length);
  return receive_exactly(fd, length, deadline);
}

}  // namespace

class BuildPool::Worker {
 public:
  Worker(const BuildPoolOptions& options, Queue<Job>& jobs, Queue<Done>& done)
      : options_(options), jobs_(jobs), done_(done) {}
  Worker(const Worker&) = delete;
  ~Worker() {
    if (thread_.joinable()) thread_.join();
  }

  Result<void> start() {
    TRYV(start_process());
    thread_ = std::thread([this] { serve(); });
    return {};
  }

 private:
  Result<void> start_process() {
    process_ = TRY(Process::start(options_.worker_command, {.keep_stderr = false}));
    return {};
  }

  void serve() {
    while (auto job = jobs_.pop())
      done_.push(Done{job->ticket, build_in_process(job->request)});
  }

  BuildResult build_in_process(const BuildRequest& request) {
    if (!process_.running())
      if (const auto started = start_process(); !started)
        return Failure{FailureKind::build, started.error().message};
    const Deadline deadline = after_seconds(options_.timeout_seconds);
    const auto sent = send_message(process_.to_child(), encode(request), deadline);
    const auto reply = sent ? receive_message(process_.from_child(), deadline)
                            : Result<std::string>(std::unexpected(sent.error()));
    if (reply && !reply->empty())
      if (auto result = decode_result(*reply)) return *result;
    return Failure{FailureKind::build, how_it_ended(deadline)};
  }

  std::string how_it_ended(Deadline deadline) {
    const bool late = Clock::now() >= deadline;
    if (late) process_.kill();
    auto status = process_.wait(after_seconds(1));
    if (!status) {
      process_.kill();
      status = process_.wait(Deadline::max());
    }
    if (late) return fmt::format("the build passed {} seconds", options_.timeout_seconds);
    return fmt::format("the build worker ended with {}", status ? status->text() : "no status");
  }

  BuildPoolOptions options_;
  Queue<Job>& jobs_;
  Queue<Done>& done_;
  Process process_;
  std::thread thread_;
};

BuildPool::BuildPool(const BuildPoolOptions& options)
    : jobs_(static_cast<size_t>(2 * options.workers)), done_(SIZE_MAX) {}

Result<std::unique_ptr<BuildPool>> BuildPool::start(const BuildPoolOptions& options) {
  ENSURE(options.workers > 0);
  auto pool = std::unique_ptr<BuildPool>(new BuildPool(options));
  for (int i = 0; i < options.workers; ++i) {
    pool->workers_.push_back(std::make_unique<Worker>(options, pool->jobs_, pool->done_));
    TRYV(pool->workers_.back()->start());
  }
  return pool;
}

BuildPool::~BuildPool() {
  jobs_.close();
  done_.close();
}

void BuildPool::submit(int64_t ticket, BuildRequest request) {
  jobs_.push(Job{ticket, std::move(request)});
}

BuildPool::Done BuildPool::wait() {
  auto done = done_.pop();
  ENSURE(done.has_value(), "wait() without a submit()");
  return std::move(*done);
}

int build_worker_main(const Target& target) {
  for (;;) {
    const auto message = receive_message(STDIN_FILENO, Deadline::max());
    if (!message) return 1;
    if (message->empty()) return 0;
    const auto request = decode_request(*message);
    if (!request) return 1;
    const BuildResult result = build(*request, target);
    if (!send_message(STDOUT_FILENO, encode(result), Deadline::max())) return 0;
  }
}

}  // namespace hone
