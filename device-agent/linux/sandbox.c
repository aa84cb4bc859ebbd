// SPDX-License-Identifier: Apache-2.0
//
// What keeps a candidate from harming more than itself: handlers that write down how it died,
// limits, and a filter that leaves it the few system calls that running and timing take.
#include "linux.h"

// ---- signals ----

enum {
  SA_SIGINFO = 4,
  SA_ONSTACK = 0x08000000,
  SA_RESTORER = 0x04000000,
  SA_RESETHAND = (int)0x80000000
};
enum { kSignalStackBytes = 64 << 10 };  // AVX-512 and SVE registers are saved there

struct kernel_sigaction {
  void (*handler)(int signal, const int32_t* info, const uint8_t* context);
  unsigned long flags;
#if !defined(__riscv)
  void (*restorer)(void);
#endif
  unsigned long mask[8 / sizeof(long)];
};

#if defined(__x86_64__)
enum { kPcAt = 168 };  // of the program counter in the kernel's ucontext
#elif defined(__aarch64__)
enum { kPcAt = 440 };
#elif defined(__arm__)
enum { kPcAt = 92 };
#else
enum { kPcAt = 176 };
#endif

static struct hone_record* fault_record;

static void record_fault(int signal, const int32_t* info, const uint8_t* context) {
  struct hone_record* record = fault_record;
  // siginfo: signal, errno, code; then, aligned like a pointer, the address.
  const size_t address_at = sizeof(long) == 8 ? 16 : 12;
  record->signal_code = info[2];
  record->fault_address = *(const unsigned long*)(const void*)((const uint8_t*)info + address_at);
  record->fault_pc = *(const unsigned long*)(const void*)(context + kPcAt);
  record->signal = signal;
  for (;;) syscall1(SYS_exit_group, 1);
}

// The handler never returns, but x86 delivers no signal without an address to return to.
static void never_returned_to(void) { __builtin_trap(); }

void watch_signals(struct hone_record* record) {
  static const int signals[] = {SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGSYS};
  fault_record = record;
  struct kernel_sigaction action = {.handler = record_fault,
                                    // A fault inside the handler ends the process.
                                    .flags = SA_SIGINFO | SA_ONSTACK | (unsigned)SA_RESETHAND};
#if !defined(__riscv)
  action.flags |= SA_RESTORER;
  action.restorer = never_returned_to;
#else
  (void)never_returned_to;
#endif
  for (size_t i = 0; i < sizeof signals / sizeof signals[0]; ++i)
    syscall4(SYS_rt_sigaction, signals[i], (long)&action, 0, sizeof action.mask);
}

bool use_signal_stack(void) {
  struct {
    void* start;
    int flags;
    size_t bytes;
  } stack = {0};
  stack.bytes = kSignalStackBytes;
  stack.start = map_memory(0, stack.bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
  return stack.start && syscall2(SYS_sigaltstack, (long)&stack, 0) == 0;
}

// ---- limits ----

enum { RLIMIT_CPU = 0, RLIMIT_FSIZE = 1, RLIMIT_STACK = 3, RLIMIT_CORE = 4, RLIMIT_AS = 9 };

static void limit(int resource, uint64_t value) {
  const uint64_t both[2] = {value, value};
  syscall4(SYS_prlimit64, 0, resource, (long)both, 0);
}

void limit_resources(const struct hone_run* run) {
  uint64_t mapped = port_facts()->load_bytes + port_facts()->image_store_bytes +
                    run->constants.zone_bytes + run->workspace.zone_bytes +
                    ((uint64_t)256 << 20);
  for (uint16_t i = 0; i < run->buffer_count; ++i) mapped += run->buffers[i].zone_bytes;
  limit(RLIMIT_CPU, (run->deadline_ms / 1000 + 2) * (uint64_t)run->threads);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, 0);
  limit(RLIMIT_STACK, 8 << 20);
  limit(RLIMIT_AS, mapped);
}

// ---- system calls ----

enum { PR_SET_NO_NEW_PRIVS = 38 };
enum {
  SECCOMP_SET_MODE_FILTER = 1,
  FILTER_ALL_THREADS = 1,
  // Without it older kernels switch off speculation in the filtered process, and it runs slower
  // than the program that it stands for.
  FILTER_KEEP_SPECULATION = 4
};

struct filter_step {
  uint16_t code;
  uint8_t if_true;
  uint8_t if_false;
  uint32_t value;
};

struct filter_program {
  uint16_t count;
  const struct filter_step* steps;
};

enum { kLoad = 0x20, kJumpIfEqual = 0x15, kReturn = 0x06 };
enum { kNumberAt = 0, kFirstArgumentAt = 16 };  // in what the kernel shows to a filter
static const uint32_t kAllow = 0x7fff0000u;
static const uint32_t kTrap = 0x00030000u;

bool filter_system_calls(void) {
  const uint32_t self = (uint32_t)syscall0(SYS_getpid);
  // The agent's own calls all come from one architecture's table, so that is not asked for: a call
  // from another table (32-bit code on x86-64) would need an instruction that no candidate has.
  const struct filter_step steps[] = {{kLoad, 0, 0, kNumberAt},
                                      {kJumpIfEqual, 9, 0, SYS_futex},
                                      {kJumpIfEqual, 8, 0, SYS_clock_gettime},
                                      {kJumpIfEqual, 7, 0, SYS_getcpu},
                                      {kJumpIfEqual, 6, 0, SYS_exit},
                                      {kJumpIfEqual, 5, 0, SYS_exit_group},
                                      {kJumpIfEqual, 4, 0, SYS_rt_sigreturn},
                                      {kJumpIfEqual, 0, 2, SYS_tgkill},
                                      // Only to itself: the pause for the check.
                                      {kLoad, 0, 0, kFirstArgumentAt},
                                      {kJumpIfEqual, 1, 0, self},
                                      {kReturn, 0, 0, kTrap},
                                      {kReturn, 0, 0, kAllow}};
  const struct filter_program program = {sizeof steps / sizeof steps[0], steps};
  if (syscall6(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0) != 0) return false;
  return syscall3(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                  FILTER_ALL_THREADS | FILTER_KEEP_SPECULATION, (long)&program) == 0;
}
