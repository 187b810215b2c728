// SPDX-License-Identifier: Apache-2.0
// Public data sets, fetched over the network, resumed where they were cut off, and checked. Any number of
// threads may fetch at the same time, into directories of their own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "filigree/vocabulary.h"

#pragma GCC visibility push(default)
namespace filigree {

struct FetchOptions {
  std::filesystem::path directory = {};  // made if it is not there; empty: data/NAME
  std::string mirror = {};               // http(s) address of the directory to fetch from; empty: built in
};

struct FetchedFile {
  std::filesystem::path path;
  std::uint64_t bytes = 0;
  bool already_there = false;  // and right
  std::string checked;         // "MD5 …", or what else vouches for it
};

struct FetchResult {
  std::vector<FetchedFile> files;
  std::string source;  // for DataOptions::source: "mnist:data/mnist"
};

// "mnist", "fashion" or "higgs". A file that is there and wrong is left as it is, and an Error: the sets
// share file names. Throws std::invalid_argument on another name, Cancelled after a stop; what came is kept.
FetchResult fetch(const std::string& name, const FetchOptions& options = {}, const Observer& observer = {});

}  // namespace filigree
#pragma GCC visibility pop
