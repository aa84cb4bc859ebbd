# SPDX-License-Identifier: Apache-2.0
# How clang builds the agent for the least machine of this architecture that Hone serves.
set(agent_target_x86_64 --target=x86_64-linux-gnu -march=x86-64)
