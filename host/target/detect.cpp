// SPDX-License-Identifier: Apache-2.0
//
// The level decides the instruction set, so that code tuned as native still has a name for what it needs;
// the cpu stays that of the level, which keeps object code the same on every machine of that level.
#include "target/detect.h"

#include <algorithm>
#include <thread>

#include <unistd.h>

namespace hone {
namespace {

#if defined(__x86_64__)
const char* best_level() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    return "x86-64-v4";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("bmi2"))
    return "x86-64-v3";
  return "x86-64-v2";
}
#endif

void set_if_known(int64_t& fact, int name) {
  const long value = sysconf(name);
  if (value > 0) fact = value;
}

}  // namespace

Result<Target> detect_native(const std::string& folder) {
#if defined(__x86_64__)
  Target target = TRY(load_target(fmt::format("{}/cores/{}.toml", folder, best_level())));
  target.name = "native";
  set_if_known(target.l1d_bytes, _SC_LEVEL1_DCACHE_SIZE);
  set_if_known(target.l1i_bytes, _SC_LEVEL1_ICACHE_SIZE);
  set_if_known(target.l2_bytes, _SC_LEVEL2_CACHE_SIZE);
  set_if_known(target.l3_bytes, _SC_LEVEL3_CACHE_SIZE);
  set_if_known(target.line_bytes, _SC_LEVEL1_DCACHE_LINESIZE);
  target.cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  return target;
#else
  return fail("the native target is known on x86-64 hosts only; name a core of {}/cores", folder);
#endif
}

}  // namespace hone
