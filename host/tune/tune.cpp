// SPDX-License-Identifier: Apache-2.0
//
// Two things run beside each other: build workers (processes) build the next candidates while this
// thread has the device measure one. Outcomes are booked in the order of the proposals, so that a run with
// a seed is the same run each time, and an interrupted one goes on where it was: what a strategy proposes
// again is found in the database and only learnt from.
#include "tune/tune.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include "base/hash.h"
#include "ir/text.h"
#include "lower/lower.h"
#include "measure/build_pool.h"
#include "measure/runner.h"
#include "search/strategy.h"
#include "space/constraints.h"
#include "tune/reference.h"

namespace hone {
namespace {

constexpr int kMeasurementsOfABest = 3;   // a new best must hold in so many
constexpr double kSlowerThanBest = 20;    // deadline: so many times the best, at least the option's

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// What makes measurements comparable: the code generator, the agent, the machine and the target's facts.
std::string fingerprint_of(const DeviceFacts& device, const Target& target) {
  const std::string text = fmt::format("{}\n{}\n{}\n{} {} {}", codegen_fingerprint(),
                                       device.agent_version, device.identity, target.name, target.cpu,
                                       fmt::join(target.features, ","));
  return to_hex(hash_bytes(text));
}

class TaskRun {
 public:
  TaskRun(const Task& task, const TuneOptions& options, const Places& places, Database& database,
          const std::function<void(const Progress&)>& progress, const std::atomic<bool>& stop)
      : task_(task), options_(options), places_(places), database_(database), progress_(progress),
        stop_(stop) {}

  Result<TaskReport> run() {
    TRYV(open());
    TRYV(load_known());
    for (;;) {
      TRYV(keep_building());
      if (waiting_.empty()) break;
      TRYV(finish_first());
    }
    return report();
  }

 private:
  struct Waiting {
    int64_t ticket = -1;  // -1: known from the database
    Candidate candidate;
    std::optional<Outcome> outcome;  // known, or failed to build
    std::optional<Built> built;
  };

  Result<void> open();
  Result<void> load_known();
  Result<void> accept(const Program& program);
  bool enough() const;
  Result<void> keep_building();
  Result<void> wait_for_build(Waiting& first);
  Result<void> finish_first();
  Result<Outcome> measure(const Built& built);
  Result<void> book(const Waiting& item, const Outcome& outcome, bool known);
  void tell(bool new_best);
  TaskReport report() const;

  const Task& task_;
  const TuneOptions& options_;
  const Places& places_;
  Database& database_;
  const std::function<void(const Progress&)>& progress_;
  const std::atomic<bool>& stop_;

  Clock::time_point start_ = Clock::now();
  Target target_;
  TaskKey key_;
  TaskData data_;
  Answer answer_;
  DesignSpace space_;
  std::vector<std::string> skeleton_texts_;
  std::unique_ptr<Runner> runner_;
  std::unique_ptr<BuildPool> pool_;
  SearchProblem problem_;
  std::unique_ptr<Strategy> strategy_;
  std::unordered_set<uint64_t> kernels_;                // accepted so far
  std::unordered_map<std::string, Outcome> known_;      // skeleton and decisions → outcome
  std::deque<Waiting> waiting_;
  std::unordered_map<int64_t, BuildResult> early_;      // builds that ended before their turn
  int64_t next_ticket_ = 0;
  int64_t in_flight_ = 0;
  int64_t proposed_ = 0;
  int64_t workers_ = 1;
  bool exhausted_ = false;
  TaskReport report_;
};

Result<void> TaskRun::open() {
  const std::string target = options_.target.empty() ? "native" : options_.target;
  target_ = TRY(find_target(places_.targets_folder, target));
  if (target_.agent.empty()) return fail("target {} has no agent to measure with", target_.name);
  runner_ = TRY(open_runner({options_.device, places_.agents_folder, target_.agent}));
  space_ = TRY(generate_space(task_.program, target_));
  for (const Trace& skeleton : space_.skeletons) skeleton_texts_.push_back(print(skeleton));
  data_ = to_task_data(task_);
  key_ = {to_hex(task_.hash), target_.name, fingerprint_of(runner_->facts(), target_),
          options_.device, options_.threads};
  TRYV(database_.add_workload(key_.workload, task_.name, print(task_.graph)));
  answer_ = TRY(reference_answer(task_, data_, places_, database_));
  TRYV(runner_->set_up(data_));
  workers_ = options_.workers > 0
                 ? options_.workers
                 : std::max<int64_t>(1, static_cast<int64_t>(std::thread::hardware_concurrency()) - 1);
  std::vector<std::string> command = places_.worker_command;
  command.push_back(target_.name);
  pool_ = TRY(BuildPool::start({command, static_cast<int>(workers_), 30}));
  problem_ = {&task_.program, &space_, options_.seed,
              [this](const Program& program) { return accept(program); }};
  strategy_ = TRY(make_strategy(options_.strategy, problem_));
  start_ = Clock::now();
  return {};
}

// A candidate that some other one equals after lowering would be measured twice for nothing.
Result<void> TaskRun::accept(const Program& program) {
  TRYV(check_constraints(program, target_));
  const Kernel kernel = TRY(lower(program, target_, {}));
  if (!kernels_.insert(hash_of(kernel)).second) return fail("the same kernel was proposed before");
  return {};
}

std::string known_key(const std::string& skeleton, const std::string& decisions) {
  return skeleton + '\n' + decisions;
}

Result<void> TaskRun::load_known() {
  TrialFilter filter;
  filter.workload = key_.workload;
  filter.target = key_.target;
  filter.fingerprint = key_.fingerprint;
  filter.device = key_.device;
  filter.threads = key_.threads;
  for (TrialRow& row : TRY(database_.trials(filter))) {
    const auto& failure = row.trial.outcome.failure;
    if (failure && facts(failure->kind).retry) continue;
    known_[known_key(row.trial.skeleton, row.trial.decisions)] = std::move(row.trial.outcome);
  }
  return {};
}

bool TaskRun::enough() const {
  return stop_ || exhausted_ || proposed_ >= options_.trials ||
         (options_.seconds > 0 && seconds_since(start_) >= options_.seconds);
}

Result<void> TaskRun::keep_building() {
  while (in_flight_ < workers_ + 2 && !enough()) {
    auto candidate = strategy_->propose();
    if (!candidate) {
      exhausted_ = true;
      return {};
    }
    ++proposed_;
    Waiting item;
    const auto known = known_.find(
        known_key(skeleton_texts_[candidate->skeleton], print(candidate->decisions)));
    if (known != known_.end()) {
      item.outcome = known->second;
    } else {
      item.ticket = next_ticket_++;
      ++in_flight_;
      pool_->submit(item.ticket, {print(candidate->program), runner_->facts().load_address, true});
    }
    item.candidate = std::move(*candidate);
    waiting_.push_back(std::move(item));
    if (known != known_.end()) return {};  // book it before the next is proposed
  }
  return {};
}

// Until the first in line is built; what others finish meanwhile is kept for their turn.
Result<void> TaskRun::wait_for_build(Waiting& first) {
  while (!early_.contains(first.ticket)) {
    BuildPool::Done done = pool_->wait();
    early_.emplace(done.ticket, std::move(done.result));
  }
  auto node = early_.extract(first.ticket);
  --in_flight_;
  if (auto* failure = std::get_if<Failure>(&node.mapped())) {
    first.outcome = Outcome{};
    first.outcome->failure = *failure;
  } else {
    first.built = std::move(std::get<Built>(node.mapped()));
  }
  return {};
}

Result<void> TaskRun::finish_first() {
  Waiting item = std::move(waiting_.front());
  waiting_.pop_front();
  const bool known = item.ticket < 0;
  if (!known) {
    TRYV(wait_for_build(item));
    TRYV(keep_building());  // workers stay busy while the device measures
    if (!item.outcome) item.outcome = TRY(measure(*item.built));
  }
  return book(item, *item.outcome, known);
}

// A candidate that beats the best is measured again; the slowest of its measurements is what counts.
Result<Outcome> TaskRun::measure(const Built& built) {
  RunLimits limits;
  limits.threads = options_.threads;
  limits.best = report_.best;
  limits.deadline_seconds = options_.deadline_seconds;
  if (report_.best)
    limits.deadline_seconds = std::max(limits.deadline_seconds, *report_.best * 1e-9 * kSlowerThanBest);
  Outcome outcome = TRY(runner_->run(built, answer_, limits));
  const auto wins = [&](const Outcome& one) {
    return one.measured() && !one.abandoned && (!report_.best || score(one) < *report_.best);
  };
  for (int i = 1; i < kMeasurementsOfABest && wins(outcome); ++i) {
    Outcome again = TRY(runner_->run(built, answer_, limits));
    if (!again.measured() || (!again.abandoned && score(again) > score(outcome)))
      outcome = std::move(again);
  }
  outcome.text_bytes = built.text_bytes;
  outcome.stack_bytes = built.stack_bytes;
  outcome.workspace_bytes =
      built.workspace_bytes + options_.threads * built.workspace_bytes_per_worker;
  outcome.build_seconds = built.seconds;
  return outcome;
}

Result<void> TaskRun::book(const Waiting& item, const Outcome& outcome, bool known) {
  const std::string decisions = print(item.candidate.decisions);
  if (!known)
    TRYV(database_.add_trial(key_, {skeleton_texts_[item.candidate.skeleton], decisions, outcome, ""}));
  ++report_.trials;
  if (known) ++report_.resumed;
  std::optional<double> time;
  if (outcome.failure) {
    ++report_.failures[std::string(to_string(outcome.failure->kind))];
  } else if (!outcome.abandoned) {
    time = score(outcome);
    report_.unit = outcome.unit;
    report_.emulated = outcome.emulated;
  }
  const bool new_best = time && (!report_.best || *time < *report_.best);
  if (new_best) report_.best = time;
  strategy_->learn(item.candidate, time);
  tell(new_best);
  return {};
}

void TaskRun::tell(bool new_best) {
  Progress progress;
  progress.task = &task_;
  progress.trials = report_.trials;
  progress.wanted = options_.trials;
  for (const auto& [kind, count] : report_.failures) progress.failures += count;
  progress.best = report_.best;
  progress.unit = report_.unit;
  progress.new_best = new_best;
  progress.seconds = seconds_since(start_);
  const int64_t fresh = report_.trials - report_.resumed;
  if (fresh > 0)
    progress.seconds_left = progress.seconds / static_cast<double>(fresh) *
                            static_cast<double>(options_.trials - report_.trials);
  if (options_.seconds > 0)
    progress.seconds_left = std::min(progress.seconds_left, options_.seconds - progress.seconds);
  progress_(progress);
}

TaskReport TaskRun::report() const {
  TaskReport result = report_;
  result.task = task_.name;
  result.target = target_.name;
  result.device = options_.device;
  result.seconds = seconds_since(start_);
  if (result.best && result.unit == TimeUnit::ns)
    result.gflops = task_.operations.useful / *result.best;
  result.trials_per_second = static_cast<double>(result.trials - result.resumed) / result.seconds;
  result.interrupted = stop_;
  result.exhausted = exhausted_;
  return result;
}

}  // namespace

Result<TaskReport> tune_task(const Task& task, const TuneOptions& options, const Places& places,
                             Database& database, const std::function<void(const Progress&)>& progress,
                             const std::atomic<bool>& stop) {
  return TaskRun(task, options, places, database, progress, stop).run();
}

}  // namespace hone
