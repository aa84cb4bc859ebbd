// SPDX-License-Identifier: Apache-2.0
//
// The agent on Linux: frames on stdin and stdout, memory by mmap, a forked process for each
// candidate. One mechanism waits for all that a candidate can do (pause, end, die, hang): SIGCHLD
// is blocked and waited for with a deadline. Rejected: a pipe from the candidate, which it could
// close, and pidfd, which older kernels and emulators do not know.
#include "linux.h"

enum { kMaxCores = 256, kMaxFeatures = 64, kImageStoreBytes = 8 << 20 };

static struct hone_facts facts;
static struct hone_core cores[kMaxCores];
static const char* features[kMaxFeatures];
static struct hone_record* record;

static struct {
  uint8_t* bytes;
  size_t size;
} arena, workspace;

static struct {
  uint32_t core;
  int64_t khz_before;
  int64_t khz_after;
} last_run;

const struct hone_facts* port_facts(void) { return &facts; }
struct hone_record* port_record(void) {
  hone_set_bytes(record, 0, offsetof(struct hone_record, samples));
  return record;
}

// ---- the line ----

int32_t port_read(uint8_t* bytes, size_t space, int32_t timeout_ms) {
  if (timeout_ms >= 0) {
    struct {
      int fd;
      int16_t events, happened;
    } entry = {0, 1 /* POLLIN */, 0};
    struct kernel_timespec timeout = {timeout_ms / 1000, timeout_ms % 1000 * 1000000};
    const long ready = syscall6(SYS_ppoll, (long)&entry, 1, (long)&timeout, 0, 8, 0);
    if (ready == 0 || ready == -EINTR_) return 0;
  }
  for (;;) {
    const long count = syscall3(SYS_read, 0, (long)bytes, (long)space);
    if (count > 0) return (int32_t)count;
    if (count != -EINTR_) return -1;
  }
}

bool port_write(const uint8_t* bytes, size_t count) {
  while (count) {
    const long written = syscall3(SYS_write, 1, (long)bytes, (long)count);
    if (written == -EINTR_) continue;
    if (written <= 0) return false;
    bytes += written;
    count -= (size_t)written;
  }
  return true;
}

// ---- memory ----

// Shared with the candidate, so that the agent sees its outputs.
static uint8_t* map_shared(uint64_t bytes) {
  if (bytes > (uint64_t)SIZE_MAX) return NULL;
  return map_memory(0, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
}

uint8_t* port_arena(uint64_t bytes) {
  if (arena.bytes) syscall2(SYS_munmap, (long)arena.bytes, (long)arena.size);
  arena.size = (size_t)(bytes ? bytes : facts.page_bytes);
  arena.bytes = map_shared(arena.size);
  return arena.bytes;
}

uint8_t* port_workspace(uint64_t bytes) {
  if (bytes + arena.size > facts.arena_bytes) return NULL;
  if (workspace.bytes && bytes <= workspace.size) return workspace.bytes;
  if (workspace.bytes) syscall2(SYS_munmap, (long)workspace.bytes, (long)workspace.size);
  workspace.size = (size_t)bytes;
  workspace.bytes = map_shared(bytes);
  return workspace.bytes;
}

// ---- a run ----

enum { WNOHANG = 1, WUNTRACED = 2 };
enum child_event { kStopped, kEnded, kTooLate };

struct child {
  int pid;
  int status;
  uint64_t left_ns;  // until the deadline, counting only while the candidate runs
  uint64_t usage[(2 * 2 + 14) * sizeof(long) / 8 + 1];  // struct rusage
};

// Counters in struct rusage stand behind two times of two words each.
static uint64_t usage_counter(const struct child* child, int index) {
  return ((const unsigned long*)(const void*)child->usage)[4 + index];
}
enum { kMajorFaults = 5, kInvoluntarySwitches = 13 };

static bool child_changed(struct child* child) {
  return syscall4(SYS_wait4, child->pid, (long)&child->status, WNOHANG | WUNTRACED,
                  (long)child->usage) == child->pid;
}

static enum child_event wait_for_event(struct child* child) {
  static const uint64_t child_signal = 1u << (SIGCHLD - 1);
  const uint64_t begin = clock_ns();
  for (;;) {
    if (child_changed(child)) {
      const uint64_t took = clock_ns() - begin;
      child->left_ns = took < child->left_ns ? child->left_ns - took : 0;
      return (child->status & 0xff) == 0x7f ? kStopped : kEnded;
    }
    const uint64_t passed = clock_ns() - begin;
    if (passed >= child->left_ns) return kTooLate;
    const uint64_t left = child->left_ns - passed;
    // Split without a 64-bit division: at most a second, then look again.
    struct kernel_timespec timeout = {0, 999999999};
    if (left < 999999999) timeout.nanoseconds = (long)left;
    syscall4(SYS_rt_sigtimedwait, (long)&child_signal, 0, (long)&timeout, 8);
  }
}

static void end_child(struct child* child) {
  syscall2(SYS_kill, -child->pid, SIGKILL);
  syscall2(SYS_kill, child->pid, SIGKILL);
  while (syscall4(SYS_wait4, child->pid, (long)&child->status, 0, (long)child->usage) == -EINTR_) {
  }
}

// What a candidate that made processes of its own left behind.
static void end_stragglers(const struct child* child) {
  syscall2(SYS_kill, -child->pid, SIGKILL);
  int status;
  while (syscall4(SYS_wait4, -1, (long)&status, WNOHANG, 0) > 0) {
  }
}

static enum hone_outcome outcome_of_end(const struct hone_run* run, const struct child* child) {
  struct hone_record* r = run->record;
  const int killed_by = child->status & 0x7f;
  if (r->finished && child->status == 0) return HONE_OK;
  if (r->trouble) return HONE_AGENT_TROUBLE;
  // Died without its handler: no stack left to run it on, or killed by its limits.
  if (killed_by && !r->signal) r->signal = killed_by;
  return r->signal == SIGILL ? HONE_ILLEGAL_INSTRUCTION : HONE_FAULT;
}

static enum hone_outcome follow(struct hone_run* run, struct child* child,
                                bool (*checked)(struct hone_run* run)) {
  enum child_event event = wait_for_event(child);
  if (event == kStopped && run->record->checked) {
    if (!checked(run)) {
      end_child(child);
      return HONE_GUARD_BROKEN;
    }
    syscall2(SYS_kill, child->pid, SIGCONT);
    event = wait_for_event(child);
  }
  if (event == kEnded) return outcome_of_end(run, child);
  // It stopped where it should not have.
  if (event == kStopped) run->record->signal = child->status >> 8 & 0xff;
  end_child(child);
  return event == kTooLate ? HONE_TIMEOUT : HONE_FAULT;
}

enum hone_outcome port_run(struct hone_run* run, bool (*checked)(struct hone_run* run)) {
  refine_timer();
  const int agent_pid = (int)syscall0(SYS_getpid);
  last_run.core = run->core_count         ? run->cores[0]
                  : facts.core_count != 0 ? facts.cores[facts.core_count - 1].id
                                          : 0;
  last_run.khz_before = core_khz(last_run.core);
  struct child child = {.left_ns = (uint64_t)run->deadline_ms * 1000000};
  const long pid = syscall6(SYS_clone, SIGCHLD, 0, 0, 0, 0, 0);
  if (pid == 0) become_candidate(run, agent_pid);
  if (pid < 0) {
    run->record->trouble = (int32_t)-pid;
    return HONE_AGENT_TROUBLE;
  }
  child.pid = (int)pid;
  const enum hone_outcome outcome = follow(run, &child, checked);
  end_stragglers(&child);
  last_run.khz_after = core_khz(last_run.core);
  run->record->involuntary_switches = usage_counter(&child, kInvoluntarySwitches);
  run->record->major_faults = usage_counter(&child, kMajorFaults);
  return outcome;
}

size_t port_context(struct hone_context_value* values, size_t space) {
  const struct hone_context_value all[] = {
      {HONE_CONTEXT_FREQUENCY_BEFORE_KHZ, last_run.khz_before},
      {HONE_CONTEXT_FREQUENCY_AFTER_KHZ, last_run.khz_after},
      {HONE_CONTEXT_GOVERNOR, core_governor(last_run.core)},
      {HONE_CONTEXT_TEMPERATURE_MILLIDEGREES, temperature_millidegrees()}};
  size_t count = 0;
  for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i)
    if (all[i].value != -1 && count < space) values[count++] = all[i];
  return count;
}

// ---- start ----

static _Noreturn void give_up(const char* reason) {
  size_t length = 0;
  while (reason[length]) ++length;
  syscall3(SYS_write, 2, (long)reason, (long)length);
  for (;;) syscall1(SYS_exit_group, 1);
}

// At a fixed place, so that the same candidate is the same bytes on every board of a kind; below
// 2 GiB, so that code of every code model reaches its own data.
static void reserve_load_region(void) {
  const bool wide = sizeof(void*) == 8;
  const uintptr_t wanted = 0x50000000u;
  facts.load_bytes = wide ? 16 << 20 : 4 << 20;
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  uint8_t* region =
      map_memory(wanted, (size_t)facts.load_bytes, PROT_NONE, flags | MAP_FIXED_NOREPLACE);
  if (!region) region = map_memory(0, (size_t)facts.load_bytes, PROT_NONE, flags);
  if (!region) give_up("hone-agent: no memory for candidates\n");
  facts.load_address = (uintptr_t)region;
}

static uint64_t hash_of_own_code(void) {
  extern const uint8_t __executable_start[], etext[];
  return hone_hash_elements(__executable_start, HONE_U8, (uint64_t)(etext - __executable_start));
}

static void hold_signals(void) {
  // A line that is gone is an error of write(); a child's end is waited for.
  const uint64_t held = 1u << (SIGCHLD - 1) | 1u << (SIGPIPE - 1);
  syscall4(SYS_rt_sigprocmask, 0 /* SIG_BLOCK */, (long)&held, 0, sizeof held);
}

static void find_facts(const struct machine* machine) {
#if defined(__x86_64__)
  facts.arch = HONE_X86_64;
#elif defined(__aarch64__)
  facts.arch = HONE_AARCH64;
#elif defined(__arm__)
  facts.arch = HONE_ARMV7;
#else
  facts.arch = HONE_RISCV64;
#endif
  facts.page_bytes = (uint32_t)machine->page_bytes;
  facts.timer = start_timer();
  facts.time_unit = HONE_UNIT_NS;
  facts.timer_overhead_ns = measure_timer_overhead();
  const uint64_t available = available_memory_bytes() / 4 * 3;
  const uint64_t most = sizeof(void*) == 8 ? (uint64_t)64 << 30 : (uint64_t)1 << 30;
  facts.arena_bytes = available < most ? available : most;
  facts.agent_hash = hash_of_own_code();
  for (int i = 0; machine->random && i < 8; ++i)
    facts.boot_nonce = facts.boot_nonce << 8 | machine->random[i];
  facts.cores = cores;
  facts.core_count = find_cores(cores, kMaxCores);
  facts.features = features;
  facts.feature_count = find_features(machine, features, kMaxFeatures);
}

_Noreturn void hone_main(const struct machine* machine);

_Noreturn void hone_main(const struct machine* machine) {
  enum { PR_SET_CHILD_SUBREAPER = 36 };
  hold_signals();
  // Orphans of a candidate come to the agent and not to the system's first process.
  syscall2(SYS_prctl, PR_SET_CHILD_SUBREAPER, 1);
  find_facts(machine);
  reserve_load_region();
  record = (struct hone_record*)(void*)map_shared(sizeof *record);
  facts.image_store = map_memory(0, kImageStoreBytes, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
  facts.image_store_bytes = kImageStoreBytes;
  if (!record || !facts.image_store) give_up("hone-agent: no memory\n");
  hone_agent();
  for (;;) syscall1(SYS_exit_group, 0);
}
