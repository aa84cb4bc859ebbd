/* SPDX-License-Identifier: Apache-2.0 */
/* net: scale as portable C99. Written by Hone 1.2.3. */
#include "net.h"

#define HONE_PARALLEL
#define hone_parallel net_parallel


net_status net_scale_prepare(
    const uint16_t *NET_RESTRICT w,
    void *NET_RESTRICT constants)
{
  if (w == 0) return NET_ERROR_NULL;
  if ((((uintptr_t)w | (uintptr_t)constants) & 63u) != 0u) return NET_ERROR_ALIGNMENT;
  return NET_OK;
}

/* kernel */

static void run_in_line(const net_parallel *self,
                        void (*body)(void *context, intptr_t index, intptr_t worker), void *context,
                        intptr_t count)
{
  intptr_t i;
  (void)self;
  for (i = 0; i < count; ++i) body(context, i, 0);
}

net_status net_scale(
    const float *NET_RESTRICT x,
    const uint16_t *NET_RESTRICT w,
    int8_t *NET_RESTRICT y,
    const void *NET_RESTRICT constants,
    void *workspace,
    const net_parallel *parallel)
{
  static const net_parallel in_line = {run_in_line, 1, 0};
  void *buffers[4];
  if (x == 0 || w == 0 || y == 0 || workspace == 0) return NET_ERROR_NULL;
  if ((((uintptr_t)x | (uintptr_t)w | (uintptr_t)y | (uintptr_t)constants | (uintptr_t)workspace) & 63u) != 0u) return NET_ERROR_ALIGNMENT;
  if (parallel == 0) parallel = &in_line;
  if (parallel->run == 0 || parallel->threads < 1) return NET_ERROR_PARALLEL;
  buffers[0] = (void *)(uintptr_t)x;
  buffers[1] = (void *)(uintptr_t)w;
  buffers[2] = y;
  buffers[3] = (void *)(uintptr_t)constants;
  net_scale_kernel(buffers, workspace, parallel);
  return NET_OK;
}
