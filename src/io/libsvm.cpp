// SPDX-License-Identifier: Apache-2.0
// Reads LIBSVM's sparse rows: the usual entry at once, every other one in steps that say what is wrong.
#include "io/libsvm.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "io/message_text.h"
#include "io/row_store.h"

namespace filigree::internal {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

struct SparseEntry {
  Index feature = 0;  // counted from 1
  float value = 0;
};

// Takes the first word off `text`; empty at its end.
std::string_view next_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(kSpace));
  text.remove_prefix(word.size());
  return word;
}

bool scan_entry(std::string_view word, SparseEntry& entry) {
  const char* const end = word.data() + word.size();
  const auto feature = std::from_chars(word.data(), end, entry.feature);
  if (feature.ec != std::errc() || feature.ptr == end || *feature.ptr != ':') return false;
  const auto value = std::from_chars(feature.ptr + 1, end, entry.value);
  return value.ec == std::errc() && value.ptr == end && std::isfinite(entry.value);
}

SparseEntry parse_entry(std::string_view word, const std::string& name, Offset line) {
  const std::size_t colon = word.find(':');
  const std::string_view number = word.substr(0, colon);
  const char* const end = number.data() + number.size();
  SparseEntry entry;
  const auto [stop, status] = std::from_chars(number.data(), end, entry.feature);
  if (colon == std::string_view::npos || status == std::errc::invalid_argument || stop != end) {
    fail("{}:{}: {} where feature:value is due", name, line, in_quotes(word));
  }
  if (status == std::errc::result_out_of_range) {
    fail("{}:{}: feature {}, but the largest is {}", name, line, number.substr(0, kShownBytes),
         std::numeric_limits<Index>::max());
  }
  entry.value = parse_feature(word.substr(colon + 1), {name, line, "feature", entry.feature});
  return entry;
}

double row_label(std::string_view word, const std::string& name, Offset line) {
  if (word.find(':') != std::string_view::npos) {
    fail("{}:{}: begins with {} where the label is due", name, line, in_quotes(word));
  }
  if (word.find(',') != std::string_view::npos) {
    fail("{}:{}: labels {}, but a row has one label here", name, line, in_quotes(word));
  }
  return parse_target(word, {name, line});
}

}  // namespace

LibsvmTable read_libsvm(Source source, const Observer& observer, std::uint64_t memory_limit) {
  WatchedBlocks blocks(source, observer);
  LibsvmTable table;
  RowStore<Index> columns(source.name(), memory_limit / 8);
  RowStore<float> values(source.name(), memory_limit / 8);
  Offset line = 0;
  for (std::string_view block = blocks.next(0); !block.empty(); block = blocks.next(line)) {
    const std::size_t kept = table.line.size() * 2 * sizeof(Offset) +
                             table.target.number.size() * sizeof(float) + table.target.words.bytes();
    if (kept > memory_limit / 2)
      fail_for("memory_limit",
               "{}:{}: {} rows take {} bytes besides their features, but the memory limit is {}",
               source.name(), line, table.line.size(), kept, memory_limit);
    while (!block.empty()) {
      ++line;
      std::string_view text = first_line(block);
      block.remove_prefix(text.size());
      text = text.substr(0, text.find('#'));
      std::string_view word = next_word(text);
      if (word.empty()) continue;
      if (table.line.size() == std::numeric_limits<Index>::max())
        fail("{}:{}: more than {} rows", source.name(), line, table.line.size());
      table.target.add_number(row_label(word, source.name(), line));
      table.line.push_back(line);
      Index last = 0;
      for (word = next_word(text); !word.empty(); word = next_word(text)) {
        SparseEntry entry;
        if (!scan_entry(word, entry)) entry = parse_entry(word, source.name(), line);
        if (entry.feature < 1) {
          fail("{}:{}: feature {}, but features are counted from 1", source.name(), line, entry.feature);
        }
        if (entry.feature <= last) {
          fail("{}:{}: feature {} after feature {}, but they must ascend", source.name(), line, entry.feature,
               last);
        }
        last = entry.feature;
        const Index column = entry.feature - 1;
        columns.append({&column, 1});
        values.append({&entry.value, 1});
      }
      table.features = std::max(table.features, last);
      table.row_begin.push_back(static_cast<Offset>(values.size()));
    }
  }
  if (table.line.empty()) fail_empty(source.name());
  table.column = columns.take();
  table.value = values.take();
  return table;
}

}  // namespace filigree::internal
