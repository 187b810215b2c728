// SPDX-License-Identifier: Apache-2.0
// Inputs on their way into panels: rows of bytes or floats, and sparse ones of any width.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "filigree/rows.h"
#include "filigree/vocabulary.h"
#include "kernels/load_panel.h"

namespace filigree::internal {

// How the inputs that rows have become those that a plan has.
class InputMap {
 public:
  InputMap() : InputMap({}, 0) {}
  // input_of: per column of the rows, the input it is added to, or -1.
  InputMap(std::vector<Index> input_of, Index inputs);

  std::size_t columns() const { return input_of_.size(); }
  std::size_t inputs() const { return inputs_; }
  bool identity() const { return identity_; }
  bool adds_up() const { return adds_up_; }  // some input is not exactly one column
  Index input_of(std::size_t column) const { return input_of_[column]; }
  const std::vector<Index>& all() const { return input_of_; }
  // The columns that are added up into an input, ascending.
  std::span<const Index> columns_of(std::size_t input) const {
    return std::span(column_).subspan(begin_[input], begin_[input + 1] - begin_[input]);
  }

 private:
  std::vector<Index> input_of_;
  std::size_t inputs_;
  bool identity_, adds_up_ = false;
  std::vector<std::size_t> begin_;
  std::vector<Index> column_;
};

// One thread's way from rows to panels.
class PanelLoader {
 public:
  virtual ~PanelLoader() = default;
  // Rows [first, first + count), count <= kPanelRows, as the panel that a plan's first layer reads; it is
  // valid until the next call. Other lanes hold anything finite.
  virtual const float* load(std::size_t first, std::size_t count) = 0;
  // One row, as a plan's first layer reads it: `x` gets map.inputs() values, the same bits as in a panel.
  virtual void load_row(std::size_t row, float* x) = 0;
};

// Makes a loader for each thread. What it borrows outlives the loaders.
using MakeLoader = std::function<std::unique_ptr<PanelLoader>()>;

// Row-major rows of map.columns() values, scaled by `scaling` before anything else. Floats that are not
// finite are an Error that names row and column. `stride`: elements from one row to the next; 0:
// map.columns().
MakeLoader dense_loader(std::span<const std::uint8_t> data, const InputScaling& scaling, const InputMap& map,
                        std::size_t stride = 0);
MakeLoader dense_loader(std::span<const float> data, const InputScaling& scaling, const InputMap& map,
                        std::size_t stride = 0);

// Sparse rows; columns they do not have are zero before scaling.
struct SparseRowsView {
  std::span<const Offset> row_begin;  // rows + 1
  std::span<const Index> column;      // below map.columns()
  std::span<const float> value;
};
MakeLoader sparse_loader(const SparseRowsView& rows, const InputScaling& scaling, const InputMap& map);

// Any of them, of map.columns() columns. Sparse values that are not finite are not looked for.
MakeLoader rows_loader(const Rows& rows, const InputScaling& scaling, const InputMap& map);

}  // namespace filigree::internal
