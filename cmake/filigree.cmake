# What every target of the project shares: warnings, sanitizers, and one function per kind of target.

add_library(filigree_options INTERFACE)
target_compile_options(filigree_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align
  -Wimplicit-fallthrough -Werror)
# Sums are promised in a fixed order: the compiler may neither fuse nor reassociate them on its own.
target_compile_options(filigree_options INTERFACE -ffp-contract=off)
if(FILIGREE_SANITIZE)
  target_link_options(filigree_options INTERFACE -fsanitize=${FILIGREE_SANITIZE})
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

# filigree_room(NAME [LINKS ...]): src/NAME as an object library, without its tests (*_test.cpp) and what they share
# (test_*.cpp).
function(filigree_room name)
  cmake_parse_arguments(ARG "" "" "LINKS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "(_test|/test_[a-z_]+)\\.cpp$")
  if(NOT sources)
    return()
  endif()
  add_library(filigree_${name} OBJECT ${sources})
  target_include_directories(filigree_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(filigree_${name} PUBLIC ${ARG_LINKS} PRIVATE filigree_options filigree_sanitized)
  target_sources(filigree PRIVATE $<TARGET_OBJECTS:filigree_${name}>)
  if(name STREQUAL base)  # parsing these is a third of what most files take to compile: once for all rooms
    target_precompile_headers(filigree_base PRIVATE <fmt/format.h> <algorithm> <filesystem> <functional> <map> <memory>
      <span> <string> <vector>)
  elseif(NOT name STREQUAL kernels)  # which are compiled with OpenMP
    target_precompile_headers(filigree_${name} REUSE_FROM filigree_base)
  endif()
endfunction()
