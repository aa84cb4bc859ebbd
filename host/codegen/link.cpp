// SPDX-License-Identifier: Apache-2.0
//
// LLD in process. It takes files and gives a file; here those are a memory file and a pipe, named
// by their numbers, so that nothing is left anywhere when the process is killed.
#include "codegen/codegen.h"
#include "codegen/object_facts.h"

#include <cerrno>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/process.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#include <lld/Common/Driver.h>
#pragma GCC diagnostic pop

LLD_HAS_DRIVER(elf)

namespace hone {
namespace {

// Nothing but code and constants, one after the other: the whole image is one segment.
constexpr const char* kLayout = R"(
PHDRS {{ all PT_LOAD FLAGS(7); }}
SECTIONS {{
  . = {:#x};
  .text : {{ *(.text .text.*) }} :all
  .rodata : {{ *(.rodata .rodata.*) }} :all
  .data : {{ *(.data .data.* .got .got.*) }} :all
  .bss : {{ *(.bss .bss.*) }} :all
  /DISCARD/ : {{ *(.stack_sizes .comment .note.* .eh_frame .ARM.exidx* .ARM.attributes .riscv.attributes) }}
}}
)";

Result<FileDescriptor> memory_file(const char* name, std::string_view content) {
  FileDescriptor file(memfd_create(name, MFD_CLOEXEC));
  if (!file.open()) return fail("a memory file for the linker: {}", std::strerror(errno));
  TRYV(write_all(file.get(), {reinterpret_cast<const uint8_t*>(content.data()), content.size()},
                 after_seconds(10)));
  return file;
}

std::string path_of(int fd) { return fmt::format("/proc/self/fd/{}", fd); }

std::string read_to_end(int fd) {
  std::string all;
  char part[16384];
  for (;;) {
    const ssize_t count = read(fd, part, sizeof part);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return all;
    all.append(part, static_cast<size_t>(count));
  }
}

}  // namespace

Result<Image> link_image(const std::vector<LinkPart>& parts, const Target& target,
                         uint64_t load_address) {
  ENSURE(parts.size() == 1 || parts.size() == 2);
  const std::string& entry = parts[0].entry;
  std::vector<FileDescriptor> inputs;
  for (const LinkPart& part : parts)
    inputs.push_back(
        TRY(memory_file("kernel.o", {reinterpret_cast<const char*>(part.object->bytes.data()),
                                     part.object->bytes.size()})));
  const FileDescriptor script = TRY(memory_file("kernel.ld", fmt::format(kLayout, load_address)));
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return fail("a pipe for the linker: {}", std::strerror(errno));
  const FileDescriptor out(ends[0]);
  FileDescriptor in(ends[1]);
  std::vector<std::string> words = {"ld.lld",
                                    "-static",
                                    "--threads=1",
                                    "--build-id=none",
                                    "--no-rosegment",
                                    "-z",
                                    "norelro",
                                    "--fatal-warnings",
                                    "--entry",
                                    entry,
                                    "-T",
                                    path_of(script.get()),
                                    "-o",
                                    path_of(in.get())};
  for (const FileDescriptor& input : inputs) words.push_back(path_of(input.get()));
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  std::string linked;
  std::thread reader([&] { linked = read_to_end(out.get()); });
  std::string messages;
  llvm::raw_string_ostream errors(messages);
  const lld::DriverDef driver{lld::Gnu, &lld::elf::link};
  const lld::Result result = lld::lldMain(arguments, llvm::nulls(), errors, driver);
  in.close();
  reader.join();
  ENSURE(result.canRunAgain, "the linker crashed: {}", messages);
  if (result.retCode != 0) return fail("linking {} for {}: {}", entry, target.name, errors.str());
  return flatten(linked, load_address, parts.size() > 1 ? parts[1].entry : "");
}

}  // namespace hone
