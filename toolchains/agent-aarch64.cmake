# SPDX-License-Identifier: Apache-2.0
# How clang builds the agent for the least machine of this architecture that Hone serves.
set(agent_target_aarch64 --target=aarch64-linux-gnu -march=armv8-a -mno-outline-atomics)
