// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm.h"

#include <dlfcn.h>
#include <dnnl.h>
#include <sys/mman.h>

#include "base/error.h"

namespace filigree::internal {

namespace {

// oneDNN is loaded when the first product is asked for: 40 MB and OpenCL, which predictions do without.
struct OneDnn {
  decltype(&dnnl_sgemm) sgemm = nullptr;
  int (*max_threads)() = nullptr;  // those of the OpenMP library that oneDNN runs on
  void (*set_threads)(int) = nullptr;
};

// oneDNN and the compiler in it end the process where memory runs out while they start: 150 MB were not
// enough for one thread and 784 inputs.
void require_address_space() {
  constexpr std::size_t kWanted = std::size_t{384} << 20;
  void* const space = mmap(nullptr, kWanted, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED)
    fail("dense products take {} MiB of address space, more than this process may have (ulimit -v)",
         kWanted >> 20);
  munmap(space, kWanted);
}

OneDnn load_onednn() {
  require_address_space();
  void* const library = dlopen(FILIGREE_DNNL, RTLD_NOW | RTLD_LOCAL);
  OneDnn found;
  if (library == nullptr) return found;
  found.sgemm = reinterpret_cast<decltype(found.sgemm)>(dlsym(library, "dnnl_sgemm"));
  found.max_threads = reinterpret_cast<int (*)()>(dlsym(library, "omp_get_max_threads"));
  found.set_threads = reinterpret_cast<void (*)(int)>(dlsym(library, "omp_set_num_threads"));
  if (found.sgemm == nullptr || (found.max_threads == nullptr) != (found.set_threads == nullptr))
    fail("{}: not the oneDNN that filigree was built with", FILIGREE_DNNL);
  return found;
}

const OneDnn& onednn() {
  static const OneDnn library = load_onednn();
  return library;
}

// oneDNN asks OpenMP for threads; the setting belongs to the calling thread.
class OneThread {
 public:
  OneThread() {
    if (onednn().set_threads == nullptr) return;  // a oneDNN that is built without OpenMP
    before_ = onednn().max_threads();
    onednn().set_threads(1);
  }
  ~OneThread() {
    if (onednn().set_threads != nullptr) onednn().set_threads(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_ = 1;
};

}  // namespace

void gemm(long rows, long cols, long depth, const GemmMatrix& a, const GemmMatrix& b, float beta, float* c,
          long c_stride) {
  if (onednn().sgemm == nullptr) return plain_gemm(rows, cols, depth, a, b, beta, c, c_stride);
  const OneThread one;
  const auto status = onednn().sgemm(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', rows, cols, depth,
                                     1.0f, a.data, a.stride, b.data, b.stride, beta, c, c_stride);
  if (status != dnnl_success) fail("oneDNN: the product of {}×{} and {}×{} failed", rows, depth, depth, cols);
}

void require_onednn() {
  if (onednn().sgemm == nullptr)
    fail("this is measured against oneDNN, but there is no {}; on Debian, install libdnnl2", FILIGREE_DNNL);
}

}  // namespace filigree::internal
