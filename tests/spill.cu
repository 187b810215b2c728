// SPDX-License-Identifier: Apache-2.0
// A kernel that wants more registers than there are: building device code must refuse it.
__global__ void __launch_bounds__(1024) spill(float* x, int rounds) {
  float held[200];
  for (int i = 0; i < 200; ++i) held[i] = x[i * 1024 + threadIdx.x];
  for (int r = 0; r < rounds; ++r)
    for (int i = 0; i < 200; ++i) held[i] *= held[(i + 7) % 200];
  float sum = 0;
  for (int i = 0; i < 200; ++i) sum += held[i] * held[i];
  x[threadIdx.x] = sum;
}
