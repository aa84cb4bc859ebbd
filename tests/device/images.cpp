// SPDX-License-Identifier: Apache-2.0
#include "images.h"

#include <sstream>

#include <unistd.h>

#include "base/text.h"
#include "device/device_url.h"

namespace hone {
namespace {

const std::map<std::string, std::vector<std::string>>& compiler_flags() {
  static const std::map<std::string, std::vector<std::string>> kFlags = {
      {"x86_64", {"--target=x86_64-linux-gnu"}},
      {"aarch64", {"--target=aarch64-linux-gnu"}},
      {"armv7", {"--target=armv7-linux-gnueabihf", "-mfloat-abi=hard", "-marm"}},
      {"riscv64", {"--target=riscv64-linux-gnu", "-march=rv64gc", "-mcmodel=medany"}}};
  return kFlags;
}

std::string linker_script(uint64_t load_address) {
  return fmt::format(
      "ENTRY(good)\n"
      "SECTIONS {{\n"
      "  . = {:#x};\n"
      "  .image : {{ *(.text .text.* .rodata .rodata.* .data .data.* .sdata .sdata.*) }}\n"
      "  . = ALIGN(64);\n"
      "  zeros_begin = .;\n"
      "  .bss : {{ *(.bss .bss.* .sbss .sbss.*) }}\n"
      "  zeros_end = .;\n"
      "  /DISCARD/ : {{ *(.comment .note* .ARM.* .eh_frame*) }}\n"
      "}}\n",
      load_address);
}

Result<std::string> run_tool(const std::vector<std::string>& argv) {
  const CommandOutput output = TRY(run_command(argv, after_seconds(60)));
  if (output.status.signaled || output.status.code != 0)
    return fail("{}: {}", join(argv, " "), output.status.text());
  return output.text;
}

}  // namespace

const std::vector<TestDevice>& test_devices() {
  static const std::vector<TestDevice> kDevices = {
      {"local", "local", std::string(host_agent())},
      {"aarch64", "exec:qemu-aarch64-static -cpu cortex-a72 {agent}", "aarch64"},
      {"armv7", "exec:qemu-arm-static {agent}", "armv7"},
      {"riscv64", "exec:qemu-riscv64-static {agent}", "riscv64"}};
  return kDevices;
}

Result<Session> open_session(const TestDevice& device) {
  const DeviceUrl url = TRY(parse_device_url(device.url));
  return Session::open(TRY(connect(url, HONE_AGENTS, device.agent)), {});
}

Result<CandidateImage> build_candidates(const TestDevice& device, const DeviceInfo& info) {
  // Tests may run at the same time in one build folder.
  const std::string base =
      fmt::format("{}/candidates-{}-{}", HONE_BINARY_DIR, device.agent, getpid());
  TRYV(write_file(base + ".ld", linker_script(info.load_address)));
  std::vector<std::string> compile = {HONE_CLANG};
  for (const std::string& flag : compiler_flags().at(device.agent)) compile.push_back(flag);
  for (const char* flag :
       {"-O1", "-ffreestanding", "-nostdlib", "-static", "-fno-pic", "-fno-stack-protector",
        "-fuse-ld=lld", "-Wno-infinite-recursion", "-I" HONE_SOURCE_DIR "/device-agent",
        HONE_SOURCE_DIR "/tests/device/candidates.c", "-o"})
    compile.push_back(flag);
  compile.push_back(base + ".elf");
  compile.push_back("-Wl,-T," + base + ".ld");
  TRYV(run_tool(compile));
  TRYV(run_tool({"llvm-objcopy-19", "-O", "binary", base + ".elf", base + ".bin"}));
  std::istringstream symbols(TRY(run_tool({"llvm-nm-19", base + ".elf"})));
  const std::string bytes = TRY(read_file(base + ".bin"));
  for (const char* suffix : {".ld", ".elf", ".bin"}) unlink((base + suffix).c_str());

  CandidateImage image;
  image.bytes.assign(bytes.begin(), bytes.end());
  std::string address, kind, name;
  while (symbols >> address >> kind >> name)
    image.entries[name] =
        static_cast<int64_t>(std::stoull(address, nullptr, 16) - info.load_address);
  image.bss_bytes = image.entries.at("zeros_end") - static_cast<int64_t>(image.bytes.size());
  return image;
}

}  // namespace hone
