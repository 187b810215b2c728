// SPDX-License-Identifier: Apache-2.0
// filigree data: a look at a table before anything is trained on it.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "cli/command.h"
#include "cli/help.h"
#include "cli/progress.h"

namespace filigree::cli {

namespace {

using Use = ColumnSummary::Use;

struct SummaryArguments {
  Common common;
  DataArguments data;
};

std::string percent(Offset part, Offset whole) {
  const double share = whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  if (part == 0) return "–";
  return share < 1 ? "< 1 %" : fmt::format("{:.0f} %", share);
}

// Six digits or more, and no exponent where people write none.
std::string number_text(double number) {
  const double magnitude = std::abs(number);
  return magnitude >= 1e5 && magnitude < 1e15 ? fmt::format("{:.0f}", number) : fmt::format("{:.6g}", number);
}

std::string kind_of(const ColumnSummary& column) {
  if (column.dates > 0 && 2 * column.dates > column.texts) return "dates";
  if (column.texts == 0) return column.numbers == 0 ? "nothing" : "numbers";
  if (column.numbers == 0) return "text";
  return column.texts > column.numbers ? "text" : "mixed";
}

std::string contents_of(const ColumnSummary& column, Offset rows) {
  constexpr std::size_t kShown = 4;
  constexpr Offset kFew = 10;
  const bool numbers = column.texts == 0;
  if (numbers && column.numbers == 0) return "";
  if (numbers && (column.different == 0 || column.different > kFew))
    return fmt::format("{} … {}, mean {}", number_text(column.least), number_text(column.most),
                       number_text(column.mean));
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, column.common.size()); ++i)
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", shown(column.common[i].first),
                        percent(column.common[i].second, rows));
  if (column.different == 0) return "more different texts than can be counted";
  if (column.different > static_cast<Offset>(kShown))
    text += fmt::format(", … ({} different)", with_commas(column.different));
  return text;
}

std::string use_of(const ColumnSummary& column, const DataSummary& summary) {
  switch (column.use) {
    case Use::target:
      return "target";
    case Use::weight:
      return "weight";
    case Use::left_out:
      return "left out";
    case Use::input:
      break;
  }
  if (column.inputs == 0) return summary.fault.empty() ? "" : "input";
  std::string text = column.inputs == 1 ? "1 input" : fmt::format("{} inputs", with_commas(column.inputs));
  if (column.missing > 0 && kind_of(column) == "numbers" && column.fill == column.fill)
    text += ", gaps " + number_text(column.fill);
  return text;
}

// Cut after so many letters, not bytes.
std::string shortened(const std::string& text, std::size_t letters) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) == 0x80) continue;
    if (++count > letters) return text.substr(0, i) + "…";
  }
  return text;
}

std::size_t letters_of(const std::string& text) {
  return std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
}

void print_columns(const DataSummary& summary) {
  constexpr std::size_t kColumns = 5, kLongestName = 24, kShownColumns = 200;
  using Row = std::array<std::string, kColumns>;
  std::vector<Row> rows = {{"column", "kind", "missing", "becomes", "contents"}};
  for (std::size_t c = 0; c < std::min(summary.columns.size(), kShownColumns); ++c) {
    const ColumnSummary& column = summary.columns[c];
    const std::string name = column.name.empty() ? std::to_string(c + 1) : shown(column.name);
    rows.push_back({shortened(name, kLongestName), kind_of(column), percent(column.missing, summary.rows),
                    use_of(column, summary), contents_of(column, summary.rows)});
  }
  std::array<std::size_t, kColumns> width = {};
  for (const Row& row : rows)
    for (std::size_t i = 0; i + 1 < kColumns; ++i) width[i] = std::max(width[i], letters_of(row[i]) + 2);
  const std::size_t before = width[0] + width[1] + width[2] + width[3];
  const std::size_t room = isatty(STDOUT_FILENO) == 1 ? static_cast<std::size_t>(terminal_width()) : 1000;
  fmt::print("\n");
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i + 1 < kColumns; ++i)
      line += row[i] + std::string(width[i] - letters_of(row[i]), ' ');
    line += room > before + 10 ? shortened(row[kColumns - 1], room - before - 2) : "";
    fmt::print("{}\n", line.substr(0, line.find_last_not_of(' ') + 1));
  }
  if (summary.columns.size() > kShownColumns)
    fmt::print("… and {} columns more\n", with_commas(std::ssize(summary.columns) - std::ssize(rows) + 1));
  fmt::print("\n");
}

std::string separator_text(char separator) {
  switch (separator) {
    case ',':
      return "commas";
    case ';':
      return "semicolons";
    case '\t':
      return "tabs";
    case '|':
      return "bars";
    default:
      return fmt::format("'{}'", shown({&separator, 1}));
  }
}

void print_summary(const Common& common, const DataSummary& summary, const std::string& source) {
  if (!summary.columns.empty()) {
    print_line(
        common, "table",
        fmt::format("{}: {} rows of {} columns between {}, {}", shown(source), with_commas(summary.rows),
                    with_commas(std::ssize(summary.columns)), separator_text(summary.separator),
                    summary.header ? "with a header" : "without a header"));
    if (!common.quiet) print_columns(summary);
  }
  if (summary.task) {
    print_line(common, "data", summary.description);
    print_line(common, "task", std::string(word(*summary.task)));
    if (summary.filled < 1)
      print_line(common, "rows",
                 fmt::format("sparse: {:.2g} % of their values are stored", 100 * summary.filled));
  }
  constexpr std::size_t kShownClasses = 20;
  std::string classes;
  for (std::size_t c = 0; c < std::min(summary.classes.size(), kShownClasses); ++c)
    classes += fmt::format("{}{} {}", c == 0 ? "" : ", ", shown(summary.classes[c].first),
                           percent(summary.classes[c].second, summary.rows));
  if (summary.classes.size() > kShownClasses) classes += fmt::format(", … ({})", summary.classes.size());
  if (!classes.empty()) print_line(common, "classes", classes);
  for (const std::string& note : summary.notes) print_line(common, "note", shown(note));
  if (!summary.fault.empty()) print_line(common, "not yet", shown(summary.fault));
}

nlohmann::json summary_json(const DataSummary& summary) {
  constexpr std::array<const char*, 4> kUses = {"input", "target", "weight", "left out"};
  const auto pairs = [](const std::vector<std::pair<std::string, Offset>>& list) {
    nlohmann::json result = nlohmann::json::array();
    for (const auto& [name, rows] : list) result.push_back({{"value", shown(name)}, {"rows", rows}});
    return result;
  };
  nlohmann::json columns = nlohmann::json::array();
  for (const ColumnSummary& each : summary.columns) {
    nlohmann::json column = {
        {"name", shown(each.name)},    {"use", kUses[static_cast<std::size_t>(each.use)]},
        {"kind", kind_of(each)},       {"numbers", each.numbers},
        {"texts", each.texts},         {"missing", each.missing},
        {"different", each.different}, {"common", pairs(each.common)},
        {"inputs", each.inputs}};
    if (each.numbers > 0) column.update({{"least", each.least}, {"mean", each.mean}, {"most", each.most}});
    columns.push_back(std::move(column));
  }
  return {{"rows", summary.rows},
          {"columns", columns},
          {"task", summary.task ? nlohmann::json(word(*summary.task)) : nlohmann::json()},
          {"inputs", summary.inputs},
          {"filled", summary.filled},
          {"classes", pairs(summary.classes)},
          {"notes", summary.notes},
          {"fault", summary.fault}};
}

int run_summary(SummaryArguments& arguments, const Context& context) {
  const Common& common = arguments.common;
  arguments.common.prepare();
  const DataOptions& options = arguments.data.options;
  const DataSummary summary = [&] {
    ProgressDisplay display(common.quiet);
    return summarize_data(options, display.observer(context.stop));
  }();
  print_summary(common, summary, options.source);
  common.write_json(summary_json(summary));
  if (summary.fault.empty()) return 0;
  complain("this data cannot be trained on as it is", advice(summary.fault_setting));
  return 1;
}

}  // namespace

Run add_data(CLI::App& command) {
  auto arguments = std::make_shared<SummaryArguments>();
  arguments->data.add_to(command, "data,--data")->required();
  add_examples(
      command,
      {{"filigree data people.csv", "look at a table; the first column is taken for what is to be learned"},
       {"filigree data people.csv --label-column income", "the column called income is"},
       {"filigree data people.csv --label-column price --drop-columns id,note* --json look.json",
        "leave columns out; write what was found as JSON"}});
  arguments->common.add_to(command);
  return [arguments](const Context& context) { return run_summary(*arguments, context); };
}

}  // namespace filigree::cli
