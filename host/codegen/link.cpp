// SPDX-License-Identifier: Apache-2.0
//
// LLD in process. It reads and writes files by name, so object, script and image lie in a folder of
// their own in memory-backed storage where there is one. The script puts the entry point first,
// keeps code and constants, and refuses anything else that would need memory.
#include <cstdlib>
#include <filesystem>

#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>

#include "base/text.h"
#include "codegen/codegen.h"

LLD_HAS_DRIVER(elf)

namespace hone {
namespace {

class ScratchFolder {
 public:
  static Result<ScratchFolder> make() {
    for (const char* base : {"/dev/shm", "/tmp"}) {
      std::string path = fmt::format("{}/hone-link-XXXXXX", base);
      if (mkdtemp(path.data()) != nullptr) return ScratchFolder(std::move(path));
    }
    return fail("cannot make a folder for linking in /dev/shm or /tmp");
  }
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  ScratchFolder(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

std::string script_text(uint64_t load_address, const std::string& entry) {
  return fmt::format(
      "ENTRY({1})\n"
      "SECTIONS {{\n"
      "  . = {0:#x};\n"
      "  .text : {{ *(.text.{1}) *(.text .text.*) }}\n"
      "  .rodata : {{ *(.rodata .rodata.*) }}\n"
      "  .unwanted : {{ *(.data .data.* .bss .bss.* .tdata .tbss .got .got.* .plt .plt.*) }}\n"
      "  ASSERT(SIZEOF(.unwanted) == 0, \"a candidate must not have writable data\")\n"
      "  /DISCARD/ : {{ *(.stack_sizes .comment .note.* .eh_frame .ARM.* .riscv.attributes) }}\n"
      "}}\n",
      load_address, entry);
}

}  // namespace

Result<Image> link_image(const ObjectCode& object, const Target& target, uint64_t load_address,
                         const std::string& entry) {
  const ScratchFolder folder = TRY(ScratchFolder::make());
  const std::string object_file = folder.file("object.o");
  const std::string script_file = folder.file("image.ld");
  const std::string image_file = folder.file("image.bin");
  TRYV(write_file(object_file,
                  {reinterpret_cast<const char*>(object.bytes.data()), object.bytes.size()}));
  TRYV(write_file(script_file, script_text(load_address, entry)));
  std::vector<const char*> arguments = {
      "ld.lld", "--oformat=binary",  "--threads=1", "--build-id=none",  "--no-relax",
      "-T",     script_file.c_str(), "-o",          image_file.c_str(), object_file.c_str()};
  std::string complaints;
  llvm::raw_string_ostream stream(complaints);
  const lld::Result done = lld::lldMain(arguments, stream, stream, {{lld::Gnu, &lld::elf::link}});
  ENSURE(done.canRunAgain, "LLD cannot go on in this process: {}", complaints);
  if (done.retCode != 0) return fail("linking for {}: {}", target.name, complaints);
  const std::string bytes = TRY(read_file(image_file));
  Image image;
  image.bytes.assign(bytes.begin(), bytes.end());
  image.load_address = load_address;
  image.entry_offset =
      target.isa == Isa::armv7em ? 1 : 0;  // Thumb code is called at an odd address
  return image;
}

}  // namespace hone
