# Whether the CUDA device is built, and how: by nvcc itself, for GPUs that need not be there. (CMake 3.25 does not know
# how to ask nvcc 13 for C++20.)
set(FILIGREE_HAS_CUDA OFF)
if(NOT FILIGREE_CUDA STREQUAL OFF)
  find_package(CUDAToolkit QUIET)
  if(CUDAToolkit_NVCC_EXECUTABLE AND TARGET CUDA::cusparse)
    set(FILIGREE_HAS_CUDA ON)
  elseif(FILIGREE_CUDA STREQUAL ON)
    message(FATAL_ERROR "FILIGREE_CUDA is ON, but there is no CUDA toolkit; set CUDAToolkit_ROOT, or FILIGREE_CUDA=OFF")
  endif()
endif()

set(FILIGREE_NVCC_FLAGS -std=c++20 -O3 -DNDEBUG -Xcompiler -fPIC -I${PROJECT_SOURCE_DIR}/src -I${PROJECT_SOURCE_DIR}/include
  -gencode arch=compute_75,code=sm_75 -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90
  -gencode arch=compute_90,code=compute_90  # PTX, from which drivers make code for later ones
  # Warnings are errors, and so are registers that spill to memory.
  -Xcompiler -Wall,-Wextra -Werror all-warnings -Xptxas -warn-spills,-Werror)

# filigree_cuda_room(): src/device by nvcc, in the place of what says that it was not built.
function(filigree_cuda_room)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/device/*.cu)
  find_library(FILIGREE_NCCL nccl HINTS ${CUDAToolkit_LIBRARY_DIR} ${CUDAToolkit_LIBRARY_ROOT}/lib)
  find_path(FILIGREE_NCCL_INCLUDE nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  if(FILIGREE_NCCL AND FILIGREE_NCCL_INCLUDE)
    list(FILTER sources EXCLUDE REGEX "/no_nccl\\.cu$")
    target_link_libraries(filigree PRIVATE ${FILIGREE_NCCL})
  else()
    list(FILTER sources EXCLUDE REGEX "/nccl\\.cu$")
  endif()
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    set(object ${PROJECT_BINARY_DIR}/src/device/${name}.o)
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/src/device)
    add_custom_command(OUTPUT ${object} DEPENDS ${source} DEPFILE ${object}.d COMMENT "nvcc ${name}.cu" VERBATIM
      COMMAND ${CUDAToolkit_NVCC_EXECUTABLE} ${FILIGREE_NVCC_FLAGS}
        $<$<BOOL:${FILIGREE_NCCL_INCLUDE}>:-I${FILIGREE_NCCL_INCLUDE}> -MD -MF ${object}.d -c ${source} -o ${object})
    set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
    target_sources(filigree PRIVATE ${object})
  endforeach()
  target_link_libraries(filigree PRIVATE CUDA::cudart_static CUDA::cusparse)
endfunction()
