// SPDX-License-Identifier: Apache-2.0
// How a column of a table becomes inputs of a network. A plain value: modules below the API may include this,
// as they may vocabulary.h.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "filigree/vocabulary.h"

namespace filigree {

// A column of numbers is one input, and one more if gaps are marked: 1 where the number is missing. A column
// of text is an input for each of its categories, 1 where the cell is that text, and a last one for every
// other text: those that are rare in the training data, and those that never occur there.
struct InputColumn {
  std::string name = {};
  bool text = false;
  float fill =
      std::numeric_limits<float>::quiet_NaN();  // in the place of a missing number; NaN: it is an error
  bool marks_missing = false;
  std::vector<std::string> categories = {};  // ascending

  Index inputs() const {
    if (text) return static_cast<Index>(categories.size()) + 1;
    return marks_missing ? 2 : 1;
  }
  bool operator==(const InputColumn& other) const {
    const bool same_fill = fill == other.fill || (fill != fill && other.fill != other.fill);
    return name == other.name && text == other.text && same_fill && marks_missing == other.marks_missing &&
           categories == other.categories;
  }
};

}  // namespace filigree
