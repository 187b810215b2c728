// SPDX-License-Identifier: Apache-2.0
// Checksums by OpenSSL, over the bytes that a Source gives.
#include "fetch/checksum.h"

#include <openssl/evp.h>

#include <memory>
#include <new>
#include <span>
#include <vector>

#include "base/error.h"
#include "io/source.h"

namespace filigree::internal {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 20;

struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

}  // namespace

std::string name_of(Hash hash) {
  return hash == Hash::md5 ? "MD5" : "SHA-256";
}

std::string checksum_of_contents(const std::filesystem::path& path, Hash hash, const Observer& observer) {
  const std::unique_ptr<EVP_MD_CTX, FreeContext> context(EVP_MD_CTX_new());
  if (context == nullptr) throw std::bad_alloc();
  if (EVP_DigestInit_ex(context.get(), hash == Hash::md5 ? EVP_md5() : EVP_sha256(), nullptr) != 1)
    fail("{}: this machine's OpenSSL refuses {}", path.string(), name_of(hash));
  Source source(path);
  const std::string stage = "checking " + path.filename().string();
  const double total = source.size().value_or(0);
  std::vector<std::byte> chunk(kChunk);
  double done = 0;
  for (std::size_t got = kChunk; got == kChunk;) {
    observer.check_stop();
    got = source.read(chunk);
    EVP_DigestUpdate(context.get(), chunk.data(), got);
    done += got;
    if (total > 0) observer.report(stage, done, total, "bytes");
  }
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  if (EVP_DigestFinal_ex(context.get(), digest, &size) != 1)
    fail("{}: OpenSSL could not finish the {}", path.string(), name_of(hash));
  std::string text;
  for (const unsigned char byte : std::span(digest, size)) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace filigree::internal
