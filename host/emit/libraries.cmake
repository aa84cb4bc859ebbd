# SPDX-License-Identifier: Apache-2.0
# The self-test's template as a string, and the version that emitted libraries carry.
if(TARGET hone_emit)
  find_package(nlohmann_json REQUIRED)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
                                         ${CMAKE_CURRENT_LIST_DIR}/templates/selftest.c)
  file(READ ${CMAKE_CURRENT_LIST_DIR}/templates/selftest.c HONE_SELFTEST)
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/generated/emit/selftest_template.h CONTENT
"// Made from emit/templates/selftest.c.
#pragma once
inline constexpr const char* kSelftestTemplate = R\"template(@HONE_SELFTEST@)template\";
" @ONLY)
  target_include_directories(hone_emit PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/generated)
  target_link_libraries(hone_emit PRIVATE nlohmann_json::nlohmann_json)
  target_compile_definitions(hone_emit PRIVATE HONE_VERSION="${PROJECT_VERSION}")
endif()
