// SPDX-License-Identifier: Apache-2.0
//
// src/: the same kernels as portable C99, behind the same header. One file a task, because each
// brings the static functions that it needs, and because a linker then takes only the tasks that
// are called.
#include "base/text.h"
#include "emit/library.h"

namespace hone {
namespace {

std::string head(const Library& library, std::string_view what) {
  return fmt::format(
      "/* SPDX-License-Identifier: Apache-2.0 */\n/* {}: {}. Written by Hone {}. */\n",
      library.prefix, what, library.version);
}

std::string any_of(const std::vector<std::string>& parts, std::string_view between) {
  return fmt::format("{}", fmt::join(parts, between));
}

constexpr std::string_view kPrepareFunction = R"(
@declaration@
{
  void *buffers[@count@] = {0};
  if (@null@) return @P@_ERROR_NULL;
  if (((@address@) & @mask@u) != 0u) return @P@_ERROR_ALIGNMENT;
@slots@  @kernel@(buffers, 0, 0);
  return @P@_OK;
}

)";

constexpr std::string_view kNothingToPrepare = R"(
@declaration@
{
  if (@null@) return @P@_ERROR_NULL;
  if (((@address@) & @mask@u) != 0u) return @P@_ERROR_ALIGNMENT;
  return @P@_OK;
}

)";

constexpr std::string_view kPublicFunction = R"(
static void run_in_line(const @p@_parallel *self,
                        void (*body)(void *context, intptr_t index, intptr_t worker), void *context,
                        intptr_t count)
{
  intptr_t i;
  (void)self;
  for (i = 0; i < count; ++i) body(context, i, 0);
}

@declaration@
{
  static const @p@_parallel in_line = {run_in_line, 1, 0};
  void *buffers[@count@];
  if (@null@) return @P@_ERROR_NULL;
  if (((@address@) & @mask@u) != 0u) return @P@_ERROR_ALIGNMENT;
  if (parallel == 0) parallel = &in_line;
  if (parallel->run == 0 || parallel->threads < 1) return @P@_ERROR_PARALLEL;
@slots@  @kernel@(buffers, workspace, parallel);
  return @P@_OK;
}
)";

// What a function does with its pointers.
struct Pointers {
  std::vector<std::string> null;
  std::vector<std::string> address;
  std::string slots;

  void add(size_t slot, const std::string& name, bool written, bool may_be_null) {
    if (!may_be_null) null.push_back(name + " == 0");
    address.push_back("(uintptr_t)" + name);
    // Through an integer: the array of pointers has no const, and kernels write what they may only.
    slots +=
        fmt::format("  buffers[{}] = {}{};\n", slot, written ? "" : "(void *)(uintptr_t)", name);
  }
};

}  // namespace

std::string task_source_text(const Library& library, const LibraryTask& task) {
  Pointers call;
  Pointers prepare;
  for (size_t i = 0; i < task.arguments.size(); ++i) {
    const LibraryArgument& argument = task.arguments[i];
    call.add(i, argument.name, argument.kind == BufferKind::output, !argument.read_by_call);
    if (argument.kind == BufferKind::param) prepare.add(i, argument.name, false, false);
  }
  if (task.has_prepare()) {
    call.add(task.arguments.size(), "constants", false, !task.has_constants());
    prepare.add(task.arguments.size(), "constants", true, !task.has_constants());
  }
  if (task.needs_workspace()) call.null.push_back("workspace == 0");
  call.address.push_back("(uintptr_t)workspace");
  std::string text = head(library, fmt::format("{} as portable C99", task.c_name));
  text += fmt::format("#include \"{}.h\"\n\n", library.prefix);
  // A kernel defines the hook itself unless it is told that it is there.
  text +=
      fmt::format("#define HONE_PARALLEL\n#define hone_parallel {}_parallel\n\n", library.prefix);
  const size_t count = task.arguments.size() + (task.has_prepare() ? 1 : 0);
  const auto front = [&](std::string_view form, const std::string& prototype,
                         const Pointers& pointers, const std::string& kernel) {
    return fill_template(form, {{"p", library.prefix},
                                {"P", library.upper()},
                                {"declaration", prototype},
                                {"count", fmt::format("{}", count)},
                                {"null", any_of(pointers.null, " || ")},
                                {"address", any_of(pointers.address, " | ")},
                                {"mask", fmt::format("{}", kArgumentAlignment - 1)},
                                {"slots", pointers.slots},
                                {"kernel", kernel}});
  };
  if (task.has_prepare()) {
    text += task.prepare_source;
    text += front(task.has_constants() ? kPrepareFunction : kNothingToPrepare,
                  prepare_declaration(library, task), prepare, library.prepare_kernel(task));
  }
  text += task.kernel_source;
  text += front(kPublicFunction, declaration(library, task), call, library.kernel(task));
  return text;
}

std::string common_source_text(const Library& library) {
  std::string text = head(library, "what the library says about itself");
  text += fmt::format("#include \"{}.h\"\n\n", library.prefix);
  text += fmt::format("const char *{}_build_info(void)\n{{\n  return {};\n}}\n\n", library.prefix,
                      c_string(build_info(library)));
  text += fmt::format("const char *{}_backend(void)\n{{\n  return \"portable C\";\n}}\n",
                      library.prefix);
  return text;
}

}  // namespace hone
