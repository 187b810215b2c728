// SPDX-License-Identifier: Apache-2.0
// Tests of byte sources: formats by magic, multi-part files, truncation, damage.
#include "io/source.h"

#include "io/atomic_file.h"
#include "io/test_files.h"

namespace filigree::internal {
namespace {

// "alpha\nbeta\n", as `gzip -9n` and `zstd -19` of Debian 12 make it.
constexpr unsigned char kGzip[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x4b,
                                   0xcc, 0x29, 0xc8, 0x48, 0xe4, 0x4a, 0x4a, 0x2d, 0x49, 0xe4, 0x02,
                                   0x00, 0x6e, 0x50, 0x30, 0x6e, 0x0b, 0x00, 0x00, 0x00};
constexpr unsigned char kZstd[] = {0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x68, 0x59, 0x00, 0x00, 0x61, 0x6c, 0x70,
                                   0x68, 0x61, 0x0a, 0x62, 0x65, 0x74, 0x61, 0x0a, 0x74, 0x6c, 0x52, 0x07};

template <std::size_t size>
std::string text_of(const unsigned char (&bytes)[size]) {
  return {reinterpret_cast<const char*>(bytes), size};
}

TEST(Source, TellsTheFormatByTheFirstBytesNotByTheName) {
  const TestDirectory directory;
  EXPECT_EQ(all_of(Source(put_file(directory / "a.gz", "alpha\n"))), "alpha\n");
  EXPECT_EQ(all_of(Source(put_file(directory / "b.tsv", text_of(kGzip)))), "alpha\nbeta\n");
  EXPECT_EQ(all_of(Source(put_file(directory / "c.tsv", text_of(kZstd)))), "alpha\nbeta\n");
}

TEST(Source, GivesTheSameBytesWhateverTheStep) {
  for (const std::size_t step : {1, 2, 3, 5, 10, 11, 12}) {
    EXPECT_EQ(all_of(in_memory("alpha\nbeta\n"), step), "alpha\nbeta\n") << step;
    const std::string gzip = text_of(kGzip), zstd = text_of(kZstd);
    EXPECT_EQ(all_of(in_memory(gzip), step), "alpha\nbeta\n") << step;
    EXPECT_EQ(all_of(in_memory(zstd), step), "alpha\nbeta\n") << step;
  }
}

TEST(Source, ReadsFilesMadeOfSeveralCompressedParts) {
  const std::string gzip = text_of(kGzip) + text_of(kGzip), zstd = text_of(kZstd) + text_of(kZstd);
  EXPECT_EQ(all_of(in_memory(gzip)), "alpha\nbeta\nalpha\nbeta\n");
  EXPECT_EQ(all_of(in_memory(zstd), 1), "alpha\nbeta\nalpha\nbeta\n");
}

TEST(Source, PassesOverZerosBehindGzipData) {
  for (const std::size_t zeros : {1u, 7u, 100'000u}) {
    const std::string padded = text_of(kGzip) + std::string(zeros, '\0'), twice = padded + text_of(kGzip);
    EXPECT_EQ(all_of(in_memory(padded)), "alpha\nbeta\n");
    EXPECT_EQ(all_of(in_memory(twice)), "alpha\nbeta\nalpha\nbeta\n");
  }
}

TEST(Source, ReadsFilesLargerThanAnyChunk) {
  const TestDirectory directory;
  std::string text;
  for (int k = 0; text.size() < (std::size_t{3} << 20); ++k) text += std::to_string(k * 7919L);
  AtomicFile file(directory / "large.gz");
  file.write(text);
  file.commit();
  EXPECT_LT(std::filesystem::file_size(directory / "large.gz"), text.size());
  EXPECT_EQ(all_of(Source(directory / "large.gz"), std::size_t{1} << 20), text);
  EXPECT_EQ(all_of(Source(put_file(directory / "large", text)), std::size_t{1} << 20), text);
}

TEST(Source, EveryTruncationOfACompressedFileIsAnError) {
  for (const std::string& whole : {text_of(kGzip), text_of(kZstd)}) {
    for (std::size_t size = 4; size < whole.size(); ++size) {
      const std::string part = whole.substr(0, size);
      EXPECT_NE(error_of([&] { all_of(in_memory(part)); }).find("ends too early"), std::string::npos) << size;
    }
  }
}

TEST(Source, DamageIsAnError) {
  std::string gzip = text_of(kGzip);
  gzip[gzip.size() - 8] ^= 1;  // the checksum
  EXPECT_EQ(error_of([&] { all_of(in_memory(gzip)); }), "file: corrupt gzip data: incorrect data check");
  std::string zstd = text_of(kZstd);
  zstd.back() ^= 1;
  EXPECT_EQ(error_of([&] { all_of(in_memory(zstd)); }),
            "file: corrupt zstd data: Restored data doesn't match checksum");
  const std::string tail = text_of(kGzip) + "garbage";
  EXPECT_EQ(error_of([&] { all_of(in_memory(tail)); }), "file: corrupt gzip data: incorrect header check");
}

TEST(Source, SaysInTheSystemsWordsWhatCannotBeRead) {
  const TestDirectory directory;
  const std::string missing = (directory / "missing").string();
  EXPECT_EQ(error_of([&] { Source source(missing); }), missing + ": No such file or directory");
  EXPECT_EQ(error_of([&] { Source source(directory.path()); }),
            directory.path().string() + ": Is a directory");
}

TEST(Source, SaysWhenAFileMayNotBeRead) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const TestDirectory directory;
  const auto path = put_file(directory / "secret", "x");
  std::filesystem::permissions(path, std::filesystem::perms::none);
  EXPECT_EQ(error_of([&] { Source source(path); }), path.string() + ": Permission denied");
}

TEST(Source, KnowsTheSizeOfPlainContentsOnly) {
  const std::string gzip = text_of(kGzip);
  EXPECT_EQ(in_memory("alpha").size(), 5);
  EXPECT_EQ(in_memory(gzip).size(), std::nullopt);
  EXPECT_EQ(Source("/dev/null").size(), std::nullopt);
}

TEST(Source, ReadExactlyNamesWhatIsMissing) {
  std::byte bytes[8];
  EXPECT_EQ(error_of([&] { in_memory("abc").read_exactly(bytes, "the header"); }),
            "file: ends within the header: 3 of 8 bytes are there");
}

TEST(FindFile, PrefersThePlainFileThenGzipThenZstd) {
  const TestDirectory directory;
  EXPECT_EQ(find_file(directory / "a"), std::nullopt);
  put_file(directory / "a.zst", "");
  EXPECT_EQ(find_file(directory / "a"), directory / "a.zst");
  put_file(directory / "a.gz", "");
  EXPECT_EQ(find_file(directory / "a"), directory / "a.gz");
  put_file(directory / "a", "");
  EXPECT_EQ(find_file(directory / "a"), directory / "a");
}

}  // namespace
}  // namespace filigree::internal
