# SPDX-License-Identifier: Apache-2.0
# SQLite, and the schema as a string for database.cpp.
if(TARGET hone_store)
  find_package(SQLite3 REQUIRED)
  find_package(nlohmann_json REQUIRED)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/schema.sql)
  file(READ ${CMAKE_CURRENT_LIST_DIR}/schema.sql HONE_SCHEMA)
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/generated/store/schema_text.h CONTENT
"// Made from store/schema.sql.
#pragma once
inline constexpr const char* kSchemaText = R\"sql(@HONE_SCHEMA@)sql\";
" @ONLY)
  target_include_directories(hone_store PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/generated)
  target_link_libraries(hone_store PRIVATE SQLite::SQLite3 nlohmann_json::nlohmann_json)
endif()
