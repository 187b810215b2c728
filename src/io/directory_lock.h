// SPDX-License-Identifier: Apache-2.0
// A directory that one process at a time works in.
#pragma once

#include <filesystem>
#include <memory>

namespace filigree::internal {

class DirectoryLock;

// Held until the last copy goes; the same process may take it again. Throws Error that names the process that
// holds it. A file system without locks gives none.
std::shared_ptr<const DirectoryLock> lock_directory(const std::filesystem::path& directory);

// Throws Error if a run of any kind was begun in the directory, or a model lies there: nothing of either is
// ever written over. To be asked while the lock is held.
void require_no_run(const std::filesystem::path& directory);

}  // namespace filigree::internal
