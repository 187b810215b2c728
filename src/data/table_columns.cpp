// SPDX-License-Identifier: Apache-2.0
#include "data/table_columns.h"

#include <algorithm>
#include <charconv>

#include <fmt/ranges.h>

#include "base/error.h"
#include "io/json_value.h"
#include "io/message_text.h"

namespace filigree::internal {

namespace {

// * stands for any number of letters, ? for one.
bool matches(std::string_view pattern, std::string_view name) {
  std::size_t p = 0, n = 0, star = std::string_view::npos, after = 0;
  while (n < name.size()) {
    if (p < pattern.size() && (pattern[p] == name[n] || pattern[p] == '?')) {
      ++p, ++n;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      after = n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++after;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::vector<std::string> split_list(const std::string& list) {
  std::vector<std::string> items;
  if (list.empty()) return items;
  items.emplace_back();
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i] == '\\' && i + 1 < list.size() && list[i + 1] == ',')
      items.back() += list[++i];
    else if (list[i] == ',')
      items.emplace_back();
    else
      items.back() += list[i];
  }
  return items;
}

std::optional<std::size_t> column_number(std::string_view text) {
  std::size_t number = 0;
  const auto [stop, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return number;
}

// The columns that one item of a list means.
std::vector<std::size_t> select_one(const std::string& item, const CsvHeader& header, const char* what) {
  const std::string place = fmt::format("{}:{}", header.file, header.line);
  if (std::ranges::count(header.names, item) > 1)
    fail("{}: {} columns are called {}", place, std::ranges::count(header.names, item), in_quotes(item));
  if (const auto found = std::ranges::find(header.names, item); found != header.names.end())
    return {static_cast<std::size_t>(found - header.names.begin())};
  if (const auto number = column_number(item)) {
    if (*number == 0) fail("{} column 0, but columns are counted from 1", what);
    if (*number > header.columns)
      fail("{}: {} columns, but the {} is to be column {}", place, header.columns, what, *number);
    return {*number - 1};
  }
  if (header.names.empty())
    fail("{}: no header, so there is no column {} to take the {} from", place, in_quotes(item), what);
  std::vector<std::size_t> found;
  for (std::size_t c = 0; c < header.names.size(); ++c)
    if (item.find_first_of("*?") != std::string::npos && matches(item, header.names[c])) found.push_back(c);
  if (found.empty())
    fail("{}: no column is called {}; the header begins {}", place, in_quotes(item),
         in_quotes(fmt::format("{}", fmt::join(header.names, ","))));
  return found;
}

bool holds(const std::vector<std::size_t>& list, std::size_t column) {
  return std::ranges::find(list, column) != list.end();
}

}  // namespace

std::vector<std::size_t> select_columns(const std::string& list, const CsvHeader& header, const char* what) {
  std::vector<std::size_t> columns;
  for (const std::string& item : split_list(list))
    for (const std::size_t column : select_one(item, header, what))
      if (!holds(columns, column)) columns.push_back(column);
  return columns;
}

std::vector<std::string> listed_names(const std::string& list) {
  std::vector<std::string> names;
  for (std::string& item : split_list(list))
    if (!item.empty() && !is_number(item)) names.push_back(std::move(item));
  return names;
}

ColumnRoles choose_roles(const CsvHeader& header, const DataOptions& options) {
  const TableOptions& table = options.table;
  const std::string place = fmt::format("{}:{}", header.file, header.line);
  if (header.columns < 2) fail("{}: one column, but a row has a label and at least one feature", place);
  ColumnRoles roles;
  roles.targets_said = !options.label_column.empty();
  roles.targets = options.label_column.empty() ? std::vector<std::size_t>{0}
                                               : select_columns(options.label_column, header, "label");
  const std::vector<std::size_t> weight = select_columns(table.weight_column, header, "weight");
  if (weight.size() > 1) fail("{}: {} columns of weights, but there may be one", place, weight.size());
  if (!weight.empty()) roles.weight = weight.front();
  const std::vector<std::size_t> dropped = select_columns(table.drop_columns, header, "dropped column");
  for (const std::size_t target : roles.targets) {
    if (holds(dropped, target))
      fail_for("drop_columns", "{}: {} is the label, and to be left out", place, header.column(target));
    if (roles.weight == target)
      fail_for("weight_column", "{}: {} is the label, and the weight", place, header.column(target));
  }
  for (std::size_t c = 0; c < header.columns; ++c)
    if (!holds(roles.targets, c) && !holds(dropped, c) && roles.weight != c) roles.features.push_back(c);
  if (roles.features.empty()) fail("{}: no column is left to learn from", place);
  return roles;
}

std::vector<ColumnUse> uses_of(const CsvHeader& header, const ColumnRoles& roles,
                               const DataOptions& options) {
  std::vector<ColumnUse> uses(header.columns, ColumnUse::skip);
  for (const std::size_t c : roles.features) uses[c] = ColumnUse::feature;
  for (const std::size_t c : select_columns(options.table.text_columns, header, "text column"))
    if (uses[c] == ColumnUse::feature) uses[c] = ColumnUse::text;
  for (const std::size_t c : roles.targets) uses[c] = ColumnUse::target;
  if (roles.weight) uses[*roles.weight] = ColumnUse::number;
  return uses;
}

namespace {

// The columns that `names` mean, as model files have names: what is not UTF-8 is mended.
std::vector<std::size_t> find_named(const std::vector<std::string>& names, const CsvHeader& header,
                                    const std::string& whose) {
  std::vector<std::size_t> columns;
  std::vector<std::string> missing;
  for (const std::string& name : names) {
    const std::string wanted = json_text(name, true);
    const auto is_wanted = [&](const std::string& given) { return json_text(given, true) == wanted; };
    if (std::ranges::count_if(header.names, is_wanted) > 1)
      fail("{}: two columns are called {}", header.file, in_quotes(name));
    const auto found = std::ranges::find_if(header.names, is_wanted);
    if (found == header.names.end())
      missing.push_back(in_quotes(name));
    else
      columns.push_back(found - header.names.begin());
  }
  constexpr std::size_t kShown = 8;
  const std::size_t more = missing.size() - std::min(missing.size(), kShown);
  missing.resize(std::min(missing.size(), kShown));
  if (!missing.empty())
    fail("{}: no column is called {}{}, {}", header.file, fmt::join(missing, " or "),
         more == 0 ? "" : fmt::format(" or one of {} more", more), whose);
  return columns;
}

std::vector<std::string> names_of(const std::vector<InputColumn>& inputs) {
  std::vector<std::string> names;
  for (const InputColumn& each : inputs) names.push_back(each.name);
  return names;
}

std::string or_file(const KnownColumns& known, const char* network) {
  return known.file.empty() ? network : fmt::format("which {} has", known.file);
}

}  // namespace

ColumnRoles match_roles(const CsvHeader& header, const KnownColumns& known, const DataOptions& options,
                        bool targets) {
  ColumnRoles roles;
  const bool by_name = known.named && !header.names.empty();
  if (by_name)
    roles.features =
        find_named(names_of(known.inputs), header, or_file(known, "which the network was trained on"));
  const bool can_find = by_name && !known.targets.empty();
  if (!options.label_column.empty())
    roles.targets = select_columns(options.label_column, header, "label");
  else if (targets && can_find)
    roles.targets =
        find_named(known.targets, header, or_file(known, "which the network was trained to tell"));
  else if (targets)
    roles.targets = {0};
  if (!by_name) {
    for (std::size_t c = 0; c < header.columns; ++c)
      if (!holds(roles.targets, c)) roles.features.push_back(c);
    const std::size_t given = roles.features.size(), wanted = known.inputs.size();
    const std::string there = fmt::format("{}: rows of {} values, but {} has {} inputs", header.file, given,
                                          known.file.empty() ? "the network" : known.file, wanted);
    if (given == wanted + 1)
      fail_for("label_column", "{}: is one of them the label, which is to be left out?", there);
    if (given != wanted) fail("{}", there);
  }
  if (by_name)
    for (std::size_t c = 0; c < header.columns; ++c)
      if (!holds(roles.features, c) && !holds(roles.targets, c) &&
          std::ranges::find(known.targets, header.names[c]) == known.targets.end())
        roles.unknown.push_back(c);
  if (!targets) roles.targets.clear();
  return roles;
}

void warn_of_unknown(const CsvHeader& header, const ColumnRoles& roles, const Observer& observer) {
  constexpr std::size_t kShown = 8;
  if (roles.unknown.empty()) return;
  std::vector<std::string> names;
  for (const std::size_t c : std::span(roles.unknown).first(std::min(kShown, roles.unknown.size())))
    names.push_back(in_quotes(header.names[c]));
  const std::size_t more = roles.unknown.size() - names.size();
  observer.warn(fmt::format("{}: the network does not know {}{}, which {} left out", header.file,
                            fmt::join(names, ", "), more == 0 ? "" : fmt::format(" and {} more", more),
                            roles.unknown.size() == 1 ? "is" : "are"));
}

std::vector<ColumnUse> uses_of(const CsvHeader& header, const ColumnRoles& roles, const KnownColumns& known) {
  std::vector<ColumnUse> uses(header.columns, ColumnUse::skip);
  for (std::size_t i = 0; i < roles.features.size(); ++i)
    uses[roles.features[i]] = known.inputs[i].text ? ColumnUse::text : ColumnUse::number;
  for (const std::size_t c : roles.targets) uses[c] = ColumnUse::target;
  if (roles.weight) uses[*roles.weight] = ColumnUse::number;
  return uses;
}

}  // namespace filigree::internal
