// SPDX-License-Identifier: Apache-2.0
// Replays the fuzzing corpus, so that the ordinary and the sanitizer builds run every input that ever
// mattered.
#include "io/test_files.h"

#ifdef FILIGREE_FUZZ_CORPUS
#include "fuzz/targets.h"
#endif

namespace filigree::internal {
namespace {

#ifdef FILIGREE_FUZZ_CORPUS

void replay(std::string_view target, void (*run)(std::span<const std::byte>)) {
  int files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(FILIGREE_FUZZ_CORPUS) / target)) {
    const std::string bytes = file_content(entry.path());
    EXPECT_NO_THROW(run(std::as_bytes(std::span(bytes)))) << entry.path();
    ++files;
  }
  EXPECT_GT(files, 0) << target;
}

TEST(FuzzCorpus, LayersAreReadOrRefused) {
  replay("layer_tsv", fuzz::layer_tsv);
}
TEST(FuzzCorpus, ImagesAreReadOrRefused) {
  replay("images_tsv", fuzz::images_tsv);
}
TEST(FuzzCorpus, IdxFilesAreReadOrRefused) {
  replay("idx", fuzz::idx);
}
TEST(FuzzCorpus, CsvFilesAreReadOrRefused) {
  replay("csv", fuzz::csv);
}
TEST(FuzzCorpus, TablesAreLearnedFromOrRefused) {
  replay("table", fuzz::table);
}
TEST(FuzzCorpus, LibsvmFilesAreReadOrRefused) {
  replay("libsvm", fuzz::libsvm);
}
TEST(FuzzCorpus, NpyFilesAreReadOrRefused) {
  replay("npy", fuzz::npy);
}
TEST(FuzzCorpus, NpzFilesAreReadOrRefused) {
  replay("npz", fuzz::npz);
}
TEST(FuzzCorpus, CheckpointsAreReadOrRefused) {
  replay("checkpoint", fuzz::checkpoint);
}
TEST(FuzzCorpus, SafetensorsAreReadOrRefused) {
  replay("safetensors", fuzz::safetensors);
}
TEST(FuzzCorpus, ModelsAreReadOrRefused) {
  replay("model", fuzz::model);
}
TEST(FuzzCorpus, ModelsOfOthersAreReadOrRefused) {
  replay("onnx", fuzz::onnx);
  replay("state_dict", fuzz::state_dict);
  replay("matrix_market", fuzz::matrix_market);
  replay("npz_matrix", fuzz::npz_matrix);
}
TEST(FuzzCorpus, ConfigurationsAreReadOrRefused) {
  replay("config", fuzz::config);
}

#else

TEST(FuzzCorpus, IsReplayed) {
  GTEST_SKIP() << "built without FILIGREE_FUZZ_CORPUS, the directory of the corpus";
}

#endif

}  // namespace
}  // namespace filigree::internal
