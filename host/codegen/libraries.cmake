# SPDX-License-Identifier: Apache-2.0
# LLVM as one shared library; LLD's ELF driver is static and built against the same.
find_package(LLVM 19.1 REQUIRED CONFIG)
find_library(LLD_ELF_LIBRARY lldELF HINTS ${LLVM_LIBRARY_DIR} REQUIRED)
find_library(LLD_COMMON_LIBRARY lldCommon HINTS ${LLVM_LIBRARY_DIR} REQUIRED)
find_package(ZLIB REQUIRED)
find_library(ZSTD_LIBRARY zstd REQUIRED)

if(TARGET hone_codegen)
  target_include_directories(hone_codegen SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
  target_link_libraries(hone_codegen PUBLIC hone_target
                                     PRIVATE ${LLD_ELF_LIBRARY} ${LLD_COMMON_LIBRARY} LLVM ZLIB::ZLIB
                                             ${ZSTD_LIBRARY})
endif()
