// SPDX-License-Identifier: Apache-2.0
//
// include/<prefix>.h. It defines no function and no object, so that any number of units may include
// it.
#include <array>

#include "emit/library.h"
#include "emit/names.h"

namespace hone {
namespace {

// What a compiler for the target defines. A machine of another architecture cannot link the
// archive; one of the same architecture without a feature would fault at run time, so a unit that
// is compiled without the feature has to say that it knows.
struct Guard {
  Isa isa;
  bool (*needed)(const Target&);
  std::string_view condition;
  std::string_view what;
};

bool always(const Target&) { return true; }
bool hard_float(const Target& target) { return target.float_abi == "hard"; }
bool soft_float(const Target& target) { return target.float_abi == "soft"; }
bool riscv_double(const Target& target) { return target.float_abi == "lp64d"; }
bool riscv_soft(const Target& target) { return target.float_abi == "lp64"; }

constexpr auto kMachineGuards = std::to_array<Guard>({
    {Isa::x86_64, always, "defined(__x86_64__)", "x86-64"},
    {Isa::aarch64, always, "defined(__aarch64__)", "AArch64"},
    {Isa::armv7a, always, "defined(__arm__)", "32-bit Arm"},
    {Isa::armv7em, always, "defined(__arm__) && defined(__thumb2__)", "Arm with Thumb-2"},
    {Isa::riscv64, always, "defined(__riscv) && (__riscv_xlen == 64)", "64-bit RISC-V"},
    {Isa::armv7a, hard_float, "defined(__ARM_PCS_VFP)", "the hard-float calling convention"},
    {Isa::armv7em, hard_float, "defined(__ARM_PCS_VFP)", "the hard-float calling convention"},
    {Isa::armv7a, soft_float, "!defined(__ARM_PCS_VFP)", "the soft-float calling convention"},
    {Isa::armv7em, soft_float, "!defined(__ARM_PCS_VFP)", "the soft-float calling convention"},
    {Isa::riscv64, riscv_double, "defined(__riscv_float_abi_double)",
     "the lp64d calling convention"},
    {Isa::riscv64, riscv_soft, "defined(__riscv_float_abi_soft)", "the lp64 calling convention"},
});

bool has_vectors(const Target& target) { return target.vector_bits > 0; }
bool has_avx2(const Target& target) { return target.vector_bits >= 256; }
bool has_avx512(const Target& target) { return target.vector_bits >= 512; }
bool has_fma(const Target& target) { return target.fma; }

constexpr auto kFeatureGuards = std::to_array<Guard>({
    {Isa::x86_64, has_vectors, "defined(__SSE4_2__)", "SSE4.2"},
    {Isa::x86_64, has_avx2, "defined(__AVX2__)", "AVX2"},
    {Isa::x86_64, has_fma, "defined(__FMA__)", "FMA"},
    {Isa::x86_64, has_avx512, "defined(__AVX512F__) && defined(__AVX512VL__)", "AVX-512"},
    {Isa::armv7a, has_vectors, "defined(__ARM_NEON)", "NEON"},
    {Isa::armv7a, has_fma, "defined(__ARM_FEATURE_FMA)", "FMA"},
    {Isa::armv7em, always, "defined(__ARM_FEATURE_DSP)", "the DSP extension"},
    {Isa::riscv64, has_vectors, "defined(__riscv_vector)", "the V extension"},
});

template <size_t Count>
std::string guards(const Library& library, const std::array<Guard, Count>& table,
                   std::string_view otherwise) {
  std::string text;
  for (const Guard& guard : table) {
    if (guard.isa != library.target.isa || !guard.needed(library.target)) continue;
    text +=
        fmt::format("#if !({})\n#error \"lib{}.a ({}) needs {}; {}\"\n#endif\n", guard.condition,
                    library.prefix, library.target.name, guard.what, otherwise);
  }
  return text;
}

std::string guard_text(const Library& library) {
  const std::string upper = library.upper();
  const std::string machine = guards(
      library, kMachineGuards, fmt::format("elsewhere compile src/ and define {}_PORTABLE", upper));
  const std::string features = guards(
      library, kFeatureGuards,
      fmt::format("compile with {} or define {}_NO_FEATURE_CHECK", library.target.c_flags, upper));
  std::string text = fmt::format("#if !defined({}_PORTABLE)\n{}", upper, machine);
  if (!features.empty())
    text += fmt::format("#if !defined({}_NO_FEATURE_CHECK)\n{}#endif\n", upper, features);
  return text + "#endif\n";
}

std::string version_text(const Library& library) {
  const std::string upper = library.upper();
  std::array<std::string, 3> parts;
  size_t part = 0;
  for (const char c : library.version) {
    if (c == '.')
      ++part;
    else if (part < parts.size())
      parts[part] += c;
  }
  return fmt::format(
      "/* Of the Hone that wrote this library. */\n"
      "#define {0}_VERSION_MAJOR {1}\n#define {0}_VERSION_MINOR {2}\n#define {0}_VERSION_PATCH "
      "{3}\n",
      upper, parts[0], parts[1], parts[2]);
}

constexpr std::string_view kCommonText = R"(/* No buffer of a call overlaps another one. */
#ifdef __cplusplus
#define @P@_RESTRICT __restrict
extern "C" {
#else
#define @P@_RESTRICT restrict
#endif

/* What every function returns. In case of an error nothing was computed. */
typedef enum @p@_status {
  @P@_OK = 0,
  @P@_ERROR_NULL = 1,      /* a pointer that must not be null is */
  @P@_ERROR_ALIGNMENT = 2, /* a pointer is not a multiple of the function's ..._ALIGN */
  @P@_ERROR_PARALLEL = 3   /* a hook without run, or with less than one thread */
} @p@_status;

/* How parallel loops run; a null pointer in its place: in the calling thread.
 * run calls body(context, i, worker) exactly once for every i in [0, count), on any threads and in any
 * order, and returns when all calls have returned. worker, in [0, threads), tells calls apart that are
 * under way at the same time: each has a part of the workspace of its own. A call of run from inside a
 * body runs in line. */
typedef struct @p@_parallel @p@_parallel;
struct @p@_parallel {
  void (*run)(const @p@_parallel *self,
              void (*body)(void *context, intptr_t index, intptr_t worker), void *context,
              intptr_t count);
  int32_t threads; /* at least 1; the workspace grows with it */
  void *pool;      /* yours; no kernel looks at it */
};

/* Who made the library that is linked, with what, for which machine, from which measurements. */
const char *@p@_build_info(void);
/* "tuned for ..." from the archive, "portable C" from src/. */
const char *@p@_backend(void);
)";

std::string_view role(BufferKind kind) {
  if (kind == BufferKind::output) return "output";
  return kind == BufferKind::param ? "param" : "input";
}

std::string_view remark(DType dtype) {
  if (dtype == DType::f16) return ", the bits of IEEE binary16";
  if (dtype == DType::bf16) return ", the bits of bfloat16";
  return dtype == DType::b1 ? ", 0 or 1" : "";
}

// A comment from names of a workload: nothing in them may end it.
std::string in_comment(std::string text) {
  for (size_t at = 0; (at = text.find("*/", at)) != std::string::npos;) text[at] = ' ';
  return text;
}

std::string task_text(const Library& library, const LibraryTask& task) {
  size_t width = 0;
  for (const LibraryArgument& argument : task.arguments)
    width = std::max(width, argument.name.size());
  std::string text =
      fmt::format("\n/* {}: {}.\n", in_comment(task.name), in_comment(measured_text(task)));
  for (const LibraryArgument& argument : task.arguments)
    text +=
        fmt::format(" *   {:<{}}  {:<6}  {}{}{}\n", argument.name, width, role(argument.kind),
                    shape_text(argument), remark(argument.dtype),
                    argument.read_by_call ? "" : "; the call has it from constants: may be null");
  text += " * Elements lie in row-major order. ";
  text += task.needs_workspace() ? fmt::format("workspace: {}(threads) bytes, whatever they hold.",
                                               library.macro(task, "WORKSPACE_BYTES"))
                                 : "workspace may be null: none is needed.";
  if (task.has_prepare())
    text += fmt::format(
        "\n * constants: {} bytes that {} fills from the params,\n * once for any number of calls;"
        " may be null where these are 0.",
        library.macro(task, "CONSTANTS_BYTES"), library.prepare(task));
  text += " */\n";
  text += fmt::format("#define {} {}\n", library.macro(task, "ALIGN"), kArgumentAlignment);
  const std::string size = task.workspace_bytes_per_thread == 0
                               ? fmt::format("{}", task.workspace_bytes)
                               : fmt::format("{} + {} * (threads)", task.workspace_bytes,
                                             task.workspace_bytes_per_thread);
  text += fmt::format("#define {}(threads) ({})\n", library.macro(task, "WORKSPACE_BYTES"), size);
  text += fmt::format("#define {} {}\n", library.macro(task, "STACK_BYTES"), task.stack_bytes);
  if (task.has_prepare())
    text += fmt::format("#define {} {}\n", library.macro(task, "CONSTANTS_BYTES"),
                        task.constants_bytes);
  for (const LibraryArgument& argument : task.arguments)
    text +=
        fmt::format("#define {} {}\n", library.macro(task, upper_case(argument.name) + "_ELEMENTS"),
                    argument.elements);
  if (task.has_prepare()) text += prepare_declaration(library, task) + ";\n";
  return text + declaration(library, task) + ";\n";
}

}  // namespace

std::string header_text(const Library& library) {
  const std::string upper = library.upper();
  std::string text = fmt::format(
      "/* SPDX-License-Identifier: Apache-2.0 */\n"
      "/* Tensor kernels for {}, written by Hone {}. C99. Reentrant: no allocation, no state. */\n"
      "#ifndef {}_H\n#define {}_H\n\n#include <stdint.h>\n\n",
      library.target.name, library.version, upper, upper);
  text += guard_text(library) + "\n";
  text += version_text(library) + "\n";
  text += fill_template(kCommonText, {{"P", upper}, {"p", library.prefix}});
  for (const LibraryTask& task : library.tasks) text += task_text(library, task);
  return text + "\n#ifdef __cplusplus\n}\n#endif\n#endif\n";
}

}  // namespace hone
