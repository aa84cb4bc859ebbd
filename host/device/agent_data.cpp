// SPDX-License-Identifier: Apache-2.0
#include "device/agent_data.h"

#include "base/result.h"

namespace hone {

void fill_buffer(std::span<uint8_t> buffer, uint8_t dtype, const FillSpec& fill) {
  const size_t element = hone_dtype_bytes(dtype);
  ENSURE(element != 0 && buffer.size() % element == 0 && fill.shift <= 30 && fill.low <= fill.high);
  const hone_fill_spec spec{HONE_FILL_INTEGERS, fill.shift, fill.seed, fill.low, fill.high};
  hone_fill_buffer(buffer.data(), dtype, buffer.size() / element, &spec);
}

OutputCheck check_output(std::span<const uint8_t> bytes, uint8_t dtype, bool tolerant, int buffer) {
  const size_t element = hone_dtype_bytes(dtype);
  ENSURE(element != 0 && bytes.size() % element == 0);
  const uint64_t elements = bytes.size() / element;
  OutputCheck check;
  check.buffer = buffer;
  check.dtype = dtype;
  check.tolerant = tolerant && hone_is_float(dtype);
  if (!check.tolerant) {
    check.hash = hone_hash_elements(bytes.data(), dtype, elements);
    return check;
  }
  const uint32_t samples = hone_parts(elements, HONE_CHECK_SAMPLES);
  for (uint32_t k = 0; k < samples; ++k)
    check.samples.push_back(
        hone_element(bytes.data(), dtype, hone_part_start(elements, samples, k)));
  const uint32_t blocks = hone_parts(elements, HONE_CHECK_BLOCKS);
  for (uint32_t k = 0; k < blocks; ++k)
    check.blocks.push_back(hone_sum_block(bytes.data(), dtype, hone_part_start(elements, blocks, k),
                                          hone_part_start(elements, blocks, k + 1)));
  return check;
}

}  // namespace hone
