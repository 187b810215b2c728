// SPDX-License-Identifier: Apache-2.0
// Published results of the Sparse DNN Graph Challenge for 60,000 inputs, with their sources.
#include "filigree/bench.h"

namespace filigree {

// LAGraph: T. Davis's logs of 2020, 20-core Xeon E5-2698v4. Wang et al. 2019: cuSPARSE with filter, table of
// the paper. XY (champion 2021) and SNICIT (2023): table 3 of the SNICIT paper, device events with resident
// weights. cuSPARSE and UIUC (champion 2020) on an A100: logs of PNNL's GraphChallengePNNL-SpDNN. SNIG: its
// published results. Gokhale et al.: table of the paper.
const std::vector<PublishedFigures>& published_figures() {
  static const std::vector<PublishedFigures> figures = {
      {1024, 120, 1812, 1.43, 2.758, 0.01493, 0.0134, 0.09, 0.018, 0.799, 329},
      {1024, 480, 1812, 4.75, 9.714, 0.04093, 0.0251, 0.26, 0.0514, 1.609, 1320},
      {1024, 1920, 1812, 18.34, 38.27, 0.14315, 0.07252, 0.93, 0.225, 5.252, 0},
      {4096, 120, 1801, 6.17, 13.99, 0.03906, 0.03239, 0.52, 0, 1.609, 0},
      {4096, 480, 1801, 21.68, 54.13, 0.09389, 0.04417, 1.75, 0, 4.696, 0},
      {4096, 1920, 1801, 84.09, 223.6, 0.31232, 0.0893, 6.71, 0, 17.41, 0},
      {16384, 120, 1918, 35.0, 98.16, 0.14291, 0.11209, 4.49, 0.412, 4.433, 0},
      {16384, 480, 1918, 131.5, 399.3, 0.33293, 0.12582, 15.19, 1.259, 14.02, 0},
      {16384, 1920, 1918, 504.7, 1589, 1.09411, 0.17937, 57.98, 4.652, 54.22, 0},
      {65536, 120, 1994, 229.4, 0, 0.55961, 0.46281, 30.83, 2.295, 14.78, 0},
      {65536, 480, 1994, 918.9, 0, 1.31697, 0.50696, 116.7, 8.284, 43.0, 0},
      {65536, 1920, 1994, 3570, 0, 4.34682, 0.68918, 1087, 31.35, 162.2, 0},
  };
  return figures;
}

}  // namespace filigree
