# SPDX-License-Identifier: Apache-2.0
# The CUDA device: filigree-cuda.so, where nvcc is; by nvcc itself, for GPUs that need not be there. (CMake 3.25 does
# not know how to ask nvcc 13 for C++20.)
set(FILIGREE_HAS_CUDA OFF)
if(NOT FILIGREE_CUDA STREQUAL OFF)
  find_package(CUDAToolkit QUIET)
  if(CUDAToolkit_NVCC_EXECUTABLE AND TARGET CUDA::cusparse)
    set(FILIGREE_HAS_CUDA ON)
  elseif(FILIGREE_CUDA STREQUAL ON)
    message(FATAL_ERROR "FILIGREE_CUDA is ON, but there is no CUDA toolkit; set CUDAToolkit_ROOT, or FILIGREE_CUDA=OFF")
  endif()
endif()

set(FILIGREE_NVCC_FLAGS -std=c++20 -O3 -DNDEBUG -Xcompiler -fPIC,-fvisibility=hidden
  -I${PROJECT_SOURCE_DIR}/src -I${PROJECT_SOURCE_DIR}/include
  -gencode arch=compute_75,code=sm_75 -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90
  -gencode arch=compute_90,code=compute_90  # PTX, from which drivers make code for later ones
  # Warnings are errors, and so are registers that spill to memory.
  -Xcompiler -Wall,-Wextra -Werror all-warnings -Xptxas -warn-spills,-Werror)

if(FILIGREE_HAS_CUDA)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/device/*.cu)
  find_library(FILIGREE_NCCL nccl HINTS ${CUDAToolkit_LIBRARY_DIR} ${CUDAToolkit_LIBRARY_ROOT}/lib)
  find_path(FILIGREE_NCCL_INCLUDE nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  if(FILIGREE_NCCL AND FILIGREE_NCCL_INCLUDE)
    list(FILTER sources EXCLUDE REGEX "/no_nccl\\.cu$")
    set(nccl ${FILIGREE_NCCL})
  else()
    list(FILTER sources EXCLUDE REGEX "/nccl\\.cu$")
    set(nccl)
  endif()
  # What holds no kernel and includes none is compiled for the host alone, ten times as quick.
  set(host_sources ${sources})
  list(FILTER host_sources INCLUDE REGEX "/(backend|cuda_plugin|library_products|nccl|no_nccl)\\.cu$")
  list(REMOVE_ITEM sources ${host_sources})
  set_source_files_properties(${host_sources} PROPERTIES LANGUAGE CXX)
  set(objects)
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/device)
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/device/${name}.o)
    add_custom_command(OUTPUT ${object} DEPENDS ${source} DEPFILE ${object}.d COMMENT "nvcc ${name}.cu" VERBATIM
      COMMAND ${CUDAToolkit_NVCC_EXECUTABLE} ${FILIGREE_NVCC_FLAGS} -MD -MF ${object}.d -c ${source} -o ${object})
    set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
    list(APPEND objects ${object})
  endforeach()
  filigree_plugin(cuda ${host_sources} ${objects})
  target_compile_definitions(filigree_cuda_plugin PRIVATE FILIGREE_CUDA_HOST)
  target_include_directories(filigree_cuda_plugin PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_include_directories(filigree_cuda_plugin SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS}
    $<$<BOOL:${FILIGREE_NCCL_INCLUDE}>:${FILIGREE_NCCL_INCLUDE}>)
  target_link_libraries(filigree_cuda_plugin PRIVATE CUDA::cudart_static CUDA::cusparse ${nccl} fmt::fmt)
endif()
# Known above src/, for the tests.
set(FILIGREE_HAS_CUDA ${FILIGREE_HAS_CUDA} PARENT_SCOPE)
set(FILIGREE_NVCC_FLAGS ${FILIGREE_NVCC_FLAGS} PARENT_SCOPE)
set(CUDAToolkit_NVCC_EXECUTABLE ${CUDAToolkit_NVCC_EXECUTABLE} PARENT_SCOPE)
