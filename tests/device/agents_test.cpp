// SPDX-License-Identifier: Apache-2.0
//
// The agent binaries themselves, and what they tell about the machine.
#include <algorithm>

#include <doctest/doctest.h>

#include "base/process.h"
#include "base/text.h"
#include "device/device_url.h"
#include "images.h"

using namespace hone;

namespace {

uint64_t field(const std::string& bytes, size_t at, size_t count) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i)
    value |= static_cast<uint64_t>(static_cast<uint8_t>(bytes.at(at + i))) << (8 * i);
  return value;
}

// Types of the program headers of an ELF file.
std::vector<uint64_t> segment_types(const std::string& elf) {
  const bool wide = elf.at(4) == 2;
  const uint64_t table = wide ? field(elf, 32, 8) : field(elf, 28, 4);
  const uint64_t size = field(elf, wide ? 54 : 42, 2);
  const uint64_t count = field(elf, wide ? 56 : 44, 2);
  std::vector<uint64_t> types;
  for (uint64_t i = 0; i < count; ++i) types.push_back(field(elf, table + i * size, 4));
  return types;
}

}  // namespace

TEST_CASE("agents are static and at most 64 KiB") {
  for (const TestDevice& device : test_devices()) {
    CAPTURE(device.agent);
    const auto elf = read_file(std::string(HONE_AGENTS) + "/hone-agent-" + device.agent);
    REQUIRE(elf.has_value());
    MESSAGE(device.agent, ": ", elf->size(), " bytes");
    CHECK(elf->size() <= 64u << 10);
    REQUIRE(
        elf->starts_with("\x7f"
                         "ELF"));
    const std::vector<uint64_t> types = segment_types(*elf);
    CHECK(std::count(types.begin(), types.end(), 1u) >= 1);  // PT_LOAD
    CHECK(std::count(types.begin(), types.end(), 2u) == 0);  // PT_DYNAMIC
    CHECK(std::count(types.begin(), types.end(), 3u) == 0);  // PT_INTERP
  }
}

TEST_CASE("an agent ends when its input ends") {
  const std::string path = std::string(HONE_AGENTS) + "/hone-agent-" + std::string(host_agent());
  auto process = Process::start({path}, {});
  REQUIRE(process.has_value());
  CHECK_FALSE(process->wait(after_seconds(0.1)).has_value());
  process->close_stdin();
  const auto status = process->wait(after_seconds(5));
  REQUIRE(status.has_value());
  CHECK_FALSE(status->signaled);
  CHECK(status->code == 0);
}

TEST_CASE("hello: what each device says of itself") {
  for (const TestDevice& device : test_devices()) {
    CAPTURE(device.name);
    auto session = open_session(device);
    REQUIRE_MESSAGE(session.has_value(), session.error().message);
    const DeviceInfo& info = session->device();
    CHECK(info.arch == device.agent);
    CHECK(info.pointer_bits == (device.agent == "armv7" ? 32 : 64));
    CHECK(info.unit == "ns");
    CHECK(info.load_address == 0x50000000u);
    CHECK(info.load_bytes >= 4 << 20);
    CHECK(info.arena_bytes > 0);
    CHECK(info.page_bytes >= 4096);
    CHECK_FALSE(info.cores.empty());
    CHECK(info.agent_hash != 0);
    CHECK(info.boot_nonce != 0);
    MESSAGE(device.name, ": timer ", info.timer, ", overhead ", info.timer_overhead_ns,
            " ns, features ", join(info.features, " "));
  }
}

TEST_CASE("features follow the emulated core, not the machine below it") {
  const auto has = [](const DeviceInfo& info, const std::string& name) {
    return std::count(info.features.begin(), info.features.end(), name) == 1;
  };
  auto a72 = open_session({"", "exec:qemu-aarch64-static -cpu cortex-a72 {agent}", "aarch64"});
  auto a76 = open_session({"", "exec:qemu-aarch64-static -cpu cortex-a76 {agent}", "aarch64"});
  auto rvv = open_session({"", "exec:qemu-riscv64-static -cpu rv64,v=true {agent}", "riscv64"});
  auto arm = open_session({"", "exec:qemu-arm-static -cpu cortex-a7 {agent}", "armv7"});
  REQUIRE(a72.has_value());
  REQUIRE(a76.has_value());
  REQUIRE(rvv.has_value());
  REQUIRE(arm.has_value());
  CHECK(has(a72->device(), "neon"));
  CHECK_FALSE(has(a72->device(), "dotprod"));
  CHECK(has(a76->device(), "dotprod"));
  CHECK(has(rvv->device(), "d"));
  CHECK(has(rvv->device(), "v"));
  CHECK(has(arm->device(), "vfp4"));
  CHECK(has(arm->device(), "neon"));
}

TEST_CASE("a boot nonce is another one each time, the hash of the code is not") {
  auto first = open_session(test_devices()[0]);
  auto second = open_session(test_devices()[0]);
  REQUIRE(first.has_value());
  REQUIRE(second.has_value());
  CHECK(first->device().boot_nonce != second->device().boot_nonce);
  CHECK(first->device().agent_hash == second->device().agent_hash);
}

TEST_CASE("what is no agent, is said") {
  const auto no_answer = open_session({"", "exec:false", std::string(host_agent())});
  REQUIRE_FALSE(no_answer.has_value());
  CHECK(no_answer.error().message.find("no agent behind a pipe to false") == 0);
  const auto no_command = open_session({"", "exec:no-such-command-here", "x86_64"});
  REQUIRE_FALSE(no_command.has_value());
  CHECK(no_command.error().message.find("cannot start no-such-command-here") == 0);
}
