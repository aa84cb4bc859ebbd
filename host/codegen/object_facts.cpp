// SPDX-License-Identifier: Apache-2.0
#include "codegen/object_facts.h"

#include <algorithm>
#include <cstring>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/DataExtractor.h>
#pragma GCC diagnostic pop

namespace hone {
namespace {

namespace object = llvm::object;

Result<std::unique_ptr<object::ObjectFile>> open_elf(std::string_view elf) {
  auto file = object::ObjectFile::createELFObjectFile(
      llvm::MemoryBufferRef(llvm::StringRef(elf.data(), elf.size()), "kernel"), false);
  if (!file) return fail("object file: {}", llvm::toString(file.takeError()));
  return std::move(*file);
}

// Pairs of a function's address and the size of its frame.
int64_t deepest_frame(llvm::StringRef section, uint8_t address_bytes) {
  const llvm::DataExtractor data(section, true, address_bytes);
  uint64_t deepest = 0;
  for (uint64_t offset = 0; offset < section.size();) {
    data.getAddress(&offset);
    deepest = std::max(deepest, data.getULEB128(&offset));
  }
  return static_cast<int64_t>(deepest);
}

template <typename ElfType>
Result<Image> flatten_as(const object::ELFFile<ElfType>& elf, uint64_t load_address) {
  auto headers = elf.program_headers();
  if (!headers) return fail("linked file: {}", llvm::toString(headers.takeError()));
  Image image;
  image.load_address = load_address;
  uint64_t end = load_address;
  for (const auto& header : *headers) {
    if (header.p_type != llvm::ELF::PT_LOAD || header.p_memsz == 0) continue;
    if (header.p_vaddr < load_address)
      return fail("linked file: a part lies at {:#x}, before the load address",
                  static_cast<uint64_t>(header.p_vaddr));
    auto content = elf.getSegmentContents(header);
    if (!content) return fail("linked file: {}", llvm::toString(content.takeError()));
    const size_t start = header.p_vaddr - load_address;
    image.bytes.resize(std::max(image.bytes.size(), start + content->size()));
    std::copy(content->begin(), content->end(),
              image.bytes.begin() + static_cast<std::ptrdiff_t>(start));
    end = std::max<uint64_t>(end, header.p_vaddr + header.p_memsz);
  }
  image.bss_bytes = static_cast<int64_t>(end - load_address - image.bytes.size());
  image.entry_offset = static_cast<int64_t>(elf.getHeader().e_entry - load_address);
  return image;
}

}  // namespace

Result<ObjectCode> read_object(std::string_view elf) {
  const auto file = TRY(open_elf(elf));
  ObjectCode code;
  code.bytes.assign(elf.begin(), elf.end());
  for (const object::SectionRef& section : file->sections()) {
    const object::ELFSectionRef elf_section(section);
    const int64_t bytes = static_cast<int64_t>(section.getSize());
    if ((elf_section.getFlags() & llvm::ELF::SHF_EXECINSTR) != 0)
      code.text_bytes += bytes;
    else if ((elf_section.getFlags() & llvm::ELF::SHF_ALLOC) != 0)
      code.rodata_bytes += bytes;
    auto name = section.getName();
    if (!name) return fail("object file: {}", llvm::toString(name.takeError()));
    if (*name != ".stack_sizes") continue;
    auto content = section.getContents();
    if (!content) return fail("object file: {}", llvm::toString(content.takeError()));
    code.stack_bytes =
        std::max(code.stack_bytes, deepest_frame(*content, file->getBytesInAddress()));
  }
  return code;
}

Result<Image> flatten(std::string_view elf, uint64_t load_address) {
  const auto file = TRY(open_elf(elf));
  if (const auto* wide = llvm::dyn_cast<object::ELF64LEObjectFile>(file.get()))
    return flatten_as(wide->getELFFile(), load_address);
  if (const auto* narrow = llvm::dyn_cast<object::ELF32LEObjectFile>(file.get()))
    return flatten_as(narrow->getELFFile(), load_address);
  return fail("linked file: neither 32-bit nor 64-bit little endian");
}

}  // namespace hone
