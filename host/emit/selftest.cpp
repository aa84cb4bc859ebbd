// SPDX-License-Identifier: Apache-2.0
//
// test/<prefix>_selftest.c: tables for a fixed program (templates/selftest.c). Inputs are made from
// seeds and answers are hashes or few samples, so the file stays small whatever the shapes are.
#include <cmath>

#include "emit/library.h"
#include "emit/names.h"
#include "emit/selftest_template.h"

namespace hone {
namespace {

constexpr int64_t kMostSamples = 64;  // of one output

// Elements that make room for aligning, and for whatever stands behind.
int64_t padded(int64_t elements, int64_t element_bytes) {
  return elements + kArgumentAlignment / element_bytes;
}

// First element of part k of `parts` equal ones: what the agent calls hone_part_start.
int64_t part_start(int64_t elements, int64_t parts, int64_t k) {
  if (elements <= parts) return k;
  return k * (elements / parts) + k * (elements % parts) / parts;
}

struct Tables {
  std::string text;

  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text += fmt::format(format, std::forward<Args>(args)...) + "\n";
  }
};

void write_memory(const Library& library, Tables& tables) {
  tables.line("/* ---- tables ---- */\n\nstatic union {{ /* tasks run one after the other */");
  for (const LibraryTask& task : library.tasks) {
    tables.line("  struct {{");
    for (const LibraryArgument& argument : task.arguments)
      tables.line("    {} {}[{}];", c_type(argument.dtype), argument.name,
                  padded(argument.elements, bytes_of(argument.dtype)));
    if (task.has_prepare())
      tables.line("    unsigned char constants[{} + ALIGN];",
                  library.macro(task, "CONSTANTS_BYTES"));
    tables.line("    unsigned char workspace[{}(HOOK_THREADS) + ALIGN];",
                library.macro(task, "WORKSPACE_BYTES"));
    tables.line("  }} {}_memory;", task.c_name);
  }
  tables.line("}} memory;\n");
}

// Gives how many samples and blocks there are; none: the hash decides.
std::pair<int, int> write_answer(const LibraryArgument& output, const GoldenOutput& answer,
                                 std::string_view id, Tables& tables) {
  std::string samples;
  int sample_count = 0;
  const int64_t all = static_cast<int64_t>(answer.samples.size());
  const int64_t wanted = std::min(all, kMostSamples);
  for (int64_t k = 0; k < wanted; ++k) {
    const int64_t at = part_start(all, wanted, k);
    const double value = answer.samples[static_cast<size_t>(at)];
    if (!std::isfinite(value)) continue;
    samples +=
        fmt::format("  {{{}u, {}}},\n", part_start(output.elements, all, at), c_double(value));
    ++sample_count;
  }
  if (sample_count == 0) return {0, 0};
  std::string blocks;
  int block_count = 0;
  const int64_t parts = static_cast<int64_t>(answer.sums.size());
  for (int64_t k = 0; k < parts; ++k) {
    const double sum = answer.sums[static_cast<size_t>(k)];
    const double magnitude = answer.magnitudes[static_cast<size_t>(k)];
    if (!std::isfinite(sum) || !std::isfinite(magnitude)) continue;
    blocks +=
        fmt::format("  {{{}u, {}u, {}, {}}},\n", part_start(output.elements, parts, k),
                    part_start(output.elements, parts, k + 1), c_double(sum), c_double(magnitude));
    ++block_count;
  }
  tables.line("static const struct sample samples_{}[] = {{\n{}}};", id, samples);
  if (block_count > 0) tables.line("static const struct block blocks_{}[] = {{\n{}}};", id, blocks);
  return {sample_count, block_count};
}

// Rows of the argument table; answers' own tables go before it.
void write_arguments(const LibraryTask& task, size_t number, Tables& tables) {
  std::string rows;
  size_t inputs = 0;
  size_t outputs = 0;
  for (const LibraryArgument& argument : task.arguments) {
    const std::string head =
        fmt::format("  {{{}, memory.{}_memory.{}, {}u, ", c_string(argument.given_name),
                    task.c_name, argument.name, argument.elements);
    const std::string dtype = upper_case(to_string(argument.dtype));  // its name in the template
    if (argument.kind != BufferKind::output) {
      const GoldenInput& input = task.golden.inputs[inputs++];
      rows += fmt::format("{}{}, 0, {:#x}ull, {}, {}, 0u, 0, 0, 0, 0}},\n", head, dtype, input.seed,
                          input.low, input.high);
      continue;
    }
    const std::string id = fmt::format("{}_{}", number, outputs);
    const GoldenOutput& answer = task.golden.outputs[outputs++];
    const bool tolerant = !task.exact && is_float(argument.dtype);
    const auto [samples, blocks] =
        tolerant ? write_answer(argument, answer, id, tables) : std::pair(0, 0);
    rows += fmt::format("{}{}, 1, 0u, 0, 0, {:#x}ull, {}, {}, {}, {}}},\n", head, dtype,
                        answer.hash, samples > 0 ? "samples_" + id : "0", samples,
                        blocks > 0 ? "blocks_" + id : "0", blocks);
  }
  tables.line("static const struct argument arguments_{}[] = {{\n{}}};", number, rows);
}

// With the constants made anew: what is checked is both functions together.
void write_call(const Library& library, const LibraryTask& task, size_t number, Tables& tables) {
  std::vector<std::string> call;
  std::vector<std::string> prepare;
  for (size_t i = 0; i < task.arguments.size(); ++i) {
    const LibraryArgument& argument = task.arguments[i];
    const std::string pointer =
        fmt::format("({}{} *)buffers[{}]", argument.kind == BufferKind::output ? "" : "const ",
                    c_type(argument.dtype), i);
    call.push_back(argument.read_by_call ? pointer : "0");
    if (argument.kind == BufferKind::param) prepare.push_back(pointer);
  }
  std::string before;
  if (task.has_prepare()) {
    call.push_back("constants");
    before = fmt::format(
        "  void *constants = aligned(memory.{}_memory.constants);\n"
        "  const int status = (int){}({},\n      constants);\n"
        "  if (status != 0) return status;\n",
        task.c_name, library.prepare(task), fmt::join(prepare, ", "));
  }
  tables.line(
      "static int call_{}(void *const *buffers, void *workspace, const {}_parallel *parallel)\n{{\n"
      "{}  return (int){}({},\n      workspace, parallel);\n}}\n",
      number, library.prefix, before, library.function(task), fmt::join(call, ", "));
}

}  // namespace

std::string selftest_text(const Library& library) {
  Tables tables;
  write_memory(library, tables);
  std::string rows;
  size_t most = 0;
  for (size_t i = 0; i < library.tasks.size(); ++i) {
    const LibraryTask& task = library.tasks[i];
    write_arguments(task, i, tables);
    write_call(library, task, i, tables);
    rows += fmt::format(
        "  {{{}, call_{}, arguments_{}, {}, memory.{}_memory.workspace,\n   {}(HOOK_THREADS), {}, "
        "{}, {}}},\n",
        c_string(task.name), i, i, task.arguments.size(), task.c_name,
        library.macro(task, "WORKSPACE_BYTES"), c_double(task.tolerance.absolute),
        c_double(task.tolerance.relative), c_double(task.tolerance.of_largest));
    most = std::max(most, task.arguments.size());
  }
  tables.line("static const struct task tasks[] = {{\n{}}};", rows);
  return fill_template(kSelftestTemplate, {{"p", library.prefix},
                                           {"P", library.upper()},
                                           {"version", library.version},
                                           {"align", fmt::format("{}", kArgumentAlignment)},
                                           {"most_arguments", fmt::format("{}", most)},
                                           {"tables", tables.text}});
}

}  // namespace hone
