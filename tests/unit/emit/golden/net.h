/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor kernels for cortex-a7, written by Hone 1.2.3. C99. Reentrant: no allocation, no state. */
#ifndef NET_H
#define NET_H

#include <stdint.h>

#if !defined(NET_PORTABLE)
#if !(defined(__arm__))
#error "libnet.a (cortex-a7) needs 32-bit Arm; elsewhere compile src/ and define NET_PORTABLE"
#endif
#if !(defined(__ARM_PCS_VFP))
#error "libnet.a (cortex-a7) needs the hard-float calling convention; elsewhere compile src/ and define NET_PORTABLE"
#endif
#if !defined(NET_NO_FEATURE_CHECK)
#if !(defined(__ARM_NEON))
#error "libnet.a (cortex-a7) needs NEON; compile with -mcpu=cortex-a7 -mfpu=neon-vfpv4 -mfloat-abi=hard or define NET_NO_FEATURE_CHECK"
#endif
#if !(defined(__ARM_FEATURE_FMA))
#error "libnet.a (cortex-a7) needs FMA; compile with -mcpu=cortex-a7 -mfpu=neon-vfpv4 -mfloat-abi=hard or define NET_NO_FEATURE_CHECK"
#endif
#endif
#endif

/* Of the Hone that wrote this library. */
#define NET_VERSION_MAJOR 1
#define NET_VERSION_MINOR 2
#define NET_VERSION_PATCH 3

/* No buffer of a call overlaps another one. */
#ifdef __cplusplus
#define NET_RESTRICT __restrict
extern "C" {
#else
#define NET_RESTRICT restrict
#endif

/* What every function returns. In case of an error nothing was computed. */
typedef enum net_status {
  NET_OK = 0,
  NET_ERROR_NULL = 1,      /* a pointer that must not be null is */
  NET_ERROR_ALIGNMENT = 2, /* a pointer is not a multiple of the function's ..._ALIGN */
  NET_ERROR_PARALLEL = 3   /* a hook without run, or with less than one thread */
} net_status;

/* How parallel loops run; a null pointer in its place: in the calling thread.
 * run calls body(context, i, worker) exactly once for every i in [0, count), on any threads and in any
 * order, and returns when all calls have returned. worker, in [0, threads), tells calls apart that are
 * under way at the same time: each has a part of the workspace of its own. A call of run from inside a
 * body runs in line. */
typedef struct net_parallel net_parallel;
struct net_parallel {
  void (*run)(const net_parallel *self,
              void (*body)(void *context, intptr_t index, intptr_t worker), void *context,
              intptr_t count);
  int32_t threads; /* at least 1; the workspace grows with it */
  void *pool;      /* yours; no kernel looks at it */
};

/* Who made the library that is linked, with what, for which machine, from which measurements. */
const char *net_build_info(void);
/* "tuned for ..." from the archive, "portable C" from src/. */
const char *net_backend(void);

/* scale: 1.50 us, 4.00 GFLOP/s on board, 2 threads.
 *   x  input   f32[2, 3]
 *   w  param   f16[3], the bits of IEEE binary16
 *   y  output  i8[2, 3]
 * Elements lie in row-major order. workspace: NET_SCALE_WORKSPACE_BYTES(threads) bytes, whatever they hold.
 * constants: NET_SCALE_CONSTANTS_BYTES bytes that net_scale_prepare fills from the params,
 * once for any number of calls; may be null where these are 0. */
#define NET_SCALE_ALIGN 64
#define NET_SCALE_WORKSPACE_BYTES(threads) (128 + 64 * (threads))
#define NET_SCALE_STACK_BYTES 48
#define NET_SCALE_CONSTANTS_BYTES 0
#define NET_SCALE_X_ELEMENTS 6
#define NET_SCALE_W_ELEMENTS 3
#define NET_SCALE_Y_ELEMENTS 6
net_status net_scale_prepare(
    const uint16_t *NET_RESTRICT w,
    void *NET_RESTRICT constants);
net_status net_scale(
    const float *NET_RESTRICT x,
    const uint16_t *NET_RESTRICT w,
    int8_t *NET_RESTRICT y,
    const void *NET_RESTRICT constants,
    void *workspace,
    const net_parallel *parallel);

/* norm  / 2: not tuned: plain loops.
 *   a  input   f64[]
 *   b  output  f64[100]
 * Elements lie in row-major order. workspace may be null: none is needed. */
#define NET_NORM_2_ALIGN 64
#define NET_NORM_2_WORKSPACE_BYTES(threads) (0)
#define NET_NORM_2_STACK_BYTES 16
#define NET_NORM_2_A_ELEMENTS 1
#define NET_NORM_2_B_ELEMENTS 100
net_status net_norm_2(
    const double *NET_RESTRICT a,
    double *NET_RESTRICT b,
    void *workspace,
    const net_parallel *parallel);

#ifdef __cplusplus
}
#endif
#endif
