# SPDX-License-Identifier: Apache-2.0
if(TARGET hone_measure)
  find_package(nlohmann_json REQUIRED)
  target_link_libraries(hone_measure PRIVATE nlohmann_json::nlohmann_json)
endif()
