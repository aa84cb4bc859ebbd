// SPDX-License-Identifier: Apache-2.0
#include "peers/machine.h"

#include <dirent.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <numeric>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "peers/aligned.h"

namespace hone::bench {
namespace {

// Settings of a user's shell that change what the libraries do.
constexpr std::array<std::string_view, 6> kForeignSettings{"OPENBLAS_", "GOTO_", "OMP_",
                                                           "GOMP_",     "DNNL_", "ONEDNN_"};

std::vector<int> usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  // Asked of the process's first thread before any pinning; later calls see that thread's core
  // only, so the first answer is kept.
  static const std::vector<int> cores = [&] {
    std::vector<int> result;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
      for (int core = 0; core < CPU_SETSIZE; ++core)
        if (CPU_ISSET(core, &set)) result.push_back(core);
    return result;
  }();
  return cores;
}

Result<std::vector<int>> cores_for(int threads) {
  std::vector<int> cores = usable_cores();
  if (static_cast<size_t>(threads) > cores.size())
    return fail("{} threads wanted, {} cores usable", threads, cores.size());
  return cores;
}

Result<void> pin(int thread_id, int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  if (sched_setaffinity(thread_id, sizeof set, &set) != 0 && errno != ESRCH)
    return fail("pinning a thread to core {}: {}", core, std::strerror(errno));
  return {};
}

std::vector<int> thread_ids() {
  std::vector<int> ids;
  DIR* directory = opendir("/proc/self/task");
  while (directory) {
    const dirent* entry = readdir(directory);
    if (!entry) break;
    const std::string_view name = entry->d_name;
    int id = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), id).ec == std::errc())
      ids.push_back(id);
  }
  if (directory) closedir(directory);
  std::sort(ids.begin(), ids.end());
  return ids;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// --- the peak -----------------------------------------------------------------------------------
// One body for every width, inlined into a function for each instruction set. This file is compiled
// with contraction of a·b + c into one instruction, which GCC leaves off in strict C++.

template <int kBytes>
struct Vector {
  typedef float Type __attribute__((vector_size(kBytes)));
};

// Chains of dependent multiply-adds, enough of them to hide the latency; flops done.
template <int kBytes, size_t... kChain>
[[gnu::always_inline]] inline double multiply_add(int64_t rounds, std::index_sequence<kChain...>) {
  using V = typename Vector<kBytes>::Type;
  V sums[sizeof...(kChain)];
  V factor, term;
  for (size_t lane = 0; lane < kBytes / sizeof(float); ++lane) {
    factor[lane] = 0.999f;
    term[lane] = 0.001f;
    ((sums[kChain][lane] = static_cast<float>(kChain)), ...);
  }
  asm volatile("" : "+m"(factor), "+m"(term));  // values that the compiler cannot know
  for (int64_t round = 0; round < rounds; ++round)
    ((sums[kChain] = sums[kChain] * factor + term), ...);
  float total = 0;
  for (const V& sum : sums)
    for (size_t lane = 0; lane < kBytes / sizeof(float); ++lane) total += sum[lane];
  asm volatile("" : : "g"(total));
  return 2.0 * static_cast<double>(rounds) * static_cast<double>(sizeof...(kChain)) *
         static_cast<double>(kBytes / sizeof(float));
}

// Sums a buffer `passes` times in chains of vector additions, enough of them to keep loads flowing.
template <int kBytes>
[[gnu::always_inline]] inline void read_all(const float* data, int64_t count, int64_t passes) {
  using V = typename Vector<kBytes>::Type;
  constexpr int64_t kLanes = kBytes / sizeof(float);
  V sum0{}, sum1{}, sum2{}, sum3{}, sum4{}, sum5{}, sum6{}, sum7{};
  for (int64_t pass = 0; pass < passes; ++pass) {
    asm volatile("" : : : "memory");  // a pass is not the last one again
    for (int64_t i = 0; i < count; i += 8 * kLanes) {
      const V* from = reinterpret_cast<const V*>(data + i);
      sum0 += from[0];
      sum1 += from[1];
      sum2 += from[2];
      sum3 += from[3];
      sum4 += from[4];
      sum5 += from[5];
      sum6 += from[6];
      sum7 += from[7];
    }
  }
  const V total = sum0 + sum1 + sum2 + sum3 + sum4 + sum5 + sum6 + sum7;
  asm volatile("" : : "m"(total));
}

// The two loops for one vector width.
struct Loops {
  double (*multiply_add)(int64_t rounds);
  void (*read_all)(const float* data, int64_t count, int64_t passes);
};

double multiply_add_128(int64_t rounds) {
  return multiply_add<16>(rounds, std::make_index_sequence<12>());
}
void read_128(const float* data, int64_t count, int64_t passes) {
  read_all<16>(data, count, passes);
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) double multiply_add_256(int64_t rounds) {
  return multiply_add<32>(rounds, std::make_index_sequence<12>());
}
__attribute__((target("avx2"))) void read_256(const float* data, int64_t count, int64_t passes) {
  read_all<32>(data, count, passes);
}
__attribute__((target("avx512f"))) double multiply_add_512(int64_t rounds) {
  return multiply_add<64>(rounds, std::make_index_sequence<16>());
}
__attribute__((target("avx512f"))) void read_512(const float* data, int64_t count, int64_t passes) {
  read_all<64>(data, count, passes);
}
#endif

Loops widest_loops() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return {multiply_add_512, read_512};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return {multiply_add_256, read_256};
#endif
  return {multiply_add_128, read_128};
}

double best_gflops(const Loops& loops) {
  constexpr int64_t kRounds = 500'000;
  double best = 0;
  for (int attempt = 0; attempt < 12; ++attempt) {
    const auto start = std::chrono::steady_clock::now();
    const double flops = loops.multiply_add(kRounds);
    best = std::max(best, flops / seconds_since(start) / 1e9);
  }
  return best;
}

}  // namespace

Result<void> start_clean(char** argv, int threads) {
  const std::string wanted = "OPENBLAS_NUM_THREADS=" + std::to_string(threads);
  bool clean = false;
  bool foreign = false;
  std::vector<char*> environment;
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view setting = *entry;
    if (setting == wanted) {
      clean = true;
    } else if (std::any_of(kForeignSettings.begin(), kForeignSettings.end(),
                           [&](std::string_view prefix) { return setting.starts_with(prefix); })) {
      foreign = true;
    } else {
      environment.push_back(*entry);
    }
  }
  if (clean && !foreign) return {};
  environment.push_back(const_cast<char*>(wanted.c_str()));
  environment.push_back(nullptr);
  execve("/proc/self/exe", argv, environment.data());
  return fail("restarting with a clean environment: {}", std::strerror(errno));
}

Result<void> pin_threads(int threads) {
  const std::vector<int> cores = TRY(cores_for(threads));
  TRYV(pin(0, cores[0]));
  if (threads == 1) return {};
  size_t next = 0;
  for (const int id : thread_ids()) {
    if (id == gettid()) continue;
    TRYV(pin(id, cores[1 + next % static_cast<size_t>(threads - 1)]));
    ++next;
  }
  return {};
}

void let_idle_workers_sleep() { std::this_thread::sleep_for(std::chrono::milliseconds(60)); }

Result<double> fma_peak_gflops(int threads) {
  const std::vector<int> cores = TRY(cores_for(threads));
  const Loops loops = widest_loops();
  std::vector<double> found(static_cast<size_t>(threads), 0.0);
  std::vector<Result<void>> pinned(found.size());
  std::vector<std::thread> workers;
  for (size_t i = 0; i < found.size(); ++i) {
    workers.emplace_back([&, i] {
      pinned[i] = pin(0, cores[i]);
      found[i] = best_gflops(loops);
    });
  }
  for (std::thread& worker : workers) worker.join();
  for (const Result<void>& one : pinned) TRYV(one);
  return std::accumulate(found.begin(), found.end(), 0.0);
}

double read_bandwidth_gbs(int64_t bytes) {
  const Loops loops = widest_loops();
  constexpr int64_t kStep = 128;  // floats that a round of the widest loop reads
  constexpr int64_t kBytesAtLeast = int64_t{256} << 20;
  const int64_t count = std::max<int64_t>(bytes / int64_t{sizeof(float)} / kStep, 1) * kStep;
  const int64_t read_bytes = count * int64_t{sizeof(float)};
  const int64_t passes = std::max<int64_t>(1, kBytesAtLeast / read_bytes);
  AlignedFloats data(count);
  double best = 0;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const auto start = std::chrono::steady_clock::now();
    loops.read_all(data.data(), count, passes);
    best = std::max(best, static_cast<double>(read_bytes * passes) / seconds_since(start) / 1e9);
  }
  return best;
}

}  // namespace hone::bench
