# SPDX-License-Identifier: Apache-2.0
# cmake --install: a library that find_package(filigree) and pkg-config find; the program and its plug-ins with it.
include(CMakePackageConfigHelpers)
set(FILIGREE_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/filigree)
install(TARGETS filigree_static EXPORT filigreeStaticTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT filigreeStaticTargets NAMESPACE filigree:: DESTINATION ${FILIGREE_PACKAGE_DIR})
if(BUILD_SHARED_LIBS)
  install(TARGETS filigree EXPORT filigreeSharedTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT filigreeSharedTargets NAMESPACE filigree:: DESTINATION ${FILIGREE_PACKAGE_DIR})
endif()
install(DIRECTORY include/filigree DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  PATTERN bench.h EXCLUDE)  # the program's own
configure_package_config_file(cmake/filigreeConfig.cmake.in filigreeConfig.cmake
  INSTALL_DESTINATION ${FILIGREE_PACKAGE_DIR})
write_basic_package_version_file(filigreeConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/filigreeConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/filigreeConfigVersion.cmake
  DESTINATION ${FILIGREE_PACKAGE_DIR})

# Relative to where the file lies, so that an installed tree can be moved.
file(RELATIVE_PATH FILIGREE_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" FILIGREE_PC_PREFIX "${FILIGREE_PC_PREFIX}")
# A static library alone needs what it links named to everybody, not only to those who ask for --static.
set(FILIGREE_PC_REQUIRES Requires.private)
set(FILIGREE_PC_SYSTEM "")
if(NOT BUILD_SHARED_LIBS)
  set(FILIGREE_PC_REQUIRES Requires)
  set(FILIGREE_PC_SYSTEM " -ldl -lpthread")
endif()
configure_file(cmake/filigree.pc.in filigree.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/filigree.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
