// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "device/device_url.h"

using namespace hone;

TEST_CASE("device URLs") {
  const auto local = parse_device_url("local");
  REQUIRE(local.has_value());
  CHECK(local->local());
  CHECK_FALSE(local->emulated);

  const auto qemu = parse_device_url("exec:qemu-aarch64-static -cpu cortex-a72 {agent}");
  REQUIRE(qemu.has_value());
  CHECK(qemu->command ==
        std::vector<std::string>{"qemu-aarch64-static", "-cpu", "cortex-a72", "{agent}"});
  CHECK(qemu->emulated);
  CHECK(parse_device_url("exec:/usr/bin/qemu-arm-static {agent}")->emulated);

  const auto shell = parse_device_url("exec:adb shell  'cd /data && ./agent' \"a b\"c ''");
  REQUIRE(shell.has_value());
  CHECK(shell->command ==
        std::vector<std::string>{"adb", "shell", "cd /data && ./agent", "a bc", ""});
  CHECK_FALSE(shell->emulated);
}

TEST_CASE("device URLs that are none") {
  const auto message = [](std::string_view text) {
    const auto url = parse_device_url(text);
    return url ? std::string() : url.error().message;
  };
  CHECK(message("usb:3") ==
        "unknown device 'usb:3', expected 'local' or 'exec:COMMAND' ({agent} in the command stands "
        "for the agent's path)");
  CHECK(message("exec:  ").find("no command after exec:") != std::string::npos);
  CHECK(message("exec:sh -c 'x").find("the quote ' is not closed") != std::string::npos);
}

TEST_CASE("connecting to what cannot be") {
  const auto other =
      connect(*parse_device_url("local"), "/nowhere", host_agent() == "armv7" ? "x86_64" : "armv7");
  REQUIRE_FALSE(other.has_value());
  CHECK(other.error().message.find("the device 'local' is") == 0);
  const auto missing = connect(*parse_device_url("local"), "/nowhere", host_agent());
  REQUIRE_FALSE(missing.has_value());
  CHECK(missing.error().message.find("there is no agent at /nowhere/hone-agent-") == 0);
}
