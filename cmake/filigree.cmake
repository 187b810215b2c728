# SPDX-License-Identifier: Apache-2.0
# What every target of the project shares: warnings, sanitizers, and one function per kind of target.

add_library(filigree_options INTERFACE)
target_compile_options(filigree_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align
  -Wimplicit-fallthrough -Wswitch-enum $<$<BOOL:${FILIGREE_WERROR}>:-Werror>)
# Sums are promised in a fixed order: the compiler may neither fuse nor reassociate them on its own.
target_compile_options(filigree_options INTERFACE -ffp-contract=off)
if(FILIGREE_HARDENED)
  target_compile_options(filigree_options INTERFACE -fstack-protector-strong -fstack-clash-protection)
  if(NOT FILIGREE_SANITIZE AND NOT CMAKE_BUILD_TYPE STREQUAL Debug)  # checked calls need optimisation
    target_compile_options(filigree_options INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
  endif()
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    target_compile_options(filigree_options INTERFACE -fcf-protection)
  endif()
  target_link_options(filigree_options INTERFACE LINKER:-z,relro,-z,now,-z,noexecstack)
endif()
if(FILIGREE_SANITIZE)
  target_link_options(filigree_options INTERFACE -fsanitize=${FILIGREE_SANITIZE})
  # The search for leaks crashes on the thread-local memory of libraries that were loaded later.
  target_link_options(filigree_options INTERFACE LINKER:--no-as-needed -ldnnl LINKER:--as-needed)
endif()

# Sanitizers watch the library and its tests. The command line only links them: it is thin, and CLI11 and the JSON
# library under them would take longer to compile than everything else.
add_library(filigree_sanitized INTERFACE)
if(FILIGREE_SANITIZE)
  target_compile_options(filigree_sanitized INTERFACE -fsanitize=${FILIGREE_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  if(FILIGREE_SANITIZE MATCHES undefined)
    # Checks of every pointer that is used: half of the time to compile, and AddressSanitizer sees most of it too.
    target_compile_options(filigree_sanitized INTERFACE -fno-sanitize=null,object-size,alignment,vptr)
    # Highway's plainest target converts NaN to an integer as the processor does, and says so.
    target_compile_options(filigree_sanitized INTERFACE -fno-sanitize=float-cast-overflow)
  endif()
  # The plainest SIMD target and the widest; the release build's tests run them all.
  target_compile_definitions(filigree_sanitized INTERFACE
    "HWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_SSE4|HWY_AVX2|HWY_AVX3_DL)")
else()  # only processors of 2006 and 2007 stop at SSSE3; they take the plainest
  target_compile_definitions(filigree_options INTERFACE HWY_DISABLED_TARGETS=HWY_SSSE3)
endif()

# filigree_room(NAME [LINKS …] [WITHOUT FILE …]): src/NAME as an object library, without its tests (*_test.cpp), what
# they share (test_*.cpp), and the files named.
function(filigree_room name)
  cmake_parse_arguments(ARG "" "" "LINKS;WITHOUT" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp ${PROJECT_SOURCE_DIR}/src/${name}/rules/*.cpp)
  list(FILTER sources EXCLUDE REGEX "(_test|/test_[a-z_]+)\\.cpp$")
  foreach(file ${ARG_WITHOUT})
    list(FILTER sources EXCLUDE REGEX "/${file}\\.cpp$")
  endforeach()
  add_library(filigree_${name} OBJECT ${sources})
  target_include_directories(filigree_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(filigree_${name} PUBLIC ${ARG_LINKS} PRIVATE filigree_options filigree_sanitized)
  if(FILIGREE_SANITIZE AND name STREQUAL kernels)  # where the tests spend their time
    target_compile_options(filigree_kernels PRIVATE -O1)
  endif()
  if(name STREQUAL base)  # parsing these is a third of what most files take to compile: once for all rooms
    target_precompile_headers(filigree_base PRIVATE <fmt/format.h> <algorithm> <filesystem> <functional> <map> <memory>
      <span> <string> <vector>)
  elseif(NOT name STREQUAL kernels)  # with a precompiled header and -O0, GCC takes the pragmas of SIMD targets for -O
    target_precompile_headers(filigree_${name} REUSE_FROM filigree_base)
  endif()
endfunction()

# filigree_plugin(NAME SOURCES …): filigree-NAME.so, which base/plugin.h finds beside the program and once installed.
function(filigree_plugin name)
  add_library(filigree_${name}_plugin MODULE ${ARGN})
  set_target_properties(filigree_${name}_plugin PROPERTIES PREFIX "" OUTPUT_NAME filigree-${name}
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/plugins LINKER_LANGUAGE CXX)
  target_link_libraries(filigree_${name}_plugin PRIVATE filigree_options)
  install(TARGETS filigree_${name}_plugin LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/filigree OPTIONAL)  # if it was built
endfunction()
