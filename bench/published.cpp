// Published results of the Sparse DNN Graph Challenge for 60,000 inputs, with their sources.
#include "filigree/bench.h"

namespace filigree {

// LAGraph: T. Davis's logs of 2020, 20-core Xeon E5-2698v4. Wang et al. 2019: cuSPARSE with filter, table of
// the paper. XY (champion 2021) and SNICIT (2023): table 3 of the SNICIT paper, device events with resident
// weights.
const std::vector<PublishedFigures>& published_figures() {
  static const std::vector<PublishedFigures> figures = {
      {1024, 120, 1812, 1.43, 2.758, 0.01493, 0.01340},   {1024, 480, 1812, 4.75, 9.714, 0.04093, 0.02510},
      {1024, 1920, 1812, 18.34, 38.27, 0.14315, 0.07252}, {4096, 120, 1801, 6.17, 13.99, 0.03906, 0.03239},
      {4096, 480, 1801, 21.68, 54.13, 0.09389, 0.04417},  {4096, 1920, 1801, 84.09, 223.6, 0.31232, 0.08930},
      {16384, 120, 1918, 35.00, 98.16, 0.14291, 0.11209}, {16384, 480, 1918, 131.5, 399.3, 0.33293, 0.12582},
      {16384, 1920, 1918, 504.7, 1589, 1.09411, 0.17937}, {65536, 120, 1994, 229.4, 0, 0.55961, 0.46281},
      {65536, 480, 1994, 918.9, 0, 1.31697, 0.50696},     {65536, 1920, 1994, 3570, 0, 4.34682, 0.68918},
  };
  return figures;
}

}  // namespace filigree
