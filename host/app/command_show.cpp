// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <memory>

#include "app/command.h"
#include "app/options.h"
#include "app/selection.h"
#include "base/text.h"
#include "codegen/codegen.h"
#include "ir/text.h"
#include "lower/lower.h"
#include "schedule/replay.h"
#include "space/generate.h"

namespace hone {
namespace {

struct Options {
  Selection selection;
  std::string stage;
  int64_t step = -1;
  bool passes = false;
};

struct Subject {
  Task task;
  Target target;
  Trace trace;
};

Result<Program> scheduled(const Subject& subject) {
  return replay(subject.task.program, subject.trace, decisions_of(subject.trace));
}

Result<Kernel> lowered(const Subject& subject) {
  return lower(TRY(scheduled(subject)), subject.target, {});
}

CodegenOptions entry_of(const Subject& subject) {
  CodegenOptions options;
  options.entry = subject.task.name;
  for (char& c : options.entry)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return options;
}

Result<std::string> show_graph(const Subject& subject, const Options&) {
  return print(subject.task.graph);
}

Result<std::string> show_program(const Subject& subject, const Options&) {
  return print(subject.task.program);
}

Result<std::string> show_space(const Subject& subject, const Options&) {
  const DesignSpace space = TRY(generate_space(subject.task.program, subject.target));
  std::string text;
  for (const RuleLogEntry& entry : space.log)
    text += fmt::format("{:<12} {:<16} {}{}: {}\n", entry.rule, entry.block,
                        entry.verdict == RuleVerdict::skip ? "skips" : "applies",
                        entry.results > 1 ? fmt::format(" ({} ways)", entry.results) : "", entry.why);
  for (size_t i = 0; i < space.skeletons.size(); ++i)
    text += fmt::format("\n# skeleton {}\n{}", i, print(space.skeletons[i]));
  return text;
}

// The whole trace and what it makes, or the Program after one instruction of it.
Result<std::string> show_schedule(const Subject& subject, const Options& options) {
  if (options.step < 0)
    return print(subject.trace) + "\n" + print(TRY(scheduled(subject)));
  Trace part = subject.trace;
  const int64_t count = static_cast<int64_t>(part.instructions.size());
  if (options.step > count) return fail("the trace has {} instructions, not {}", count, options.step);
  part.instructions.resize(static_cast<size_t>(options.step));
  const std::string next =
      options.step < count
          ? print(subject.trace.instructions[static_cast<size_t>(options.step)]) + "\n"
          : "the end\n";
  return print(TRY(replay(subject.task.program, part, decisions_of(part)))) + "\n# next: " + next;
}

Result<std::string> show_kernel(const Subject& subject, const Options& options) {
  if (!options.passes) return print(TRY(lowered(subject)));
  std::string text;
  LowerOptions log;
  log.log = [&](std::string_view pass, const std::string& result) {
    text += fmt::format("# after {}\n{}\n", pass, result);
  };
  TRY(lower(TRY(scheduled(subject)), subject.target, log));
  return text;
}

Result<std::string> show_llvm(const Subject& subject, const Options&) {
  return llvm_text(TRY(lowered(subject)), subject.target, entry_of(subject));
}

Result<std::string> show_asm(const Subject& subject, const Options&) {
  return assembly_text(TRY(lowered(subject)), subject.target, entry_of(subject));
}

Result<std::string> show_c(const Subject& subject, const Options&) {
  return TRY(c_source(TRY(lowered(subject)), entry_of(subject))).text;
}

struct ShownStage {
  const char* name;
  const char* help;
  Result<std::string> (*show)(const Subject&, const Options&);
};

constexpr std::array<ShownStage, 8> kStages = {{
    {"graph", "the checked computation, in the text language", show_graph},
    {"program", "naive loops and blocks", show_program},
    {"space", "what each rule did, and the skeletons", show_space},
    {"schedule", "a trace and the Program that it makes; --step N stops after N instructions",
     show_schedule},
    {"kernel", "plain loops, vectors and registers; --passes shows every pass", show_kernel},
    {"llvm", "LLVM IR as it goes to code generation", show_llvm},
    {"asm", "assembly for the target", show_asm},
    {"c", "the same kernel as portable C", show_c},
}};

}  // namespace

CommandRun declare_show(CLI::App& command) {
  auto options = std::make_shared<Options>();
  command.require_subcommand(1);
  for (const ShownStage& stage : kStages) {
    CLI::App* sub = command.add_subcommand(stage.name, stage.help);
    add_workload_options(*sub, options->selection);
    add_target_option(*sub, options->selection);
    add_schedule_options(*sub, options->selection);
    if (stage.show == show_schedule)
      sub->add_option("--step", options->step, "after so many instructions")
          ->check(whole_number<int64_t>(0));
    if (stage.show == show_kernel) sub->add_flag("--passes", options->passes, "after every pass");
    sub->callback([options, name = stage.name] { options->stage = name; });
  }
  return [=](const Installation& installation) -> Result<void> {
    Subject subject;
    subject.task = TRY(select_task(options->selection));
    subject.target = TRY(find_target(installation.targets_folder, options->selection.target));
    subject.trace = TRY(select_trace(options->selection, subject.task, subject.target));
    for (const ShownStage& stage : kStages)
      if (options->stage == stage.name)
        fmt::print("{}", TRY(stage.show(subject, *options)));
    return {};
  };
}

}  // namespace hone
