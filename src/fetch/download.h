// SPDX-License-Identifier: Apache-2.0
// Files from the network, over HTTP and HTTPS: resumed where they were cut off, checked before they appear.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "fetch/checksum.h"
#include "filigree/vocabulary.h"

namespace filigree::internal {

// What a file must be once it is complete.
struct Expected {
  std::uint64_t bytes = 0;                      // as transferred; 0: not known
  std::uint64_t most = std::uint64_t{1} << 30;  // bytes that are taken at the most, where it is not known
  Hash hash = Hash::md5;
  std::string checksum = {};  // of the contents, see checksum_of_contents; empty: not known
};

// What is wrong with a file: "its MD5 is … instead of …". Empty: nothing.
std::string fault_of(const std::filesystem::path& path, const Expected& expected,
                     const Observer& observer = {});

struct DownloadTimes {
  long connect = 20;      // seconds to reach the server
  long stalled = 30;      // seconds without a byte before giving up
  long total = 600;       // seconds for one file, besides those that its bytes take at `slowest`
  long slowest = 50'000;  // bytes a second
};

// Fetches from the first of the `urls` that works. The bytes gather in PATH.part, which a stop, a lost
// connection or a full disk leaves for the next call to go on from; checked, synced, it becomes PATH.
// Contents that are wrong are deleted. Throws Error with URLs and numbers, Cancelled after a stop.
void download(std::span<const std::string> urls, const std::filesystem::path& path, const Expected& expected,
              const Observer& observer = {}, const DownloadTimes& times = {});

}  // namespace filigree::internal
