# SPDX-License-Identifier: Apache-2.0
# How clang builds the agent for the least machine of this architecture that Hone serves.
set(agent_target_riscv64 --target=riscv64-linux-gnu -march=rv64gc -mabi=lp64d)
