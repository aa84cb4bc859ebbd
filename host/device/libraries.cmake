# SPDX-License-Identifier: Apache-2.0
# Frames, fills and checks are the agent's own files, compiled for the host.
target_link_libraries(hone_device PUBLIC hone_agent_shared)
# Whoever can open a session can also start an agent.
add_dependencies(hone_device hone_agents)
