// SPDX-License-Identifier: Apache-2.0
//
// The functions behind the table of peer.h, one file a library.
#pragma once

#include "peers/peer.h"

namespace hone::bench {

Result<MaybePeer> prepare_onednn(const Shape& shape, const Inputs& inputs, int threads);
Result<MaybePeer> prepare_onednn_nhwc(const Shape& shape, const Inputs& inputs, int threads);
Result<MaybePeer> prepare_xnnpack(const Shape& shape, const Inputs& inputs, int threads);
Result<MaybePeer> prepare_openblas(const Shape& shape, const Inputs& inputs, int threads);

}  // namespace hone::bench
