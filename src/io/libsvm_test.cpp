// SPDX-License-Identifier: Apache-2.0
// Tests of LIBSVM's sparse rows: every accepted form, every refusal, and any rows written and read back.
#include "io/libsvm.h"

#include <fmt/format.h>

#include <algorithm>

#include "io/test_files.h"
#include "sparse/test_matrices.h"

namespace filigree::internal {
namespace {

using Labels = std::vector<float>;

LibsvmTable table_of(std::string_view text) {
  return read_libsvm(in_memory(text), {});
}

std::string refusal(std::string_view text) {
  return error_of([&] { table_of(text); });
}

TEST(Libsvm, RowsStaySparseAndFeaturesCountFromOne) {
  const LibsvmTable table = table_of("+1 1:0.5 7:-2\n-1 3:1e3\n2\n");
  EXPECT_EQ(table.features, 7);
  EXPECT_EQ(table.target.number, (Labels{1, -1, 2}));
  EXPECT_EQ(table.line, (std::vector<Offset>{1, 2, 3}));
  EXPECT_EQ(table.row_begin, (std::vector<Offset>{0, 2, 3, 3}));
  EXPECT_EQ(table.column, (std::vector<Index>{0, 6, 2}));
  EXPECT_EQ(table.value, (std::vector<float>{0.5F, -2, 1000}));
}

TEST(Libsvm, AcceptsEveryHarmlessForm) {
  for (const std::string_view text : {
           "1 1:0.5 7:-2\n0 3:1000",                 // no last newline
           "1 1:0.5 7:-2 \r\n0 3:1000\r\n",          // CRLF, space at the end
           "1\t1:0.5\t7:-2\n  0   3:1000\n",         // tabs, spaces in front
           "1 1:0.5 7:-2 # 8:3\n0 3:1000#\n",        // comments
           "1.000e+00 001:+0.5 7:-2.0\n-0 3:1E3\n",  // the same numbers in other words
       }) {
    const LibsvmTable table = table_of(text);
    EXPECT_EQ(table.target.number, (Labels{1, 0})) << text;
    EXPECT_EQ(table.row_begin, (std::vector<Offset>{0, 2, 3})) << text;
    EXPECT_EQ(table.column, (std::vector<Index>{0, 6, 2})) << text;
    EXPECT_EQ(table.value, (std::vector<float>{0.5F, -2, 1000})) << text;
  }
}

TEST(Libsvm, SkipsBlankLinesAndCommentsAndStillCountsThem) {
  EXPECT_EQ(table_of("# made by hand\n\n1 1:1\n  # 2\n\t\n0 1:1\n").line, (std::vector<Offset>{3, 6}));
}

TEST(Libsvm, SaysWhichFeatureIsWrongWhere) {
  EXPECT_EQ(refusal("1 1:1\n1 0:1\n"), "file:2: feature 0, but features are counted from 1");
  EXPECT_EQ(refusal("1 -4:1\n"), "file:1: feature -4, but features are counted from 1");
  EXPECT_EQ(refusal("1 1:1\n\n1 5:1 3:1\n"), "file:3: feature 3 after feature 5, but they must ascend");
  EXPECT_EQ(refusal("1 5:1 5:1\n"), "file:1: feature 5 after feature 5, but they must ascend");
  EXPECT_EQ(refusal("1 2147483648:1\n"), "file:1: feature 2147483648, but the largest is 2147483647");
  EXPECT_EQ(table_of("1 2147483647:1\n").features, 2147483647);
  EXPECT_EQ(refusal("1 qid:3 1:1\n"), "file:1: \"qid:3\" where feature:value is due");
  EXPECT_EQ(refusal("1 3\n"), "file:1: \"3\" where feature:value is due");
  EXPECT_EQ(refusal("1 3 :4\n"), "file:1: \"3\" where feature:value is due");
  EXPECT_EQ(refusal("1 1.5:2\n"), "file:1: \"1.5:2\" where feature:value is due");
  EXPECT_EQ(refusal("1 :2\n"), "file:1: \":2\" where feature:value is due");
}

TEST(Libsvm, SaysWhichValueIsWrongWhere) {
  EXPECT_EQ(refusal("1 1:1 3:\n"), "file:1: feature 3 is empty");
  EXPECT_EQ(refusal("1 1:1 3:x\n"), "file:1: \"x\" in feature 3 is not a number");
  EXPECT_EQ(refusal("1 1:1 3:4:5\n"), "file:1: \"4:5\" in feature 3 is not a number");
  EXPECT_EQ(refusal("1 1:1\n0 7:nan\n"), "file:2: nan in feature 7");
  EXPECT_EQ(refusal("1 7:-inf\n"), "file:1: -inf in feature 7");
  EXPECT_EQ(refusal("1 7:1e39\n"), "file:1: \"1e39\" in feature 7 does not fit a float");
  EXPECT_EQ(table_of("1 7:1e-60\n").value, std::vector<float>{0});
}

TEST(Libsvm, SaysWhichLabelIsWrongWhere) {
  EXPECT_EQ(refusal("1 1:1\n1,2 1:1\n"), "file:2: labels \"1,2\", but a row has one label here");
  EXPECT_EQ(refusal(" 1:1 2:1\n"), "file:1: begins with \"1:1\" where the label is due");
  EXPECT_EQ(refusal("good 1:1\n"), "file:1: label \"good\" is not a number that a float can hold");
  EXPECT_EQ(refusal("1e39 1:1\n"), "file:1: label \"1e39\" is not a number that a float can hold");
  EXPECT_EQ(refusal("nan 1:1\n"), "file:1: label \"nan\" is not a number that a float can hold");
  EXPECT_EQ(table_of("0.5 1:1\n").target.number, Labels{0.5F});
}

TEST(Libsvm, TakesRowsOfManyFeaturesWhereverABlockEnds) {
  std::string text = "1 1:1\n0";
  constexpr Index kMany = 200'000;  // 1.9 MB
  for (Index f = 1; f <= kMany; ++f) text += fmt::format(" {}:1", f);
  text += "\n1 2:1\n";
  const LibsvmTable table = table_of(text);
  EXPECT_EQ(table.row_begin, (std::vector<Offset>{0, 1, 1 + kMany, 2 + kMany}));
  EXPECT_EQ(table.features, kMany);
  EXPECT_EQ(table.line, (std::vector<Offset>{1, 2, 3}));
  EXPECT_EQ(refusal("1 1:1\n" + std::string((std::size_t{64} << 20) + 1, '7')),
            "file:2: a line of more than 67108864 bytes: this is no text file of numbers");
}

TEST(Libsvm, RefusesFilesWithoutRows) {
  EXPECT_EQ(refusal(""), "file: the file is empty");
  EXPECT_EQ(refusal("\n# nothing\n"), "file: the file is empty");
}

TEST(Libsvm, AFileCutWithinARowIsRefused) {
  EXPECT_EQ(refusal("1 1:1 2:1\n1 1:1 2:"), "file:2: feature 2 is empty");
  EXPECT_EQ(refusal("1 1:1 2:1\n1 1:1 2"), "file:2: \"2\" where feature:value is due");
}

TEST(Libsvm, StopsWhenAsked) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(read_libsvm(in_memory("1 1:1\n"), {.progress = {}, .stop = stop.get_token()}), Cancelled);
}

TEST(Libsvm, AnyRowsComeBackAsTheyWereWritten) {
  EXPECT_TRUE(rc::check([] {
    const auto rows = *rc::gen::inRange<Index>(1, 21);
    const CsrMatrix matrix = *any_csr_with_rows(rows);
    const auto labels =
        *rc::gen::container<Labels>(static_cast<std::size_t>(rows), rc::gen::inRange<Index>(-2, 300));
    std::string text;
    for (Index r = 0; r < rows; ++r) {
      text += fmt::format("{}", labels[r]);
      const auto columns = matrix.view().row_columns(r);
      const auto values = matrix.view().row_values(r);
      for (std::size_t k = 0; k < columns.size(); ++k) {
        text += fmt::format("{}{}:{}", *rc::gen::element(" ", "\t", "  "), columns[k] + 1, values[k]);
      }
      text += *rc::gen::element("\n", "\r\n", " # note\n", "\n\n");
    }
    const LibsvmTable table = table_of(text);
    RC_ASSERT(table.target.number == labels);
    RC_ASSERT(table.row_begin == matrix.row_begin);
    RC_ASSERT(table.column == matrix.column);
    RC_ASSERT(table.value == matrix.value);
    const auto last = std::max_element(matrix.column.begin(), matrix.column.end());
    RC_ASSERT(table.features == (last == matrix.column.end() ? 0 : *last + 1));
  }));
}

}  // namespace
}  // namespace filigree::internal
