// SPDX-License-Identifier: Apache-2.0
// Scanning lines of numbers at memory speed: the usual line takes a short fast path, every other one the
// careful parser.
#pragma once

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "filigree/vocabulary.h"
#include "io/source.h"

namespace filigree::internal {

// Cuts a source into blocks of whole lines.
class LineBlocks {
 public:
  static constexpr std::size_t kSlack =
      24;  // bytes behind a block that may be read, though they mean nothing

  // A line may be as long as a block, or as `longest_line`.
  explicit LineBlocks(Source& source, std::size_t longest_line = 0);
  // The next lines; the block ends with '\n' even if the file does not, and is empty after the last line.
  // `lines_before` is for the message about a line that fits no block.
  std::string_view next(Offset lines_before);
  // After the last block: the file ended in the middle of a line, as one does that was cut off.
  bool cut_off() const { return cut_off_; }

 private:
  Source& source_;
  std::size_t longest_line_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // bytes read but not yet handed out
  bool at_end_ = false, cut_off_ = false;
};

// What a 1-based number in a line means and how far it may go.
struct NumberField {
  std::string_view name;  // "input"
  Index max = 0;
  std::string limit;  // "the network has 1024 neurons", said when the number is above max
};

struct EntryFormat {
  NumberField first, second;
  std::string_view value;  // "weight"
};

struct Entry {
  Index first = 0, second = 0;  // 1-based
  float value = 0;
  std::string_view tail;  // of the line, from the end of the first number to the newline inclusive
};

// Up to the first newline inclusive; there is one.
std::string_view first_line(std::string_view lines);

bool is_blank(std::string_view line);
std::vector<std::string_view> split_fields(std::string_view line);

// The careful parsers. A line includes its newline. They throw "name:line: …".
Index parse_number(std::string_view text, const NumberField& field, const std::string& name, Offset line);
Entry parse_entry(std::string_view text, const EntryFormat& format, const std::string& name, Offset line);

// After the first blank line only blank ones may follow: `rest` of the block, then all other blocks.
void expect_blank_rest(LineBlocks& blocks, std::string_view rest, const std::string& name, Offset blank_line);

[[noreturn]] void fail_empty(const std::string& name);

// What followed the first number on an earlier line, up to its newline: files repeat one weight for ever, and
// the official ones one second number for many lines. Three 8-byte words are compared.
class RepeatedTail {
 public:
  void remember(std::string_view text, Index second, float value) {  // kSlack bytes may be read at text
    if (text.size() > kBytes) return;
    size_ = text.size();
    second_ = second;
    value_ = value;
    std::memcpy(bytes_, text.data(), kBytes);
    std::memset(mask_, 0, kBytes);
    std::memset(mask_, 0xff, size_);
  }
  bool matches(const char* text) const {
    std::uint64_t words[3] = {};
    std::memcpy(words, text, kBytes);
    const std::uint64_t difference = ((words[0] ^ bytes_[0]) & mask_[0]) |
                                     ((words[1] ^ bytes_[1]) & mask_[1]) |
                                     ((words[2] ^ bytes_[2]) & mask_[2]);
    return difference == 0 && size_ != 0;
  }
  std::size_t size() const { return size_; }
  Index second() const { return second_; }
  float value() const { return value_; }

 private:
  // "\t65536\t6.250000e-02\n", the longest official tail, has 20.
  static constexpr std::size_t kBytes = LineBlocks::kSlack;
  std::uint64_t bytes_[3] = {}, mask_[3] = {};
  std::size_t size_ = 0;
  Index second_ = 0;
  float value_ = 0;
};

// Reads the digits at `cursor`, all eight bytes of a word at once; true if they are a number from 1 to max of
// at most seven digits. Longer ones are for the careful parser.
inline bool scan_number(const char*& cursor, Index max, Index& number) {
  static_assert(std::endian::native == std::endian::little);
  std::uint64_t word = 0;
  std::memcpy(&word, cursor, 8);
  word ^= 0x3030303030303030U;  // digits become 0 … 9, everything else more
  const std::uint64_t others = ((word + 0x7676767676767676U) | word) & 0x8080808080808080U;
  const int digits = std::countr_zero(others) / 8;
  if (digits == 0 || digits == 8) return false;
  word <<= 64 - 8 * digits;        // as if zeros stood in front
  word = word * 10 + (word >> 8);  // pairs, in every other byte
  constexpr std::uint64_t kPairs = 0x000000ff000000ffU;
  word = ((word & kPairs) * (100 + (std::uint64_t{1000000} << 32)) +
          ((word >> 16) & kPairs) * (1 + (std::uint64_t{10000} << 32))) >>
         32;
  number = word;
  cursor += digits;
  return number >= 1 && number <= max;
}

// Reads a plain finite value that its newline follows at once.
inline bool scan_value(const char*& cursor, const char* end, float& value) {
  const auto [stop, status] = std::from_chars(cursor, end, value);
  if (status != std::errc() || stop == end || *stop != '\n' || !std::isfinite(value)) return false;
  cursor = stop + 1;
  return true;
}

// "file:311: the file ends in the middle of this line"
[[noreturn]] void fail_cut_off(const std::string& name, Offset line);

// Calls take(first, second, value) for each line; returns how many there were. Entry k stands on line k + 1,
// because blank lines may stand at the end only.
template <typename Take>
Offset scan_entries(Source& source, const EntryFormat& format, Take&& take) {
  LineBlocks blocks(source);
  RepeatedTail repeated;
  const Index first_max = format.first.max, second_max = format.second.max;
  Offset lines = 0;
  for (std::string_view block = blocks.next(0); !block.empty(); block = blocks.next(lines)) {
    const char* cursor = block.data();
    const char* const end = cursor + block.size();
    while (cursor != end) {
      const char* at = cursor;
      Index first = 0, second = 0;
      float value = 0;
      if (scan_number(at, first_max, first)) {
        if (repeated.matches(at)) {
          cursor = at + repeated.size();
          ++lines;
          take(first, repeated.second(), repeated.value());
          continue;
        }
        const char* const tail = at;
        if (*at == '\t' && scan_number(++at, second_max, second) && *at == '\t' &&
            scan_value(++at, end, value)) {
          repeated.remember(std::string_view(tail, at - tail), second, value);
          cursor = at;
          ++lines;
          take(first, second, value);
          continue;
        }
      }
      const std::string_view line = first_line(std::string_view(cursor, end - cursor));
      cursor += line.size();
      if (is_blank(line)) {
        expect_blank_rest(blocks, std::string_view(cursor, end - cursor), source.name(), lines + 1);
        break;
      }
      const Entry entry = parse_entry(line, format, source.name(), ++lines);
      repeated.remember(entry.tail, entry.second, entry.value);
      take(entry.first, entry.second, entry.value);
    }
  }
  if (lines == 0) fail_empty(source.name());
  if (blocks.cut_off()) fail_cut_off(source.name(), lines);
  return lines;
}

}  // namespace filigree::internal
