// SPDX-License-Identifier: Apache-2.0
// Tests of comma-separated numbers: every accepted form, every refusal, and any rows written and read back.
#include "io/csv.h"

#include <fmt/format.h>
#include <rapidcheck.h>

#include <bit>
#include <cmath>
#include <limits>

#include "io/atomic_file.h"
#include "io/test_files.h"

namespace filigree::internal {
namespace {

using Floats = std::vector<float>;
using Labels = std::vector<Index>;
using Lines = std::vector<Offset>;

CsvTable table_of(std::string_view text, std::string_view label_column = "1") {
  return read_csv(in_memory(text), label_column, {});
}

std::string refusal(std::string_view text, std::string_view label_column = "1") {
  return error_of([&] { table_of(text, label_column); });
}

TEST(Csv, TheLabelColumnIsTheLabelAndAllOthersAreFeatures) {
  for (const auto& [column, text] :
       {std::pair{"1", "7,0.5,-2\n0,1e3,4\n"}, {"2", "0.5,7,-2\n1e3,0,4\n"}, {"3", "0.5,-2,7\n1e3,4,0\n"}}) {
    const CsvTable table = table_of(text, column);
    EXPECT_EQ(table.features, 2) << column;
    EXPECT_EQ(table.labels.value, (Labels{7, 0})) << column;
    EXPECT_EQ(table.labels.line, (Lines{1, 2})) << column;
    EXPECT_EQ(table.value, (Floats{0.5F, -2, 1000, 4})) << column;
    EXPECT_TRUE(table.header.empty()) << column;
  }
}

TEST(Csv, AcceptsEveryHarmlessForm) {
  for (const std::string_view text : {
           "1,0.5,-2\n0,1000,4",                                // no last newline
           "1,0.5,-2\r\n0,1000,4\r\n",                          // CRLF
           "1,0.5,-2\r\n0,1000,4\r",                            // CR, then the end
           " 1 ,\t0.5, -2 \n0 , 1000\t,4\n",                    // spaces
           "\"1\",\"0.5\",\" -2\"\n\"0\",\"1000\",4\n",         // quotes
           "\xef\xbb\xbf\x31,0.5,-2\n0,1000,4\n",               // byte order mark
           "+1,+0.5,-2\n+0,+1000,+4\n",                         // plus signs
           "1.000000000000000000e+00,5e-1,-2.0\n0.0,1E3,4.\n",  // the same numbers in other words
           "1,.5,-2\n-0,1000.,4\n",                             // points without digits, minus zero
       }) {
    const CsvTable table = table_of(text);
    EXPECT_EQ(table.labels.value, (Labels{1, 0})) << text;
    EXPECT_EQ(table.value, (Floats{0.5F, -2, 1000, 4})) << text;
  }
}

TEST(Csv, SkipsBlankLinesAndStillCountsThem) {
  const CsvTable table = table_of("\n \r\n1,2\n\n\t\n0,3\n\n");
  EXPECT_EQ(table.value, (Floats{2, 3}));
  EXPECT_EQ(table.labels.line, (Lines{3, 6}));
}

TEST(Csv, ALineWithAWordIsAHeaderIfItIsTheFirst) {
  const CsvTable table = table_of("\n size, \"the, class\" ,7\n0.5,1,-2\n", "the, class");
  EXPECT_EQ(table.header, (std::vector<std::string>{"size", "the, class", "7"}));
  EXPECT_EQ(table.features, 2);
  EXPECT_EQ(table.labels.value, Labels{1});
  EXPECT_EQ(table.labels.line, Lines{3});
  EXPECT_EQ(table.value, (Floats{0.5F, -2}));
  EXPECT_EQ(table_of("a,b\n1,2\n", "2").labels.value, Labels{2});
  EXPECT_EQ(table_of("label,0,1\n1,2,3\n", "1").features, 2);  // numbers that count up are names
  EXPECT_EQ(refusal("1,2\na,b\n"),
            "file:2: label \"a\" in column 1 is not a whole number of at most 2147483647");
}

TEST(Csv, AFirstLineOfNumbersAndGapsIsNoHeader) {
  EXPECT_EQ(refusal("1,,2\n"), "file:1: column 2 is empty");
  EXPECT_EQ(refusal("1,nan,2\n"), "file:1: nan in column 2");
  EXPECT_THAT(refusal("0x10,1\n1,2\n"), testing::StartsWith("file:1: "));
  EXPECT_THAT(refusal(std::string("1\0,1\n1,2\n", 9)), testing::StartsWith("file:1: "));
  for (const char* cell : {"$5", "1;2", "\"1,5\"", "1/2", "12:30", "2020-01-01", "1.5\xe2\x82\xac", "O"})
    EXPECT_THAT(refusal(cell + std::string(",0\n1,2\n")), testing::StartsWith("file:1: ")) << cell;
}

TEST(Csv, SaysWhyTheLabelColumnIsNotFound) {
  EXPECT_EQ(refusal("1,2,3\n", "4"), "file:1: 3 columns, but the label is to be column 4");
  EXPECT_EQ(refusal("1,2,3\n", "0"), "label column 0, but columns are counted from 1");
  EXPECT_EQ(refusal("\n1,2,3\n", "class"),
            "file:2: no header, so there is no column \"class\" to take the label from");
  EXPECT_EQ(refusal("a,b\n1,2\n", "class"),
            "file:1: no column is called \"class\"; the header begins \"a,b\"");
  EXPECT_EQ(refusal("a,b,a\n1,2,3\n", "a"), "file:1: 2 columns are called \"a\"");
}

TEST(Csv, WithoutALabelColumnEveryColumnIsAFeature) {
  const CsvTable table = table_of("a,b\n1,0.5\n2,\"7\"\n", "");
  EXPECT_EQ(table.features, 2);
  EXPECT_EQ(table.value, (Floats{1, 0.5F, 2, 7}));
  EXPECT_EQ(table.labels.value, (Labels{0, 0}));
  EXPECT_EQ(table_of("3\n4\n", "").value, (Floats{3, 4}));
  EXPECT_EQ(refusal("1,2\n1,2,3\n", ""), "file:2: 3 columns, but line 1 has 2");
}

TEST(Csv, SaysWhichFieldIsWrongWhere) {
  EXPECT_EQ(refusal("1,2,3\n1,2\n"), "file:2: 2 columns, but line 1 has 3");
  EXPECT_EQ(refusal("1,2,3\n1,2,3\n\n1,2,3,\n"), "file:4: 4 columns, but line 1 has 3");
  EXPECT_EQ(refusal("a,b,c\n7\n"), "file:2: 1 column, but line 1 has 3");
  EXPECT_EQ(refusal("7\n8\n"), "file:1: one column, but a row has a label and at least one feature");
  EXPECT_EQ(refusal("1,2,3\n1,2,3x\n"), "file:2: \"3x\" in column 3 is not a number");
  EXPECT_EQ(refusal("1,2,3\n1,0x10,3\n"), "file:2: \"0x10\" in column 2 is not a number");
  EXPECT_EQ(refusal("1,2,3\n1,+-2,3\n"), "file:2: \"+-2\" in column 2 is not a number");
  EXPECT_EQ(refusal("1,2,3\n1,2 3,3\n"), "file:2: \"2 3\" in column 2 is not a number");
  EXPECT_EQ(refusal("1,2,3\n1,\"2,3\n"), "file:2: 2 columns, but line 1 has 3");
  EXPECT_EQ(refusal("1,2,3\n1,2,\n"), "file:2: column 3 is empty");
  EXPECT_EQ(refusal("1,2,3\n,2,3\n"),
            "file:2: label \"\" in column 1 is not a whole number of at most 2147483647");
}

TEST(Csv, RefusesFeaturesThatAreNotFinite) {
  EXPECT_EQ(refusal("1,2,3\n1,2,nan\n"), "file:2: nan in column 3");
  EXPECT_EQ(refusal("1,2,3\n1,-inf,3\n"), "file:2: -inf in column 2");
  EXPECT_EQ(refusal("1,2,3\n1,\"Infinity\",3\n"), "file:2: Infinity in column 2");
  EXPECT_EQ(refusal("1,2,3\n1,1e39,3\n"), "file:2: \"1e39\" in column 2 does not fit a float");
  EXPECT_EQ(refusal("1,2,3\n1,-1e999,3\n"), "file:2: \"-1e999\" in column 2 does not fit a float");
  EXPECT_EQ(table_of("1,1e-60,1e-45\n").value, (Floats{0, std::numeric_limits<float>::denorm_min()}));
}

TEST(Csv, RefusesLabelsThatAreNotWhole) {
  const std::string whole = " is not a whole number of at most 2147483647";
  EXPECT_EQ(refusal("1,2\n0.5,2\n"), "file:2: label \"0.5\" in column 1" + whole);
  EXPECT_EQ(refusal("2,nan\n", "2"), "file:1: label \"nan\" in column 2" + whole);
  EXPECT_EQ(refusal("2147483648,2\n"), "file:1: label \"2147483648\" in column 1" + whole);
  EXPECT_EQ(refusal("1e999,2\n"), "file:1: label \"1e999\" in column 1" + whole);
  EXPECT_EQ(table_of("2147483647,2\n-2147483647,2\n").labels.value, (Labels{2147483647, -2147483647}));
  EXPECT_EQ(table_of("16777217,2\n").labels.value, Labels{16777217});  // more digits than a float has
}

TEST(Csv, RefusesFilesWithoutRows) {
  EXPECT_EQ(refusal(""), "file: the file is empty");
  EXPECT_EQ(refusal("\n\r\n \n"), "file: the file is empty");
  EXPECT_EQ(refusal("\xef\xbb\xbf"), "file: the file is empty");
  EXPECT_EQ(refusal("a,b\n\n"), "file: a header, but no rows");
}

TEST(Csv, ReadsCompressedFilesAndNoticesTheirEarlyEnd) {
  const TestDirectory directory;
  std::string text;
  for (int i = 0; i < 50000; ++i) text += fmt::format("{},{}\n", i % 3, i * 7);
  AtomicFile file(directory / "rows.csv.gz");
  file.write(text);
  file.commit();
  const CsvTable table = read_csv(Source(directory / "rows.csv.gz"), "1", {});
  ASSERT_EQ(table.labels.rows(), 50000);
  EXPECT_EQ(table.value[49999], 349993);
  const std::string packed = file_content(directory / "rows.csv.gz");
  const auto half = put_file(directory / "half.csv.gz", packed.substr(0, packed.size() / 2));
  EXPECT_EQ(error_of([&] { read_csv(Source(half), "1", {}); }),
            half.string() + ": the gzip data ends too early");
}

TEST(Csv, AFileCutWithinARowIsRefused) {
  EXPECT_EQ(refusal("1,2,3\n1,2,3\n1,2"), "file:3: 2 columns, but line 1 has 3");
  EXPECT_EQ(refusal("1,2,3\n1,2,3\n1,2,"), "file:3: column 3 is empty");
  EXPECT_EQ(refusal("1,2,3\n1,2,3\n1,2,-"), "file:3: \"-\" in column 3 is not a number");
}

TEST(Csv, FindsRowsAcrossAllBlockBoundaries) {
  // A megabyte of rows whose lengths vary, so that blocks end at every place within a row.
  std::string text;
  Floats expected;
  for (int i = 0; i < 100000; ++i) {
    const int x = (i * 7919) % 100003;
    text += fmt::format("{},{}{}", i % 2, x, i % 5 == 0 ? "\r\n" : "\n");
    expected.push_back(x);
  }
  ASSERT_GT(text.size(), std::size_t{600000});
  EXPECT_TRUE(table_of(text).value == expected);
}

TEST(Csv, ReportsBytesAndStopsWhenAsked) {
  std::string text;
  for (int i = 0; i < 200000; ++i) text += "1,2\n";
  std::vector<double> done;
  Observer observer;
  observer.progress = [&](const Progress& p) {
    EXPECT_EQ(p.stage, "reading file");
    EXPECT_EQ(p.unit, "bytes");
    EXPECT_EQ(p.total, 800000);
    done.push_back(p.done);
  };
  read_csv(in_memory(text), "1", observer);
  ASSERT_GE(done.size(), 3U);
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
  EXPECT_EQ(done.back(), 800000);

  std::stop_source stop;
  int blocks = 0;
  observer = {.progress = [&](const Progress&) { ++blocks, stop.request_stop(); }, .stop = stop.get_token()};
  EXPECT_THROW(read_csv(in_memory(text), "1", observer), Cancelled);
  EXPECT_EQ(blocks, 1);
}

// A finite float of any size, with a taste for those that people write.
rc::Gen<float> any_finite() {
  return rc::gen::map(
      rc::gen::pair(rc::gen::arbitrary<std::uint32_t>(), rc::gen::inRange(-1000, 1000)),
      [](const auto& both) {
        const auto value = std::bit_cast<float>(both.first);
        return both.first % 2 == 0 || !std::isfinite(value) ? static_cast<float>(both.second) / 8 : value;
      });
}

TEST(Csv, AnyRowsComeBackAsTheyWereWritten) {
  EXPECT_TRUE(rc::check([] {
    const auto features = *rc::gen::inRange<std::size_t>(1, 12);
    const auto label_at = *rc::gen::inRange<std::size_t>(0, features + 1);
    const auto labels = *rc::gen::nonEmpty(rc::gen::container<Labels>(rc::gen::inRange<Index>(-3, 70000)));
    const auto values = *rc::gen::container<Floats>(labels.size() * features, any_finite());
    const bool header = *rc::gen::arbitrary<bool>();
    std::string text;
    Lines lines;
    Offset line = 0;
    const auto write_row = [&](const auto& write_label, const auto& write_feature) {
      for (std::size_t c = 0, f = 0; c <= features; ++c) {
        if (c > 0) text += *rc::gen::element(",", " , ");
        const std::string field = c == label_at ? write_label() : write_feature(f++);
        text += *rc::gen::element(0, 1, 2) == 0 ? "\"" + field + "\"" : field;
      }
      text += *rc::gen::element("\n", "\r\n");
      ++line;
    };
    if (header) {
      write_row([] { return std::string("kind"); }, [](std::size_t f) { return fmt::format("x{}", f); });
    }
    for (std::size_t r = 0; r < labels.size(); ++r) {
      if (*rc::gen::inRange(0, 4) == 0) text += "\n", ++line;
      write_row([&] { return fmt::format("{}{}", labels[r], *rc::gen::element("", ".0")); },
                [&](std::size_t f) {
                  const float value = values[r * features + f];
                  return *rc::gen::arbitrary<bool>() ? fmt::format("{}", value)
                                                     : fmt::format("{:.8e}", value);
                });
      lines.push_back(line);
    }
    const CsvTable table = table_of(text, header ? "kind" : std::to_string(label_at + 1));
    RC_ASSERT(table.features == static_cast<Index>(features));
    RC_ASSERT(table.labels.value == labels);
    RC_ASSERT(table.labels.line == lines);
    RC_ASSERT(table.value == values);
    RC_ASSERT(table.header.size() == (header ? features + 1 : 0));
  }));
}

}  // namespace
}  // namespace filigree::internal
