// SPDX-License-Identifier: Apache-2.0
// Sparse matrices and the products of sparse networks: plain values, standard library only.
//
// Formats: CSR is the one that everything else converts to and from; COO for matrices as they arrive, CSC for
// products with the transpose, ELL and BSR for rows of one length and for blocks, LIL for topologies that
// change entry by entry. Views borrow: the arrays must outlive them. Conversions take time linear in rows +
// columns + entries and keep explicit zeros, unless they say otherwise.
//
// Products check the sizes of what they are given (std::invalid_argument) and rely on sound matrices:
// validate() is for those that come from elsewhere. They run on the threads of the caller's session, and give
// the same bits for any number of them. Every thread may call any of them.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "filigree/vocabulary.h"

#pragma GCC visibility push(default)
namespace filigree {

// Compressed sparse rows.
struct CsrView {
  Index rows = 0, cols = 0;
  std::span<const Offset> row_begin;  // rows + 1, from 0 to the number of entries
  std::span<const Index> column;      // strictly increasing within a row
  std::span<const float> value;

  Offset nnz() const { return row_begin.empty() ? 0 : row_begin[rows]; }
  std::span<const Index> row_columns(Index r) const { return column.subspan(first(r), length(r)); }
  std::span<const float> row_values(Index r) const { return value.subspan(first(r), length(r)); }

 private:
  std::size_t first(Index r) const { return row_begin[r]; }
  std::size_t length(Index r) const { return row_begin[static_cast<std::size_t>(r) + 1] - row_begin[r]; }
};

struct CsrMatrix {
  Index rows = 0, cols = 0;
  std::vector<Offset> row_begin = {0};
  std::vector<Index> column;
  std::vector<float> value;

  Offset nnz() const { return column.size(); }
  CsrView view() const { return {rows, cols, row_begin, column, value}; }
  bool operator==(const CsrMatrix&) const = default;
};

// Throws Error naming the first entry that breaks the format; `what` names the matrix in the message. Values
// may be anything, NaN and infinities included: a reader that forbids them says so itself.
void validate(const CsrView& matrix, std::string_view what = "CSR matrix");

// A matrix with every entry there is: `value` is rows × cols, row-major.
CsrMatrix full_matrix(Index rows, Index cols, std::vector<float> value);
bool is_full(const CsrView& matrix);  // and not empty

// Rows become columns.
CsrMatrix transpose(const CsrView& matrix);

// Coordinate triples in any order.
struct CooMatrix {
  Index rows = 0, cols = 0;
  std::vector<Index> row, column;  // of each entry; any order, repeats allowed
  std::vector<float> value;

  Offset nnz() const { return value.size(); }
  bool operator==(const CooMatrix&) const = default;
};

enum class Duplicates { reject, sum };

// Throws Error naming the first entry that lies outside the matrix, or arrays of unequal length.
void validate(const CooMatrix& matrix, std::string_view what = "COO matrix");

// Validates, then sorts. Entries with the same indices are summed in the order they came, or rejected with an
// Error that names both.
CsrMatrix to_csr(const CooMatrix& matrix, Duplicates duplicates = Duplicates::reject,
                 std::string_view what = "COO matrix");

// Entries row by row, columns increasing.
CooMatrix to_coo(const CsrView& matrix);

// Compressed sparse columns.
struct CscView {
  Index rows = 0, cols = 0;
  std::span<const Offset> column_begin;  // cols + 1, from 0 to the number of entries
  std::span<const Index> row;            // strictly increasing within a column
  std::span<const float> value;

  Offset nnz() const { return row.size(); }
};

struct CscMatrix {
  Index rows = 0, cols = 0;
  std::vector<Offset> column_begin = {0};
  std::vector<Index> row;
  std::vector<float> value;

  Offset nnz() const { return row.size(); }
  CscView view() const { return {rows, cols, column_begin, row, value}; }
  bool operator==(const CscMatrix&) const = default;
};

// Throws Error naming the first entry that breaks the format; values may be anything.
void validate(const CscView& matrix, std::string_view what = "CSC matrix");

CscMatrix to_csc(const CsrView& matrix);
CsrMatrix to_csr(const CscView& matrix);

// ELLPACK: every row padded to one width, for matrices whose rows are about equally long.
inline constexpr Index kEllPadding = -1;  // the column of padding

struct EllMatrix {
  Index rows = 0, cols = 0;
  Index width = 0;            // entries per row, padding included
  std::vector<Index> column;  // rows * width, row by row: increasing columns, then kEllPadding
  std::vector<float> value;   // as column; 0 where padded

  bool operator==(const EllMatrix&) const = default;
};

// Throws Error naming the first entry that breaks the format. Rows may be wider than the longest needs.
void validate(const EllMatrix& matrix, std::string_view what = "ELL matrix");

// The width is the length of the longest row: one long row among short ones makes a large matrix.
EllMatrix to_ell(const CsrView& matrix);
CsrMatrix to_csr(const EllMatrix& matrix);

// Block sparse rows: square dense blocks, for networks whose connections come in groups.
struct BsrMatrix {
  Index rows = 0, cols = 0;  // of the matrix itself; the last blocks may reach beyond, with zeros there
  Index block = 2;           // the side of a block: 2, 4, 8 or 16
  std::vector<Offset> row_begin = {0};  // first block of each block row; block_rows() + 1
  std::vector<Index> column;  // of each block, counted in blocks; strictly increasing in a block row
  std::vector<float> value;   // block * block per block, row by row

  Index block_rows() const { return rows / block + (rows % block != 0); }
  Index block_cols() const { return cols / block + (cols % block != 0); }
  Offset blocks() const { return column.size(); }
  bool operator==(const BsrMatrix&) const = default;
};

// Throws Error naming the first entry that breaks the format, non-zero padding included.
void validate(const BsrMatrix& matrix, std::string_view what = "BSR matrix");

// Keeps exactly the blocks that hold an entry; the rest of such a block becomes zeros. Throws Error when
// `block` is not 2, 4, 8 or 16.
BsrMatrix to_bsr(const CsrView& matrix, Index block);

// Drops exact zeros (0 and -0), since a block does not tell an entry of value zero from a zero that fills it:
// CSR -> BSR -> CSR loses explicit zeros and nothing else.
CsrMatrix to_csr(const BsrMatrix& matrix);

// A list of entries per row: for a topology that gains and loses connections one by one.
struct LilEntry {
  Index column = 0;
  float value = 0;

  bool operator==(const LilEntry&) const = default;
};

// Rows and columns given to members lie inside the matrix. A search costs log(row length), a change the row
// length.
struct LilMatrix {
  Index rows = 0, cols = 0;
  std::vector<std::vector<LilEntry>> row;  // of each row, columns strictly increasing

  LilMatrix() = default;
  LilMatrix(Index row_count, Index column_count);  // without entries

  Offset nnz() const;
  std::optional<float> find(Index r, Index c) const;
  bool insert(Index r, Index c, float value);  // false, and nothing changes, where an entry already is
  bool erase(Index r, Index c);                // false where no entry is
  bool operator==(const LilMatrix&) const = default;
};

// Throws Error naming the first entry that breaks the format.
void validate(const LilMatrix& matrix, std::string_view what = "LIL matrix");

LilMatrix to_lil(const CsrView& matrix);
CsrMatrix to_csr(const LilMatrix& matrix);

// A borrowed sparse vector, such as a row of a CsrView.
struct SparseVectorView {
  std::span<const Index> index;  // strictly increasing
  std::span<const float> value;  // as many
};

// spVV: the sum of a[i] * x[i] over the entries of `a`; all of its indices lie inside x.
float spvv(const SparseVectorView& a, std::span<const float> x);
// The sum of a[i] * b[i] over the indices that both hold.
float spvv(const SparseVectorView& a, const SparseVectorView& b);

// Rows become columns: to[c * rows + r] = from[r * columns + c]. What is between rows of samples and the
// neuron-major arrays of the products below. They do not overlap.
void transpose(std::span<const float> from, std::size_t rows, std::size_t columns, std::span<float> to);

// spMV: y[r] = the sum of A(r, c) * x[c] over the entries of row r; 0 for an empty row. x holds a.cols
// values, y a.rows, and they do not overlap.
void spmv(const CsrView& a, std::span<const float> x, std::span<float> y);

// spMM, the forward pass of a layer: y = A x. x is cols × batch, y is rows × batch, both neuron-major
// (x[neuron * batch + b]), and they do not overlap. Each sum adds the products in the order of the columns,
// starting from zero.
void spmm(const CsrView& a, std::span<const float> x, std::size_t batch, std::span<float> y);

// spMMᵀ, the backward pass to the inputs: y[c * batch + b] = the sum of A(r, c) * x[r * batch + b] over the
// entries of column c; 0 for an empty column. x holds a.rows * batch values, y a.cols * batch, and they do
// not overlap. A comes by columns so that each output is gathered by one thread.
void spmm_transposed(const CscView& a, std::span<const float> x, std::size_t batch, std::span<float> y);

// SDDMM, the gradient of the weights: value[e] = the sum of a[r * batch + i] * b[c * batch + i] over i, for
// each entry e = (r, c) of the pattern, whose own values are not read. a holds pattern.rows * batch values, b
// pattern.cols * batch, value one per entry.
void sddmm(const CsrView& pattern, std::span<const float> a, std::span<const float> b, std::size_t batch,
           std::span<float> value);

// SpGEMM: C = A B, all sparse. C holds an entry wherever some k has entries A(i, k) and B(k, j), also where
// the sum is zero; columns are sorted. A.cols equals B.rows.
CsrMatrix spgemm(const CsrView& a, const CsrView& b);

}  // namespace filigree
#pragma GCC visibility pop
