/* SPDX-License-Identifier: Apache-2.0
 *
 * Two emitted libraries side by side: the plain loops and the tuned kernels of the same two operators, on the
 * same data. Prints the speed of both, and fails if they do not agree. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plain.h"
#include "tuned.h"

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Small integers: every sum is exact, so that both kernels must give the same bits. */
static float *numbers(size_t count, unsigned seed) {
  float *data = aligned_alloc(64, (count * sizeof(float) + 63) / 64 * 64);
  if (!data) exit(2);
  for (size_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    data[i] = (float)(seed >> 16 & 7) - 3.0f;
  }
  return data;
}

static void *memory(size_t bytes) {
  void *data = aligned_alloc(64, (bytes + 64) / 64 * 64);
  if (!data) exit(2);
  return data;
}

/* The best of some runs of CALL, in seconds; a status that is not OK ends the program. */
#define BEST_OF(RUNS, CALL, BEST)                 \
  do {                                            \
    BEST = 1e30;                                  \
    for (int run = 0; run < (RUNS); ++run) {      \
      const double start = now();                 \
      if ((CALL) != 0) exit(3);                   \
      const double took = now() - start;          \
      if (took < BEST) BEST = took;               \
    }                                             \
  } while (0)

static int report(const char *name, double flops, double before, double after, const float *want,
                  const float *got, size_t count) {
  const int right = memcmp(want, got, count * sizeof(float)) == 0;
  printf("%-16s before %8.3f ms (%6.1f GFLOP/s)   after %8.3f ms (%6.1f GFLOP/s)   %5.1fx   %s\n", name,
         before * 1e3, flops / before * 1e-9, after * 1e3, flops / after * 1e-9, before / after,
         right ? "right" : "WRONG");
  return !right;
}

int main(void) {
  double before, after;
  int wrong = 0;

  const size_t n = 512;
  const float *a = numbers(n * n, 1), *b = numbers(n * n, 2);
  float *c0 = numbers(n * n, 3), *c1 = numbers(n * n, 4);
  void *w0 = memory(PLAIN_MATMUL_WORKSPACE_BYTES(1)), *w1 = memory(TUNED_MATMUL_WORKSPACE_BYTES(1));
  void *k0 = memory(PLAIN_MATMUL_CONSTANTS_BYTES), *k1 = memory(TUNED_MATMUL_CONSTANTS_BYTES);
  // Once for any number of calls: weights in the order in which the code reads them.
  wrong |= plain_matmul_prepare(b, k0) != PLAIN_OK || tuned_matmul_prepare(b, k1) != TUNED_OK;
  BEST_OF(3, plain_matmul(a, b, c0, k0, w0, NULL), before);
  BEST_OF(20, tuned_matmul(a, b, c1, k1, w1, NULL), after);
  wrong |= report("matmul", 2.0 * n * n * n, before, after, c0, c1, n * n);

  const size_t pixels = 28 * 28, channels = 64;
  const float *x = numbers(pixels * channels, 5), *filter = numbers(9 * channels * channels, 6);
  const float *bias = numbers(channels, 7);
  float *y0 = numbers(pixels * channels, 8), *y1 = numbers(pixels * channels, 9);
  void *v0 = memory(PLAIN_CONV_BIAS_RELU_WORKSPACE_BYTES(1));
  void *v1 = memory(TUNED_CONV_BIAS_RELU_WORKSPACE_BYTES(1));
  void *m0 = memory(PLAIN_CONV_BIAS_RELU_CONSTANTS_BYTES);
  void *m1 = memory(TUNED_CONV_BIAS_RELU_CONSTANTS_BYTES);
  wrong |= plain_conv_bias_relu_prepare(filter, bias, m0) != PLAIN_OK;
  wrong |= tuned_conv_bias_relu_prepare(filter, bias, m1) != TUNED_OK;
  BEST_OF(3, plain_conv_bias_relu(x, filter, bias, y0, m0, v0, NULL), before);
  BEST_OF(50, tuned_conv_bias_relu(x, filter, bias, y1, m1, v1, NULL), after);
  wrong |= report("conv_bias_relu", 2.0 * 9 * 64 * 64 * 784, before, after, y0, y1, pixels * channels);
  return wrong;
}
