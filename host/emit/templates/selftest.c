/* SPDX-License-Identifier: Apache-2.0 */
/* Self-test of @p@: fills inputs from seeds, runs every function in one thread and behind a hook, and
 * compares what comes out with what the reference gave when the library was written. Prints a line a task
 * and returns the number of tasks that failed. Written by Hone @version@. */
#include "@p@.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum dtype { B1, I8, U8, I16, I32, I64, F16, BF16, F32, F64 };
enum { ALIGN = @align@, HOOK_THREADS = 3 };

struct sample { /* one element of an output */
  uint64_t element;
  double value;
};
struct block { /* elements [begin, end) of an output, added up */
  uint64_t begin;
  uint64_t end;
  double sum;
  double magnitude; /* of absolute values */
};
struct argument {
  const char *name;
  void *memory; /* ALIGN bytes more than the elements take */
  uint64_t elements;
  enum dtype dtype;
  int output;
  /* inputs */
  uint64_t seed;
  int32_t low;
  int32_t high;
  /* outputs: a hash, or samples and blocks */
  uint64_t hash;
  const struct sample *samples;
  int sample_count;
  const struct block *blocks;
  int block_count;
};
struct task {
  const char *name;
  int (*call)(void *const *buffers, void *workspace, const @p@_parallel *parallel);
  const struct argument *arguments;
  int argument_count;
  void *workspace; /* ALIGN bytes more than HOOK_THREADS threads need */
  uint64_t workspace_bytes;
  /* |got - want| <= absolute + relative * |want| + of_largest * max|want| */
  double absolute;
  double relative;
  double of_largest;
};

static void *aligned(void *buffer)
{
  const uintptr_t past = (uintptr_t)buffer & (uintptr_t)(ALIGN - 1);
  return (unsigned char *)buffer + (past == 0u ? 0u : (uintptr_t)ALIGN - past);
}

@tables@
/* ---- numbers ---- */

union f32_bits {
  float value;
  uint32_t bits;
};
union f64_bits {
  double value;
  uint64_t bits;
};

/* Right shift, to nearest, ties to even. */
static uint32_t shift_rounding(uint32_t value, uint32_t by)
{
  const uint32_t kept = value >> by;
  const uint32_t rest = value & ((1u << by) - 1u);
  const uint32_t half = 1u << (by - 1u);
  return kept + ((rest > half || (rest == half && (kept & 1u) != 0u)) ? 1u : 0u);
}

static uint16_t to_f16(float value)
{
  union f32_bits f;
  uint32_t sign, mantissa;
  int32_t exponent;
  f.value = value;
  sign = (f.bits >> 16) & 0x8000u;
  exponent = (int32_t)((f.bits >> 23) & 0xffu) - 127 + 15;
  mantissa = f.bits & 0x7fffffu;
  if (exponent >= 31) return (uint16_t)(sign | 0x7c00u);
  if (exponent < -10) return (uint16_t)sign;
  if (exponent <= 0)
    return (uint16_t)(sign | shift_rounding(mantissa | 0x800000u, (uint32_t)(14 - exponent)));
  return (uint16_t)(sign | shift_rounding(((uint32_t)exponent << 23) | mantissa, 13u));
}

static uint16_t to_bf16(float value)
{
  union f32_bits f;
  f.value = value;
  return (uint16_t)shift_rounding(f.bits, 16u);
}

static double from_f16(uint16_t bits)
{
  const uint64_t sign = (uint64_t)(bits & 0x8000u) << 48;
  const uint32_t exponent = ((uint32_t)bits >> 10) & 31u;
  const uint32_t mantissa = bits & 0x3ffu;
  union f64_bits d;
  if (exponent == 0u) {
    d.value = (double)mantissa / 16777216.0;
    d.bits |= sign;
  } else {
    const uint64_t wide = exponent == 31u ? 0x7ffu : exponent + 1023u - 15u;
    d.bits = sign | (wide << 52) | ((uint64_t)mantissa << 42);
  }
  return d.value;
}

static double from_bf16(uint16_t bits)
{
  union f32_bits f;
  f.bits = (uint32_t)bits << 16;
  return (double)f.value;
}

static uint64_t element_bytes(enum dtype dtype)
{
  switch (dtype) {
    case I16: case F16: case BF16: return 2u;
    case I32: case F32: return 4u;
    case I64: case F64: return 8u;
    default: return 1u;
  }
}

/* ---- inputs ---- */

static int32_t integer_at(const struct argument *argument, uint64_t i)
{
  const uint64_t range = (uint64_t)((int64_t)argument->high - (int64_t)argument->low) + 1u;
  uint64_t z = argument->seed + (i + 1u) * 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  z = z ^ (z >> 31);
  return (int32_t)((int64_t)argument->low + (int64_t)(((z >> 32) * range) >> 32));
}

static void fill(const struct argument *argument, void *buffer)
{
  uint64_t i;
  for (i = 0; i < argument->elements; ++i) {
    const int32_t n = integer_at(argument, i);
    switch (argument->dtype) {
      case B1: ((uint8_t *)buffer)[i] = (uint8_t)((uint32_t)n & 1u); break;
      case I8: ((int8_t *)buffer)[i] = (int8_t)n; break;
      case U8: ((uint8_t *)buffer)[i] = (uint8_t)n; break;
      case I16: ((int16_t *)buffer)[i] = (int16_t)n; break;
      case I32: ((int32_t *)buffer)[i] = n; break;
      case I64: ((int64_t *)buffer)[i] = n; break;
      case F16: ((uint16_t *)buffer)[i] = to_f16((float)n); break;
      case BF16: ((uint16_t *)buffer)[i] = to_bf16((float)n); break;
      case F32: ((float *)buffer)[i] = (float)n; break;
      case F64: ((double *)buffer)[i] = (double)n; break;
    }
  }
}

/* Not a number in floats, and no likely answer elsewhere: an element that is not written shows. */
static void poison(void *buffer, uint64_t bytes)
{
  unsigned char *at = (unsigned char *)buffer;
  uint64_t i;
  for (i = 0; i < bytes; ++i) at[i] = 0xff;
}

/* ---- outputs ---- */

static uint64_t bits_at(const void *buffer, uint64_t bytes, uint64_t i)
{
  switch (bytes) {
    case 1: return ((const uint8_t *)buffer)[i];
    case 2: return ((const uint16_t *)buffer)[i];
    case 4: return ((const uint32_t *)buffer)[i];
    default: return ((const uint64_t *)buffer)[i];
  }
}

static uint64_t hash_step(uint64_t hash, uint64_t bits)
{
  const uint64_t mixed = hash ^ bits;
  return ((mixed << 27) | (mixed >> 37)) * 0x9fb21c651e98df25ull;
}

static uint64_t hash_of(const void *buffer, enum dtype dtype, uint64_t elements)
{
  const uint64_t bytes = element_bytes(dtype);
  const int is_float = dtype >= F16;
  const uint64_t negative_zero = is_float ? (uint64_t)1 << (8u * bytes - 1u) : 0u;
  uint64_t chain[4] = {1u, 2u, 3u, 4u};
  uint64_t hash = elements;
  uint64_t i;
  for (i = 0; i < elements; ++i) {
    const uint64_t bits = bits_at(buffer, bytes, i);
    chain[i & 3u] = hash_step(chain[i & 3u], bits == negative_zero ? 0u : bits);
  }
  for (i = 0; i < 4u; ++i) hash = hash_step(hash, chain[i]);
  return hash ^ (hash >> 29);
}

static double value_at(const void *buffer, enum dtype dtype, uint64_t i)
{
  switch (dtype) {
    case F16: return from_f16(((const uint16_t *)buffer)[i]);
    case BF16: return from_bf16(((const uint16_t *)buffer)[i]);
    case F32: return (double)((const float *)buffer)[i];
    default: return ((const double *)buffer)[i];
  }
}

static double absolute_of(double x) { return x < 0.0 ? -x : x; }

/* Also false when either is not a number. */
static int is_near(double got, double want, double slack) { return absolute_of(got - want) <= slack; }

static int check_samples(const struct task *task, const struct argument *output, const void *buffer,
                         double absolute)
{
  int k;
  for (k = 0; k < output->sample_count; ++k) {
    const double want = output->samples[k].value;
    const double got = value_at(buffer, output->dtype, output->samples[k].element);
    if (is_near(got, want, absolute + task->relative * absolute_of(want))) continue;
    printf("FAIL %s: %s holds %.9g at element %lu, expected %.9g\n", task->name, output->name, got,
           (unsigned long)output->samples[k].element, want);
    return 0;
  }
  return 1;
}

static int check_blocks(const struct task *task, const struct argument *output, const void *buffer,
                        double absolute)
{
  int k;
  for (k = 0; k < output->block_count; ++k) {
    const struct block *block = &output->blocks[k];
    const double slack =
        absolute * ((double)(block->end - block->begin) + 1.0) + task->relative * block->magnitude;
    double sum = 0.0;
    double magnitude = 0.0;
    uint64_t i;
    for (i = block->begin; i < block->end; ++i) {
      const double value = value_at(buffer, output->dtype, i);
      sum += value;
      magnitude += absolute_of(value);
    }
    if (is_near(sum, block->sum, slack) && is_near(magnitude, block->magnitude, slack)) continue;
    printf("FAIL %s: elements %lu to %lu of %s sum to %.9g, expected %.9g\n", task->name,
           (unsigned long)block->begin, (unsigned long)block->end, output->name, sum, block->sum);
    return 0;
  }
  return 1;
}

static int check_output(const struct task *task, const struct argument *output, const void *buffer)
{
  double largest = 0.0;
  double absolute;
  int k;
  if (output->sample_count == 0) {
    const uint64_t hash = hash_of(buffer, output->dtype, output->elements);
    if (hash == output->hash) return 1;
    printf("FAIL %s: %s is not what was expected\n", task->name, output->name);
    return 0;
  }
  for (k = 0; k < output->sample_count; ++k)
    if (absolute_of(output->samples[k].value) > largest) largest = absolute_of(output->samples[k].value);
  absolute = task->absolute + task->of_largest * largest;
  return check_samples(task, output, buffer, absolute) && check_blocks(task, output, buffer, absolute);
}

/* ---- calls ---- */

static void run_all(const @p@_parallel *self,
                    void (*body)(void *context, intptr_t index, intptr_t worker), void *context,
                    intptr_t count)
{
  intptr_t i;
  for (i = count; i > 0; --i) body(context, i - 1, i % self->threads);
}

static int check_call(const struct task *task, void *const *buffers, void *workspace,
                      const @p@_parallel *parallel)
{
  int k;
  int status;
  for (k = 0; k < task->argument_count; ++k)
    if (task->arguments[k].output)
      poison(buffers[k], task->arguments[k].elements * element_bytes(task->arguments[k].dtype));
  poison(workspace, task->workspace_bytes);
  status = task->call(buffers, workspace, parallel);
  if (status != @P@_OK) {
    printf("FAIL %s: status %d\n", task->name, status);
    return 0;
  }
  for (k = 0; k < task->argument_count; ++k)
    if (task->arguments[k].output && !check_output(task, &task->arguments[k], buffers[k])) return 0;
  return 1;
}

static int check_refusals(const struct task *task, void *const *buffers, void *workspace)
{
  void *wrong[@most_arguments@];
  @p@_parallel hook = {0, 1, 0};
  int k;
  for (k = 0; k < task->argument_count; ++k) wrong[k] = buffers[k];
  for (k = 0; k < task->argument_count; ++k) {
    wrong[k] = 0;
    if (task->call(wrong, workspace, 0) != @P@_ERROR_NULL) break;
    wrong[k] = (unsigned char *)buffers[k] + 1;
    if (task->call(wrong, workspace, 0) != @P@_ERROR_ALIGNMENT) break;
    wrong[k] = buffers[k];
  }
  if (k == task->argument_count && task->call(buffers, workspace, &hook) == @P@_ERROR_PARALLEL) {
    hook.run = run_all;
    hook.threads = 0;
    if (task->call(buffers, workspace, &hook) == @P@_ERROR_PARALLEL) return 1;
  }
  printf("FAIL %s: wrong arguments are not refused\n", task->name);
  return 0;
}

static int check_task(const struct task *task)
{
  void *buffers[@most_arguments@];
  void *workspace = aligned(task->workspace);
  @p@_parallel hook = {run_all, HOOK_THREADS, 0};
  int k;
  for (k = 0; k < task->argument_count; ++k) {
    buffers[k] = aligned(task->arguments[k].memory);
    if (!task->arguments[k].output) fill(&task->arguments[k], buffers[k]);
  }
  if (!check_refusals(task, buffers, workspace)) return 0;
  if (!check_call(task, buffers, workspace, 0)) return 0;
  if (!check_call(task, buffers, workspace, &hook)) return 0;
  printf("PASS %s\n", task->name);
  return 1;
}

int main(void)
{
  int failures = 0;
  size_t k;
  printf("%s\n%s\n", @p@_build_info(), @p@_backend());
  for (k = 0; k < sizeof tasks / sizeof tasks[0]; ++k)
    if (!check_task(&tasks[k])) ++failures;
  return failures;
}
