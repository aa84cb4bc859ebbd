# SPDX-License-Identifier: Apache-2.0
if(TARGET hone_target)
  find_package(tomlplusplus REQUIRED)
  target_link_libraries(hone_target PRIVATE tomlplusplus::tomlplusplus)
endif()
