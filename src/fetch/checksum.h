// SPDX-License-Identifier: Apache-2.0
// Checksums of what a file holds.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "filigree/vocabulary.h"

namespace filigree::internal {

enum class Hash { md5, sha256 };

// "MD5", "SHA-256"
std::string name_of(Hash hash);

// Of the contents, decompressed: the same however a mirror compressed them. Lower-case hexadecimal. Reads to
// the end, so gzip's and zstd's own checks are made as well.
std::string checksum_of_contents(const std::filesystem::path& path, Hash hash, const Observer& observer = {});

}  // namespace filigree::internal
