// SPDX-License-Identifier: Apache-2.0
// Byte sources: a raw input (file or memory), and a decoder in front of it when the first bytes ask for one.
#include "io/source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/system.h"

namespace filigree::internal {
namespace {

constexpr std::size_t kInputChunk = std::size_t{256} << 10;  // compressed bytes read at once; fits L2

// Where raw bytes come from. The first bytes can be looked at without being consumed.
class Input {
 public:
  virtual ~Input() = default;
  // Fills `out` as far as the input reaches.
  std::size_t read(std::span<std::byte> out) {
    std::size_t filled = std::min(out.size(), head_size_ - head_used_);
    std::copy_n(head_.begin() + static_cast<std::ptrdiff_t>(head_used_), filled, out.begin());
    head_used_ += filled;
    while (filled < out.size()) {
      const std::size_t got = read_some(out.subspan(filled));
      if (got == 0) break;
      filled += got;
    }
    return filled;
  }
  bool begins_with(std::span<const unsigned char> magic) {
    while (head_size_ < magic.size()) {
      const std::size_t got = read_some(std::span(head_).first(magic.size()).subspan(head_size_));
      if (got == 0) return false;
      head_size_ += got;
    }
    return std::memcmp(head_.data(), magic.data(), magic.size()) == 0;
  }
  virtual std::optional<std::uint64_t> size() const = 0;
  virtual void forget() const {}

 protected:
  virtual std::size_t read_some(std::span<std::byte> out) = 0;  // 0 at the end only

 private:
  std::array<std::byte, 4> head_ = {};
  std::size_t head_size_ = 0, head_used_ = 0;
};

class FileInput final : public Input {
 public:
  explicit FileInput(std::string name) : name_(std::move(name)) {
    file_ = ::open(name_.c_str(), O_RDONLY | O_CLOEXEC);
    if (file_ < 0) fail("{}: {}", name_, system_message(errno));
    struct stat status = {};
    if (::fstat(file_, &status) == 0 && S_ISREG(status.st_mode)) {
      size_ = static_cast<std::uint64_t>(status.st_size);
    }
  }
  FileInput(const FileInput&) = delete;
  FileInput& operator=(const FileInput&) = delete;
  ~FileInput() override { ::close(file_); }
  std::optional<std::uint64_t> size() const override { return size_; }
  void forget() const override { ::posix_fadvise(file_, 0, 0, POSIX_FADV_DONTNEED); }

 private:
  std::size_t read_some(std::span<std::byte> out) override {
    for (;;) {
      const ssize_t got = ::read(file_, out.data(), out.size());
      if (got >= 0) return got;
      if (errno != EINTR) fail("{}: {}", name_, system_message(errno));
    }
  }
  std::string name_;
  int file_ = -1;
  std::optional<std::uint64_t> size_;
};

class MemoryInput final : public Input {
 public:
  explicit MemoryInput(std::span<const std::byte> bytes) : left_(bytes), size_(bytes.size()) {}
  std::optional<std::uint64_t> size() const override { return size_; }

 private:
  std::size_t read_some(std::span<std::byte> out) override {
    const std::size_t got = std::min(out.size(), left_.size());
    std::copy_n(left_.begin(), got, out.begin());
    left_ = left_.subspan(got);
    return got;
  }
  std::span<const std::byte> left_;
  std::uint64_t size_;
};

class Decoder {
 public:
  virtual ~Decoder() = default;
  virtual std::size_t read(std::span<std::byte> out) = 0;  // as Source::read
};

class PlainDecoder final : public Decoder {
 public:
  explicit PlainDecoder(Input& input) : input_(input) {}
  std::size_t read(std::span<std::byte> out) override { return input_.read(out); }

 private:
  Input& input_;
};

class GzipDecoder final : public Decoder {
 public:
  GzipDecoder(Input& input, const std::string& name) : input_(input), name_(name), chunk_(kInputChunk) {
    if (inflateInit2(&stream_, 15 + 16) != Z_OK) throw std::bad_alloc();  // 15: largest window, 16: gzip
  }
  GzipDecoder(const GzipDecoder&) = delete;
  GzipDecoder& operator=(const GzipDecoder&) = delete;
  ~GzipDecoder() override { inflateEnd(&stream_); }

  std::size_t read(std::span<std::byte> out) override {
    std::size_t filled = 0;
    while (filled < out.size()) {
      if (stream_.avail_in == 0) refill();
      if (member_ended_) {
        // Tapes and some tools fill up with zeros behind the last member.
        while (stream_.avail_in > 0 && *stream_.next_in == 0) {
          ++stream_.next_in;
          if (--stream_.avail_in == 0) refill();
        }
        if (stream_.avail_in == 0) break;
        inflateReset(&stream_);  // a gzip file may be several, one after another
        member_ended_ = false;
      }
      const std::size_t room = std::min<std::size_t>(out.size() - filled, std::numeric_limits<uInt>::max());
      stream_.next_out = reinterpret_cast<Bytef*>(out.data() + filled);
      stream_.avail_out = room;
      const int status = inflate(&stream_, Z_NO_FLUSH);
      filled += room - stream_.avail_out;
      if (status == Z_STREAM_END) {
        member_ended_ = true;
      } else if (status == Z_BUF_ERROR || (status == Z_OK && stream_.avail_in == 0 && at_end_)) {
        if (stream_.avail_out != 0) fail("{}: the gzip data ends too early", name_);
      } else if (status == Z_MEM_ERROR) {
        throw std::bad_alloc();
      } else if (status != Z_OK) {
        fail("{}: corrupt gzip data: {}", name_, stream_.msg != nullptr ? stream_.msg : "unknown reason");
      }
    }
    return filled;
  }

 private:
  void refill() {
    const std::size_t got = at_end_ ? 0 : input_.read(chunk_);
    at_end_ = got < chunk_.size();
    stream_.next_in = reinterpret_cast<Bytef*>(chunk_.data());
    stream_.avail_in = got;
  }
  Input& input_;
  const std::string& name_;
  std::vector<std::byte> chunk_;
  z_stream stream_ = {};
  bool member_ended_ = false;
  bool at_end_ = false;  // of the input
};

class ZstdDecoder final : public Decoder {
 public:
  ZstdDecoder(Input& input, const std::string& name)
      : input_(input), name_(name), chunk_(kInputChunk), stream_(ZSTD_createDStream()) {
    if (stream_ == nullptr) throw std::bad_alloc();
  }
  ZstdDecoder(const ZstdDecoder&) = delete;
  ZstdDecoder& operator=(const ZstdDecoder&) = delete;
  ~ZstdDecoder() override { ZSTD_freeDStream(stream_); }

  std::size_t read(std::span<std::byte> out) override {
    ZSTD_outBuffer output = {out.data(), out.size(), 0};
    while (output.pos < output.size) {
      if (compressed_.pos == compressed_.size) {
        compressed_ = {chunk_.data(), input_.read(chunk_), 0};
        if (compressed_.size == 0 && frame_ended_) break;
      }
      const std::size_t before = output.pos;
      const std::size_t status = ZSTD_decompressStream(stream_, &output, &compressed_);
      if (ZSTD_isError(status) != 0) fail("{}: corrupt zstd data: {}", name_, ZSTD_getErrorName(status));
      if (compressed_.size == 0 && output.pos == before) fail("{}: the zstd data ends too early", name_);
      frame_ended_ = status == 0;
    }
    return output.pos;
  }

 private:
  Input& input_;
  const std::string& name_;
  std::vector<std::byte> chunk_;
  ZSTD_inBuffer compressed_ = {};
  ZSTD_DStream* stream_;
  bool frame_ended_ = false;
};

}  // namespace

struct Source::State {
  State(std::string source_name, std::unique_ptr<Input> source_input)
      : name(std::move(source_name)), input(std::move(source_input)) {
    if (input->begins_with(std::array<unsigned char, 2>{0x1f, 0x8b})) {
      decoder = std::make_unique<GzipDecoder>(*input, name);
    } else if (input->begins_with(std::array<unsigned char, 4>{0x28, 0xb5, 0x2f, 0xfd})) {
      decoder = std::make_unique<ZstdDecoder>(*input, name);
    } else {
      decoder = std::make_unique<PlainDecoder>(*input);
      size = input->size();
    }
  }

  [[noreturn]] void refuse(std::uint64_t bytes) const {
    fail_for("memory_limit", "{}: holds {} bytes{}, but the memory limit is {}", name, bytes,
             size ? "" : " or more", most);
  }

  std::string name;
  std::unique_ptr<Input> input;
  std::unique_ptr<Decoder> decoder;
  std::optional<std::uint64_t> size;
  std::uint64_t most = kNoLimit;
  std::uint64_t given = 0;
};

Source::Source(const std::filesystem::path& path, std::uint64_t most)
    : state_(std::make_unique<State>(path.string(), std::make_unique<FileInput>(path.string()))) {
  state_->most = most;
  if (state_->size && *state_->size > state_->most) state_->refuse(*state_->size);
}

Source::Source(std::span<const std::byte> bytes, std::string name, std::uint64_t most)
    : state_(std::make_unique<State>(std::move(name), std::make_unique<MemoryInput>(bytes))) {
  state_->most = most;
}

Source::Source(Source&&) noexcept = default;
Source& Source::operator=(Source&&) noexcept = default;
Source::~Source() = default;

const std::string& Source::name() const {
  return state_->name;
}

std::size_t Source::read(std::span<std::byte> out) {
  const std::size_t got = state_->decoder->read(out);
  state_->given += got;
  if (state_->given > state_->most) state_->refuse(state_->given);
  return got;
}

void Source::read_exactly(std::span<std::byte> out, std::string_view what) {
  const std::size_t got = read(out);
  if (got < out.size()) {
    fail("{}: ends within {}: {} of {} bytes are there", name(), what, got, out.size());
  }
}

void Source::forget() const {
  state_->input->forget();
}

std::uint64_t Source::limit() const {
  return state_->most;
}

std::optional<std::uint64_t> Source::size() const {
  return state_->size;
}

std::span<std::byte> ByteString::grow(std::size_t size) {
  void* const grown = std::realloc(data_.get(), size);
  if (grown == nullptr) throw std::bad_alloc();
  (void)data_.release();
  data_.reset(static_cast<std::byte*>(grown));
  const std::size_t before = std::exchange(size_, size);
  return {data_.get() + before, size - before};
}

ByteString read_all(Source& source) {
  ByteString bytes;
  for (std::size_t size = 0;;) {
    std::uint64_t next = size + std::max<std::uint64_t>(size / 2, std::uint64_t{1} << 16);
    if (source.size()) next = std::max<std::uint64_t>(*source.size(), size) + 1;  // one more: the end is seen
    if (source.limit() != Source::kNoLimit)
      next = std::min(next, source.limit() + 1);  // reading it is an error
    const std::span<std::byte> room = bytes.grow(next);
    const std::size_t got = source.read(room);
    size += got;
    if (got < room.size()) {
      bytes.shrink(size);
      return bytes;
    }
  }
}

Source open_data(const std::string& file, std::uint64_t most) {
  if (file != "-" && file != "/dev/stdin") return Source(find_file(file).value_or(file), most);
  constexpr const char* kName = "standard input";
  static std::mutex mutex;
  static std::optional<ByteString> contents;
  const std::lock_guard lock(mutex);
  if (!contents) {
    Source source("/dev/stdin", most == Source::kNoLimit ? memory_limit_or_usual(0) : most);
    contents = read_all(source);
  }
  return Source(contents->view(), kName, most);
}

std::optional<std::filesystem::path> find_file(const std::filesystem::path& path) {
  for (const char* suffix : {"", ".gz", ".zst"}) {
    std::filesystem::path candidate = path;
    candidate += suffix;
    std::error_code ignored;  // a path that cannot be looked at is as good as absent
    if (std::filesystem::exists(candidate, ignored)) return candidate;
  }
  return std::nullopt;
}

std::string read_text(const std::filesystem::path& path, std::size_t most) {
  Source source(path);
  return read_text(source, most);
}

std::string read_text(Source& source, std::size_t most) {
  std::string text(most + 1, '\0');
  text.resize(source.read(std::as_writable_bytes(std::span(text))));
  if (text.size() > most) fail("{}: is longer than {} bytes", source.name(), most);
  return text;
}

}  // namespace filigree::internal
