// SPDX-License-Identifier: Apache-2.0
// SIMD body of plain_gemm: four rows by four vectors of sums at once, b packed by columns first.
#include <cstddef>
#include <vector>

#include <hwy/highway.h>

#include "kernels/gemm.h"

HWY_BEFORE_NAMESPACE();
namespace filigree::internal {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr long kGemmRows = 4, kGemmVectors = 4;

// c[0 … rows) [0 … width) of one stretch of packed columns; `width` floats of c are written.
template <class D>
void GemmStretch(D d, long rows, long width, long depth, const float* const* a, long a_step,
                 const float* packed, float beta, float* c, long c_stride) {
  const long lanes = static_cast<long>(hn::Lanes(d));
  using V = hn::Vec<D>;
  V sum[kGemmRows][kGemmVectors];
  for (long r = 0; r < kGemmRows; ++r)
    for (long v = 0; v < kGemmVectors; ++v) sum[r][v] = hn::Zero(d);
  for (long k = 0; k < depth; ++k, packed += kGemmVectors * lanes) {
    const V b0 = hn::LoadU(d, packed), b1 = hn::LoadU(d, packed + lanes),
            b2 = hn::LoadU(d, packed + 2 * lanes), b3 = hn::LoadU(d, packed + 3 * lanes);
    for (long r = 0; r < kGemmRows; ++r) {
      const V x = hn::Set(d, a[r][k * a_step]);
      sum[r][0] = hn::MulAdd(x, b0, sum[r][0]);
      sum[r][1] = hn::MulAdd(x, b1, sum[r][1]);
      sum[r][2] = hn::MulAdd(x, b2, sum[r][2]);
      sum[r][3] = hn::MulAdd(x, b3, sum[r][3]);
    }
  }
  HWY_ALIGN float row[kGemmVectors * HWY_MAX_BYTES / sizeof(float)];
  for (long r = 0; r < rows; ++r) {
    for (long v = 0; v < kGemmVectors; ++v) hn::StoreU(sum[r][v], d, row + v * lanes);
    float* const to = c + r * c_stride;
    for (long j = 0; j < width; ++j) to[j] = row[j] + (beta == 0 ? 0.0f : beta * to[j]);
  }
}

void PlainGemm(long rows, long cols, long depth, const GemmMatrix& a, const GemmMatrix& b, float beta,
               float* c, long c_stride) {
  const hn::ScalableTag<float> d;
  const long stretch = kGemmVectors * static_cast<long>(hn::Lanes(d));
  std::vector<float> packed(static_cast<std::size_t>(depth * stretch), 0.0f);
  for (long first = 0; first < cols; first += stretch) {
    const long width = cols - first < stretch ? cols - first : stretch;
    for (long k = 0; k < depth; ++k)
      for (long j = 0; j < stretch; ++j)
        packed[static_cast<std::size_t>(k * stretch + j)] = j >= width ? 0.0f
                                                            : b.transposed
                                                                ? b.data[(first + j) * b.stride + k]
                                                                : b.data[k * b.stride + first + j];
    for (long r = 0; r < rows; r += kGemmRows) {
      const long count = rows - r < kGemmRows ? rows - r : kGemmRows;
      const float* from[kGemmRows];
      for (long i = 0; i < kGemmRows; ++i) {
        const long row = i < count ? r + i : r;
        from[i] = depth == 0 ? a.data : a.transposed ? a.data + row : a.data + row * a.stride;
      }
      GemmStretch(d, count, width, depth, from, a.transposed ? a.stride : 1, packed.data(), beta,
                  c + r * c_stride + first, c_stride);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace filigree::internal
HWY_AFTER_NAMESPACE();
