// SPDX-License-Identifier: Apache-2.0
//
// How a library gets into a program: README.md with command lines, CMakeLists.txt.
#include "emit/library.h"

namespace hone {
namespace {

// The compiler that goes with a target, as a name that cross tools are installed under.
std::string compiler(const Target& target) {
  switch (target.isa) {
    case Isa::x86_64:
      return "cc";
    case Isa::aarch64:
      return "aarch64-linux-gnu-gcc";
    case Isa::armv7a:
      return "arm-linux-gnueabihf-gcc";
    case Isa::armv7em:
      return "arm-none-eabi-gcc";
    case Isa::riscv64:
      return "riscv64-linux-gnu-gcc";
  }
  return "cc";
}

constexpr std::string_view kReadme = R"(# @p@

Tensor kernels for @target@, written by Hone @version@. C99; no allocation, no standard library, no
writable data: any number of threads may call any function at the same time.

| function | measured | flash | stack | workspace | constants |
|---|---|---|---|---|---|
@rows@
Flash is code and its tables, stack is the deepest call chain, workspace and constants are memory that the
caller hands over; all in bytes.

## Use

```c
@include@
```
Every function takes pointers to the arguments in the order of `include/@p@.h`, a workspace of at least
`..._WORKSPACE_BYTES(threads)` bytes and a `@p@_parallel` that runs parallel loops (null: the calling
thread). Where there are constants, `..._prepare` makes them of the weights: call it once, ahead of all
calls, and hand them to each; measured times do not contain it. Pointers are multiples of `..._ALIGN`; what is not comes back as a status, and nothing is computed.

## Compile and link

The archive, tuned for @target@:
```sh
@cc@ @c_flags@ -std=c99 -O2 -Iinclude your.c lib/lib@p@.a -o your
```
If the calling code is compiled for less than the archive needs (and checks the machine at run time),
define `@P@_NO_FEATURE_CHECK`.

The same kernels as portable C, for any machine:
```sh
cc -std=c99 -O2 -D@P@_PORTABLE -Iinclude your.c src/*.c -o your
```
With CMake, `add_subdirectory(@p@)` gives `@p@` (archive) and `@p@_source` (C):
```cmake
target_link_libraries(your PRIVATE @p@)
```

## Self-test

```sh
@cc@ @c_flags@ -std=c99 -O2 -Iinclude test/@p@_selftest.c lib/lib@p@.a -o selftest && ./selftest
```
A line for each function; the exit code is the number of those that failed.

`manifest.json` has shapes, sizes, measurements and the schedule of each function.
)";

constexpr std::string_view kCmake = R"(# SPDX-License-Identifier: Apache-2.0
# @p@: the archive for @target@. @p@_source: the same kernels as portable C.
cmake_minimum_required(VERSION 3.16)
if(CMAKE_SOURCE_DIR STREQUAL CMAKE_CURRENT_SOURCE_DIR)
  project(@p@ LANGUAGES C)
  enable_testing()
endif()

add_library(@p@ STATIC IMPORTED GLOBAL)
set_target_properties(@p@ PROPERTIES
  IMPORTED_LOCATION "${CMAKE_CURRENT_SOURCE_DIR}/lib/lib@p@.a"
  INTERFACE_INCLUDE_DIRECTORIES "${CMAKE_CURRENT_SOURCE_DIR}/include")

add_library(@p@_source STATIC EXCLUDE_FROM_ALL
@sources@)
target_include_directories(@p@_source PUBLIC "${CMAKE_CURRENT_SOURCE_DIR}/include")
target_compile_definitions(@p@_source PUBLIC @P@_PORTABLE)
set_target_properties(@p@_source PROPERTIES C_STANDARD 99)

if(CMAKE_SOURCE_DIR STREQUAL CMAKE_CURRENT_SOURCE_DIR)
  foreach(variant IN ITEMS @p@ @p@_source)
    add_executable(${variant}_selftest test/@p@_selftest.c)
    set_target_properties(${variant}_selftest PROPERTIES C_STANDARD 99)
    target_link_libraries(${variant}_selftest PRIVATE ${variant})
    add_test(NAME ${variant} COMMAND ${variant}_selftest)
  endforeach()
  target_compile_options(@p@_selftest PRIVATE @flags@)
endif()
)";

}  // namespace

std::string readme_text(const Library& library) {
  std::string rows;
  for (const LibraryTask& task : library.tasks) {
    std::string workspace = fmt::format("{}", task.workspace_bytes);
    if (task.workspace_bytes_per_thread > 0)
      workspace += fmt::format(" + {} a thread", task.workspace_bytes_per_thread);
    rows += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", library.function(task),
                        measured_text(task), task.text_bytes + task.rodata_bytes, task.stack_bytes,
                        workspace, task.constants_bytes);
  }
  return fill_template(kReadme, {{"p", library.prefix},
                                 {"P", library.upper()},
                                 {"target", library.target.name},
                                 {"version", library.version},
                                 {"include", fmt::format("#include \"{}.h\"", library.prefix)},
                                 {"cc", compiler(library.target)},
                                 {"c_flags", library.target.c_flags},
                                 {"rows", rows}});
}

std::string cmake_text(const Library& library) {
  std::string sources = fmt::format("  src/{}.c", library.prefix);
  for (const LibraryTask& task : library.tasks)
    sources += fmt::format("\n  src/{}.c", library.function(task));
  return fill_template(kCmake, {{"p", library.prefix},
                                {"P", library.upper()},
                                {"target", library.target.name},
                                {"flags", library.target.c_flags},
                                {"sources", sources}});
}

}  // namespace hone
