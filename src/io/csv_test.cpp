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
using Lines = std::vector<Offset>;
using Texts = std::vector<std::string>;

// One target column, by number or name; all others are features.
ChooseColumns target_at(std::string column) {
  return [column](const CsvHeader& header) {
    std::vector<ColumnUse> uses(header.columns, ColumnUse::feature);
    for (std::size_t c = 0; c < header.columns; ++c)
      if (is_number(column) ? std::to_string(c + 1) == column
                            : !header.names.empty() && header.names[c] == column)
        uses[c] = ColumnUse::target;
    return uses;
  };
}

CsvTable table_of(std::string_view text, const std::string& target = "1", const TableOptions& options = {}) {
  const Texts names = is_number(target) ? Texts{} : Texts{target};
  return read_csv([text] { return in_memory(text); }, {options, names}, target_at(target), {});
}

std::string refusal(std::string_view text, const std::string& target = "1") {
  return error_of([&] { table_of(text, target); });
}

Floats targets_of(const CsvTable& table) {
  return table.target.front().number;
}

// The words of a text column, a row each.
Texts texts_of(const Words32& words) {
  Texts texts;
  for (const std::int32_t code : words.code) texts.push_back(code < 0 ? "(missing)" : words.word[code]);
  return texts;
}

TEST(Csv, OneColumnIsTheTargetAndAllOthersAreFeatures) {
  for (const auto& [column, text] :
       {std::pair{"1", "7,0.5,-2\n0,1e3,4\n"}, {"2", "0.5,7,-2\n1e3,0,4\n"}, {"3", "0.5,-2,7\n1e3,4,0\n"}}) {
    const CsvTable table = table_of(text, column);
    EXPECT_EQ(table.numbers, 2u) << column;
    EXPECT_EQ(targets_of(table), (Floats{7, 0})) << column;
    EXPECT_EQ(texts_of(table.target[0].words), (Texts{"7", "0"})) << column;
    EXPECT_EQ(table.line, (Lines{1, 2})) << column;
    EXPECT_EQ(table.number, (Floats{0.5F, -2, 1000, 4})) << column;
    EXPECT_TRUE(table.header.names.empty()) << column;
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
           "1;0.5;-2\n0;1000;4\n",                              // other separators
           "1\t0.5\t-2\n0\t1000\t4\n", "1|0.5|-2\n0| 1000 |4\n",
           "# made by hand\n1,0.5,-2\n#0,0,0\n0,1000,4\n",  // comments
       }) {
    const CsvTable table = table_of(text);
    EXPECT_EQ(texts_of(table.target[0].words), (Texts{"1", "0"})) << text;
    EXPECT_EQ(table.number, (Floats{0.5F, -2, 1000, 4})) << text;
  }
}

TEST(Csv, ReadsDecimalCommasWhenAsked) {
  TableOptions options;
  options.decimal_comma = true;
  const CsvTable table = table_of("a;b\n1,5;-2,25\n2;3,0\n", "1", options);
  EXPECT_EQ(targets_of(table), (Floats{1.5F, 2}));
  EXPECT_EQ(table.number, (Floats{-2.25F, 3}));
  EXPECT_FALSE(table.target[0].whole);
}

TEST(Csv, TakesTheSeparatorThatIsAskedFor) {
  TableOptions options;
  options.separator = ':';
  EXPECT_EQ(table_of("1:2\n0:3\n", "1", options).number, (Floats{2, 3}));
}

TEST(Csv, SkipsBlankLinesAndStillCountsThem) {
  const CsvTable table = table_of("\n \r\n1,2\n\n\t\n0,3\n\n");
  EXPECT_EQ(table.number, (Floats{2, 3}));
  EXPECT_EQ(table.line, (Lines{3, 6}));
}

TEST(Csv, ALineOfNamesIsAHeaderIfItIsTheFirst) {
  const CsvTable table = table_of("\n size, \"the, class\" ,7\n0.5,1,-2\n", "the, class");
  EXPECT_EQ(table.header.names, (Texts{"size", "the, class", "7"}));
  EXPECT_EQ(table.header.line, 2);
  EXPECT_EQ(targets_of(table), Floats{1});
  EXPECT_EQ(table.line, Lines{3});
  EXPECT_EQ(table.number, (Floats{0.5F, -2}));
  EXPECT_EQ(table_of("label,0,1\n1,2,3\n", "1").numbers, 2u) << "numbers that count up are names";
  EXPECT_EQ(table_of("# a,b\n1,2\n").header.names, (Texts{"a", "b"})) << "as numpy.savetxt writes it";
  EXPECT_TRUE(table_of("# a,b,c\n1,2\n").header.names.empty()) << "a comment of other length";
  TableOptions options;
  options.header = Header::no;
  EXPECT_EQ(texts_of(table_of("red,small\nblue,big\n", "2", options).text[0]), (Texts{"red", "blue"}));
  options.header = Header::yes;
  EXPECT_EQ(table_of("2020,2021\n1,2\n", "1", options).header.names, (Texts{"2020", "2021"}));
}

TEST(Csv, TextIsKeptAsWords) {
  const CsvTable table =
      table_of("kind,colour,size\nx,red,1\ny,\"light, blue\",2\nx,,3\nx,\"say \"\"red\"\"\",4\nx,red,5\n");
  EXPECT_EQ(table.columns[1].use, ColumnUse::text);
  EXPECT_EQ(texts_of(table.text[0]), (Texts{"red", "light, blue", "", "say \"red\"", "red"}));
  EXPECT_EQ(table.text[0].word.size(), 4u);
  EXPECT_EQ(table.number, (Floats{1, 2, 3, 4, 5}));
  EXPECT_EQ(texts_of(table.target[0].words), (Texts{"x", "y", "x", "x", "x"}));
  EXPECT_FALSE(table.target[0].numbers);
}

TEST(Csv, QuotedCellsMayHoldLines) {
  const CsvTable table = table_of("a,note,b\n1,\"two\nlines\",3\n2,\"one\",4\n");
  EXPECT_EQ(texts_of(table.text[0]), (Texts{"two\nlines", "one"}));
  EXPECT_EQ(table.line, (Lines{2, 4}));
  EXPECT_EQ(refusal("1,2,3\n1,\"2,3\n1,2,3\n"), "file:2: a quote that is opened in this row is not closed");
  // Where a block ends within such a cell.
  std::string text = "5,x,2\n";
  for (int i = 0; i < 60000; ++i) text += "1,\"a\nb\",2\n";
  EXPECT_EQ(table_of(text).rows(), 60001u);
}

TEST(Csv, MissingNumbersAreNaN) {
  for (const char* gap : {"", "NA", "n/a", "nan", "NaN", "null", "None", "?", "-", "\"\""}) {
    const CsvTable table = table_of(fmt::format("1,2,3\n0,{},4\n", gap));
    EXPECT_TRUE(std::isnan(table.number[2])) << gap;
    EXPECT_EQ(table.number[3], 4) << gap;
  }
  const CsvTable table = table_of("1,2\n,3\n");
  EXPECT_TRUE(std::isnan(targets_of(table)[1]));
  EXPECT_EQ(table.target[0].missing, Lines{2});
}

TEST(Csv, AFirstLineOfNumbersAndGapsIsNoHeader) {
  EXPECT_EQ(table_of("1,,2\n3,4,5\n").rows(), 2u);
  for (const char* cell : {"0x10", "$5", "1;2", "\"1,5\"", "1/2", "12:30", "1.5\xe2\x82\xac", "O"})
    EXPECT_THAT(refusal("0," + std::string(cell) + "\n1,2\n"), testing::StartsWith("file:1: ")) << cell;
  EXPECT_THAT(refusal(std::string("1,1\0\n1,2\n", 9)), testing::StartsWith("file:1: "));
}

TEST(Csv, AWordAmongNumbersIsNamed) {
  EXPECT_EQ(
      refusal("1,2,3\n1,2,3x\n1,2,4\n"),
      "file:2: \"3x\" in column 3 is not a number, as 2 others of this column are; the column can be read "
      "as text");
  EXPECT_EQ(
      refusal("a,b\n1,2\n1,2\n1,0x10\n"),
      "file:4: \"0x10\" in column 2 (\"b\") is not a number, as 2 others of this column are; the column can "
      "be read as text");
  for (const char* cell : {"+-2", "2 3", "1.2.3"})
    EXPECT_THAT(refusal(fmt::format("1,2,3\n1,{},3\n", cell)), testing::StartsWith("file:2: ")) << cell;
}

TEST(Csv, DatesAreRefusedWithAdvice) {
  for (const char* date :
       {"2024-01-05", "5.1.2024", "1/5/24", "2024-01-05 12:30:00", "2024-01-05T12:30", "12:30"})
    EXPECT_THAT(
        refusal(fmt::format("x,when\n1,{}\n2,{}\n", date, date)),
        testing::StartsWith(fmt::format("file:2: column 2 (\"when\") holds dates, such as \"{}\"", date)));
  EXPECT_EQ(refusal("x,size\n1,a-b-c\n2,10-inch\n"), "");
}

TEST(Csv, SaysWhichRowHasAnotherLength) {
  EXPECT_EQ(refusal("1,2,3\n1,2\n"), "file:2: 2 columns, but line 1 has 3");
  EXPECT_EQ(refusal("1,2,3\n1,2,3\n\n1,2,3,\n"), "file:4: 4 columns, but line 1 has 3");
  EXPECT_EQ(refusal("a,b,c\n7\n"), "file:2: 1 column, but line 1 has 3");
}

TEST(Csv, RefusesNumbersThatAreNotFinite) {
  EXPECT_EQ(refusal("1,2,3\n1,-inf,3\n"), "file:2: -inf in column 2");
  EXPECT_EQ(refusal("1,2,3\n1,\"Infinity\",3\n"), "file:2: Infinity in column 2");
  EXPECT_EQ(refusal("1,2,3\n1,1e39,3\n"), "file:2: \"1e39\" in column 2 does not fit a float");
  EXPECT_EQ(refusal("1,2,3\n1,-1e999,3\n"), "file:2: \"-1e999\" in column 2 does not fit a float");
  EXPECT_EQ(refusal("1,2\n1e39,2\n"), "file:2: \"1e39\" in column 1 does not fit a float");
  EXPECT_EQ(refusal("1,2\ninf,2\n"), "file:2: \"inf\" in column 1 does not fit a float");
  EXPECT_EQ(table_of("1,1e-60,1e-45\n").number, (Floats{0, std::numeric_limits<float>::denorm_min()}));
}

TEST(Csv, WordsOfTargetsHaveOneSpelling) {
  const CsvTable table = table_of("1,0\n1.0,0\n+1,0\n1e0,0\n16777217,0\n-0,0\n");
  EXPECT_EQ(texts_of(table.target[0].words), (Texts{"1", "1", "1", "1", "16777217", "0"}));
}

TEST(Csv, TooManyWordsAreNoClasses) {
  std::string text;
  for (int i = 0; i <= 65536; ++i) text += fmt::format("{},1\n", i);
  const CsvTable table = table_of(text);
  EXPECT_TRUE(table.target[0].many);
  EXPECT_EQ(table.target[0].number.size(), 65537u);
  EXPECT_EQ(table.target[0].number[65536], 65536);
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
  const auto read = [](const std::filesystem::path& path) {
    return read_csv([&] { return Source(path); }, {TableOptions()}, target_at("1"), {});
  };
  const CsvTable table = read(directory / "rows.csv.gz");
  ASSERT_EQ(table.rows(), 50000u);
  EXPECT_EQ(table.number[49999], 349993);
  const std::string packed = file_content(directory / "rows.csv.gz");
  const auto half = put_file(directory / "half.csv.gz", packed.substr(0, packed.size() / 2));
  EXPECT_EQ(error_of([&] { read(half); }), half.string() + ": the gzip data ends too early");
}

TEST(Csv, AFileCutWithinARowIsRefused) {
  EXPECT_EQ(refusal("1,2,3\n1,2,3\n1,2"), "file:3: 2 columns, but line 1 has 3");
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
  EXPECT_TRUE(table_of(text).number == expected);
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
  read_csv([&] { return in_memory(text); }, {TableOptions()}, target_at("1"), observer);
  ASSERT_GE(done.size(), 3U);
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
  EXPECT_EQ(done.back(), 800000);

  std::stop_source stop;
  int blocks = 0;
  observer = {.progress = [&](const Progress&) { ++blocks, stop.request_stop(); }, .stop = stop.get_token()};
  EXPECT_THROW(read_csv([&] { return in_memory(text); }, {TableOptions()}, target_at("1"), observer),
               Cancelled);
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
    const auto labels =
        *rc::gen::nonEmpty(rc::gen::container<std::vector<Index>>(rc::gen::inRange<Index>(-3, 70000)));
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
    Texts expected;
    for (const Index label : labels) expected.push_back(std::to_string(label));
    RC_ASSERT(table.numbers == features);
    RC_ASSERT(texts_of(table.target[0].words) == expected);
    RC_ASSERT(table.line == lines);
    RC_ASSERT(table.number == values);
    RC_ASSERT(table.header.names.size() == (header ? features + 1 : 0));
  }));
}

}  // namespace
}  // namespace filigree::internal
