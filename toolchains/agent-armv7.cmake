# SPDX-License-Identifier: Apache-2.0
# How clang builds the agent for the least machine of this architecture that Hone serves.
set(agent_target_armv7 --target=armv7-linux-gnueabihf -march=armv7-a -mfpu=vfpv3-d16 -mfloat-abi=hard -marm)
