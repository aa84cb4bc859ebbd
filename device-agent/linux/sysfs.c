// SPDX-License-Identifier: Apache-2.0
//
// What Linux tells about cores, clocks and temperature in files. All of it may be missing.
#include "linux.h"

enum { AT_FDCWD_ = -100, O_RDONLY_ = 0, O_CLOEXEC_ = 02000000 };

static long read_text(const char* path, char* text, size_t space) {
  const long fd = syscall4(SYS_openat, AT_FDCWD_, (long)path, O_RDONLY_ | O_CLOEXEC_, 0);
  if (fd < 0) return -1;
  const long count = syscall3(SYS_read, fd, (long)text, (long)space - 1);
  syscall1(SYS_close, fd);
  if (count < 0) return -1;
  text[count] = 0;
  return count;
}

static const char* append(char* path, size_t* at, const char* text) {
  while (*text) path[(*at)++] = *text++;
  path[*at] = 0;
  return path;
}

static void append_number(char* path, size_t* at, uint32_t number) {
  uint32_t unit = 1;
  while (number / unit >= 10) unit *= 10;
  for (; unit; unit /= 10) path[(*at)++] = (char)('0' + number / unit % 10);
  path[*at] = 0;
}

static long read_core_text(uint32_t core, const char* file, char* text, size_t space) {
  char path[96];
  size_t at = 0;
  append(path, &at, "/sys/devices/system/cpu/cpu");
  append_number(path, &at, core);
  append(path, &at, file);
  return read_text(path, text, space);
}

static int64_t number_in(const char* text) {
  const bool negative = *text == '-';
  if (negative) ++text;
  if (*text < '0' || *text > '9') return -1;
  int64_t number = 0;
  for (; *text >= '0' && *text <= '9'; ++text) number = number * 10 + (*text - '0');
  return negative ? -number : number;
}

static int64_t read_core_number(uint32_t core, const char* file) {
  char text[32];
  return read_core_text(core, file, text, sizeof text) > 0 ? number_in(text) : -1;
}

uint16_t find_cores(struct hone_core* cores, uint16_t space) {
  unsigned long mask[128 / sizeof(long)] = {0};
  const long bytes = syscall3(SYS_sched_getaffinity, 0, sizeof mask, (long)mask);
  uint16_t count = 0;
  for (uint16_t id = 0; bytes > 0 && id < 8 * (uint32_t)bytes && count < space; ++id) {
    if (!(mask[id / (8 * sizeof(long))] >> id % (8 * sizeof(long)) & 1)) continue;
    const int64_t khz = read_core_number(id, "/cpufreq/cpuinfo_max_freq");
    const int64_t capacity = read_core_number(id, "/cpu_capacity");
    cores[count++] =
        (struct hone_core){id, capacity > 0 ? (uint16_t)capacity : 0, khz > 0 ? (uint32_t)khz : 0};
  }
  return count;
}

int64_t core_khz(uint32_t core) { return read_core_number(core, "/cpufreq/scaling_cur_freq"); }

static bool begins_with(const char* text, const char* beginning) {
  while (*beginning)
    if (*text++ != *beginning++) return false;
  return true;
}

int64_t core_governor(uint32_t core) {
  static const char* const names[] = {
      "", "performance", "powersave", "ondemand", "conservative", "schedutil", "userspace"};
  char text[32];
  if (read_core_text(core, "/cpufreq/scaling_governor", text, sizeof text) <= 0) return -1;
  for (int64_t i = 1; i < (int64_t)(sizeof names / sizeof names[0]); ++i)
    if (begins_with(text, names[i])) return i;
  return HONE_GOVERNOR_OTHER;
}

int64_t temperature_millidegrees(void) {
  char text[32];
  if (read_text("/sys/class/thermal/thermal_zone0/temp", text, sizeof text) <= 0) return -1;
  return number_in(text);
}

uint64_t available_memory_bytes(void) {
  char text[512];
  const uint64_t unknown = (uint64_t)256 << 20;
  if (read_text("/proc/meminfo", text, sizeof text) <= 0) return unknown;
  for (const char* at = text; *at; ++at) {
    if (!begins_with(at, "MemAvailable:")) continue;
    at += sizeof "MemAvailable:" - 1;
    while (*at == ' ') ++at;
    const int64_t kib = number_in(at);
    return kib > 0 ? (uint64_t)kib << 10 : unknown;
  }
  return unknown;
}
