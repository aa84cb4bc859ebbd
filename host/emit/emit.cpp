// SPDX-License-Identifier: Apache-2.0
#include "emit/emit.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <set>

#include "base/hash.h"
#include "codegen/archive.h"
#include "codegen/codegen.h"
#include "codegen/scan.h"
#include "emit/checks.h"
#include "emit/folder.h"
#include "emit/library.h"
#include "emit/names.h"
#include "emit/record.h"
#include "lower/lower.h"
#include "schedule/replay.h"

namespace hone {
namespace {

// What the header defines for itself.
constexpr std::string_view kReservedTaskNames[] = {"status", "parallel", "build_info", "backend",
                                                   "selftest"};
// What a public function calls its own arguments and locals.
constexpr std::string_view kReservedArgumentNames[] = {"workspace", "parallel", "buffers",
                                                       "in_line", "constants"};

class LibraryWriter {
 public:
  explicit LibraryWriter(const EmitRequest& request) : request_(request) {}

  Result<EmitReport> run();

 private:
  void start();
  Result<void> add_task(const Task& task);
  Result<std::optional<TrialRow>> record_of(const Task& task);
  void name_task(const Task& task, LibraryTask& row);
  Result<void> compile_task(const Task& task, LibraryTask& row);
  Result<void> add_prepare(const Program& program, const Kernel& call, LibraryTask& row);
  Result<void> add_function(PublicFunction wanted, const ObjectCode* kernel, LibraryTask& row);
  Result<void> add_golden(const Task& task, LibraryTask& row);
  Result<FolderContent> content();
  EmitReport report(const FolderContent& content) const;
  int64_t flash_bytes() const;

  const EmitRequest& request_;
  Library library_;
  NameSet task_names_;
  NameSet macros_;
  std::vector<ArchiveMember> members_;
  int64_t common_bytes_ = 0;  // flash of what is no task's
  std::vector<std::string> warnings_;
};

void LibraryWriter::start() {
  library_.prefix = request_.prefix;
  library_.target = request_.target;
  library_.version = HONE_VERSION;
  library_.fingerprint = codegen_fingerprint();
  if (request_.source_date_epoch) {
    const std::time_t seconds = static_cast<std::time_t>(*request_.source_date_epoch);
    std::tm utc{};
    gmtime_r(&seconds, &utc);
    library_.date =
        fmt::format("{:04}-{:02}-{:02}", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday);
  }
  for (const std::string_view name : kReservedTaskNames) task_names_.add(name);
}

Result<std::optional<TrialRow>> LibraryWriter::record_of(const Task& task) {
  const RecordWish wish{to_hex(task.hash), request_.target.name, request_.device, request_.threads};
  std::optional<TrialRow> record;
  if (request_.database != nullptr) record = TRY(best_record(*request_.database, wish, warnings_));
  if (record) return record;
  const std::string of_device = request_.device ? " on " + *request_.device : "";
  if (!request_.allow_untuned)
    return fail(
        "task '{}' was never measured for {}{}; tune it with\n  {} --task {}{}\n"
        "or let it come as plain loops with --allow-untuned",
        task.name, request_.target.name, of_device, request_.tune_command, task.name,
        request_.device ? " --device " + *request_.device : "");
  warnings_.push_back(
      fmt::format("task '{}' was never measured for {}{}: it comes as plain loops, which "
                  "are slow",
                  task.name, request_.target.name, of_device));
  return record;
}

// Functions and macros of two tasks must differ, also where names meet in the middle ("a_b" + "c"
// and "a" + "b_c").
void LibraryWriter::name_task(const Task& task, LibraryTask& row) {
  row.name = task.name;
  row.workload_hash = to_hex(task.hash);
  row.c_name = task_names_.claim(to_identifier(task.name));
  for (const std::string_view what : {"_kernel", "_prepare", "_prepare_kernel"})
    task_names_.add(row.c_name + std::string(what));
  NameSet names;
  for (const std::string_view name : kReservedArgumentNames) names.add(name);
  for (const bool outputs : {false, true}) {
    for (const Buffer& buffer : task.program.buffers) {
      if (buffer.kind == BufferKind::temp || (buffer.kind == BufferKind::output) != outputs)
        continue;
      LibraryArgument argument{"",           buffer.name, buffer.dtype,
                               buffer.shape, buffer.kind, element_count(buffer)};
      const auto macro = [&] {
        return library_.macro(row, upper_case(argument.name) + "_ELEMENTS");
      };
      do argument.name = names.claim(to_identifier(buffer.name));
      while (macros_.contains(macro()));
      macros_.add(macro());
      row.arguments.push_back(std::move(argument));
    }
  }
}

Result<void> LibraryWriter::compile_task(const Task& task, LibraryTask& row) {
  Program program = task.program;
  if (row.record) {
    const Trial& trial = row.record->trial;
    const Trace skeleton = TRY(parse_trace(trial.skeleton, "the record's trace"));
    const Decisions decisions = TRY(parse_decisions(trial.decisions, "the record's decisions"));
    row.trace = print(close(skeleton, decisions));
    program = TRY(replay(task.program, skeleton, decisions));
  }
  const Kernel kernel = TRY(lower(program, request_.target, {}));
  ENSURE(kernel.buffers.size() >= static_cast<int32_t>(row.arguments.size()));
  for (size_t i = 0; i < row.arguments.size(); ++i) {
    const KernelBuffer& buffer = kernel.buffers[BufferId{static_cast<int32_t>(i)}];
    ENSURE(buffer.space == Space::argument && buffer.name == row.arguments[i].given_name);
  }
  row.constants_bytes = kernel.constants_bytes;
  row.workspace_bytes = kernel.workspace_bytes;
  row.workspace_bytes_per_thread = kernel.workspace_bytes_per_worker;
  if (row.has_prepare()) TRYV(add_prepare(program, kernel, row));
  const CodegenOptions options{.entry = library_.kernel(row), .optimize = true};
  const ObjectCode object = TRY(compile(kernel, request_.target, options));
  row.kernel_source = TRY(c_source(kernel, options)).text;
  row.object_hash =
      hash_bytes({reinterpret_cast<const char*>(object.bytes.data()), object.bytes.size()});
  if (row.record && row.record->trial.outcome.text_bytes != object.text_bytes)
    warnings_.push_back(
        fmt::format("task '{}' was measured as {} bytes of code and has {} now: the code "
                    "generator changed since; tune again for a figure that holds",
                    task.name, row.record->trial.outcome.text_bytes, object.text_bytes));
  PublicFunction front{.name = library_.function(row), .entry = options.entry, .pointers = {}};
  const auto slots = static_cast<int64_t>(row.arguments.size());
  for (int64_t i = 0; i < slots; ++i)
    front.pointers.push_back({i, !row.arguments[static_cast<size_t>(i)].read_by_call});
  if (row.has_prepare()) front.pointers.push_back({slots, !row.has_constants()});
  front.needs_workspace = row.needs_workspace();
  return add_function(std::move(front), &object, row);
}

// Params that the call does not read need not be there for it.
Result<void> LibraryWriter::add_prepare(const Program& program, const Kernel& call,
                                        LibraryTask& row) {
  PublicFunction front{.name = library_.prepare(row), .entry = "", .pointers = {}};
  const std::set<int32_t> called = touched_by(call.body).buffers;
  const auto slots = static_cast<int64_t>(row.arguments.size());
  for (int64_t i = 0; i < slots; ++i) {
    LibraryArgument& argument = row.arguments[static_cast<size_t>(i)];
    if (argument.kind != BufferKind::param) continue;
    argument.read_by_call = !row.has_constants() || called.contains(static_cast<int32_t>(i));
    front.pointers.push_back({i, false});
  }
  front.pointers.push_back({slots, !row.has_constants()});
  front.runs_alone = true;
  if (!row.has_constants()) return add_function(std::move(front), nullptr, row);
  const Kernel kernel = TRY(lower_constants(program, request_.target, {}));
  const CodegenOptions options{.entry = library_.prepare_kernel(row), .optimize = true};
  const ObjectCode object = TRY(compile(kernel, request_.target, options));
  row.prepare_source = TRY(c_source(kernel, options)).text;
  front.entry = options.entry;
  return add_function(std::move(front), &object, row);
}

// The function, the compiled kernel behind it (null: none), and what both take of the machine.
Result<void> LibraryWriter::add_function(PublicFunction wanted, const ObjectCode* kernel,
                                         LibraryTask& row) {
  wanted.alignment = kArgumentAlignment;
  const ObjectCode front = TRY(compile_public_function(wanted, request_.target));
  members_.push_back({wanted.name + ".o", front.bytes});
  int64_t stack_bytes = 0;
  for (const ObjectCode* part : {&front, kernel}) {
    if (part == nullptr) continue;
    row.text_bytes += part->text_bytes;
    row.rodata_bytes += part->rodata_bytes;
    stack_bytes += part->stack_bytes;
  }
  row.stack_bytes = std::max(row.stack_bytes, stack_bytes);
  if (kernel != nullptr) members_.push_back({wanted.entry + ".o", kernel->bytes});
  return {};
}

Result<void> LibraryWriter::add_golden(const Task& task, LibraryTask& row) {
  row.operations = task.operations.useful;
  row.exact = task.check.exact;
  row.tolerance = task.check.tolerance;
  row.golden = TRY(request_.golden(task));
  const auto outputs = static_cast<size_t>(
      std::ranges::count(row.arguments, BufferKind::output, &LibraryArgument::kind));
  ENSURE(row.golden.outputs.size() == outputs &&
         row.golden.inputs.size() == row.arguments.size() - outputs);
  for (size_t i = 0; i < outputs; ++i) {
    const LibraryArgument& output = row.arguments[row.golden.inputs.size() + i];
    if (row.exact || !is_float(output.dtype)) continue;
    if (std::ranges::none_of(row.golden.outputs[i].samples,
                             [](double x) { return std::isfinite(x); }))
      return fail("output '{}' of the reference holds no finite value to compare with",
                  output.given_name);
  }
  return {};
}

Result<void> LibraryWriter::add_task(const Task& task) {
  LibraryTask row;
  row.record = TRY(record_of(task));
  name_task(task, row);
  if (const auto done = compile_task(task, row); !done)
    return std::unexpected(
        within(done.error(), "task '{}' for {}", task.name, request_.target.name));
  if (const auto done = add_golden(task, row); !done)
    return std::unexpected(within(done.error(), "the self-test of task '{}'", task.name));
  library_.tasks.push_back(std::move(row));
  return {};
}

int64_t LibraryWriter::flash_bytes() const {
  int64_t total = common_bytes_;
  for (const LibraryTask& task : library_.tasks) total += task.text_bytes + task.rodata_bytes;
  return total;
}

Result<FolderContent> LibraryWriter::content() {
  const std::string& p = library_.prefix;
  const ObjectCode common = TRY(
      compile_text_functions({{p + "_build_info", build_info(library_)},
                              {p + "_backend", fmt::format("tuned for {}", library_.target.name)}},
                             request_.target));
  common_bytes_ = common.text_bytes + common.rodata_bytes;
  members_.push_back({p + ".o", common.bytes});
  TRYV(check_symbols(members_, p));
  TRYV(check_budgets(library_, flash_bytes(), request_.budgets));

  FolderContent files;
  const std::vector<uint8_t> archive = TRY(write_archive(members_));
  files[fmt::format("lib/lib{}.a", p)] = std::string(archive.begin(), archive.end());
  files[fmt::format("include/{}.h", p)] = header_text(library_);
  files[fmt::format("src/{}.c", p)] = common_source_text(library_);
  for (const LibraryTask& task : library_.tasks)
    files[fmt::format("src/{}.c", library_.function(task))] = task_source_text(library_, task);
  files[fmt::format("test/{}_selftest.c", p)] = selftest_text(library_);
  files["README.md"] = readme_text(library_);
  files["CMakeLists.txt"] = cmake_text(library_);
  std::vector<std::string> names{"manifest.json"};
  for (const auto& [name, text] : files) names.push_back(name);
  std::ranges::sort(names);
  files["manifest.json"] = manifest_text(library_, names);
  return files;
}

EmitReport LibraryWriter::report(const FolderContent& content) const {
  EmitReport report;
  for (const LibraryTask& task : library_.tasks) {
    EmittedTask row;
    row.name = task.name;
    row.function = library_.function(task);
    row.text_bytes = task.text_bytes;
    row.rodata_bytes = task.rodata_bytes;
    row.stack_bytes = task.stack_bytes;
    row.constants_bytes = task.constants_bytes;
    row.workspace_bytes = task.workspace_bytes;
    row.workspace_bytes_per_thread = task.workspace_bytes_per_thread;
    if (task.record) {
      const Outcome& outcome = task.record->trial.outcome;
      row.tuned = true;
      row.device = task.record->key.device;
      row.unit = to_string(outcome.unit);
      row.emulated = outcome.emulated;
      row.best = score(outcome);
      if (outcome.unit == TimeUnit::ns) row.gflops = task.operations / *row.best;
    }
    report.tasks.push_back(std::move(row));
  }
  for (const auto& [name, text] : content) report.files.push_back(name);
  report.warnings = warnings_;
  report.flash_bytes = flash_bytes();
  return report;
}

Result<EmitReport> LibraryWriter::run() {
  TRYV(check_prefix(request_.prefix));
  ENSURE(!request_.tasks.empty() && request_.golden);
  start();
  for (const Task* task : request_.tasks) TRYV(add_task(*task));
  const FolderContent files = TRY(content());
  TRYV(write_folder(request_.folder, files));
  return report(files);
}

}  // namespace

Result<EmitReport> emit_library(const EmitRequest& request) { return LibraryWriter(request).run(); }

}  // namespace hone
