// SPDX-License-Identifier: Apache-2.0
#include "device/test_cuda.h"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace filigree::internal::emulated {

namespace {

constexpr int kUnset = 0xff;

std::string text(Where where) {
  const std::string_view file = where.file;
  return std::string(file.substr(file.find_last_of('/') + 1)) + ":" + std::to_string(where.line);
}

// A barrier that knows who waits where. Once something is wrong it throws out everybody who comes or waits.
class Barrier {
 public:
  Barrier(std::string name, unsigned threads) : name_(std::move(name)), threads_(threads) {}

  // The last one to come does `last` before anybody goes on.
  template <typename Last>
  void wait(Where where, const Last& last) {
    std::uint64_t round = 0;
    {
      const std::scoped_lock lock(mutex_);
      if (broken_) throw EmulatedFault(fault_);
      if (left_ > 0)
        fail_with("waits at " + text(where) + " for " + std::to_string(left_) +
                  " threads that have left the kernel");
      if (waiting_ > 0 && (where.line != where_.line || std::string_view(where.file) != where_.file))
        fail_with("waits at " + text(where_) + " and at " + text(where));
      where_ = where;
      round = round_;
      if (++waiting_ == threads_) {
        last();
        waiting_ = 0;
        ++round_;
        round_.notify_all();
        return;
      }
    }
    round_.wait(round);  // without the lock: thirty-two that wake up do not queue for it
    if (broken_) {
      const std::scoped_lock lock(mutex_);
      if (broken_at_ == round) throw EmulatedFault(fault_);
    }
  }

  // Everybody who comes or waits is thrown out.
  void abandon(const std::string& why) {
    const std::scoped_lock lock(mutex_);
    set_fault(why);
  }

  // A thread's end of the kernel.
  void leave() {
    const std::scoped_lock lock(mutex_);
    ++left_;
    if (waiting_ > 0)
      set_fault(divergent("waits at " + text(where_) + " for " + std::to_string(left_) +
                          " threads that have left the kernel"));
  }

 private:
  std::string divergent(const std::string& what) const {
    return name_ + " " + what + ": a barrier in divergent code";
  }
  void set_fault(const std::string& what) {
    if (broken_) return;
    fault_ = what;
    broken_at_ = round_;
    broken_ = true;
    ++round_;
    round_.notify_all();
  }
  [[noreturn]] void fail_with(const std::string& what) {
    set_fault(divergent(what));
    throw EmulatedFault(fault_);
  }

  std::string name_;
  unsigned threads_, waiting_ = 0, left_ = 0;
  std::atomic<std::uint64_t> round_ = 0;
  std::atomic<bool> broken_ = false;
  std::uint64_t broken_at_ = 0;  // those who wait in this round are thrown out
  Where where_ = {};
  std::string fault_;
  std::mutex mutex_;
};

struct Warp {
  explicit Warp(unsigned lanes) : barrier("a warp", lanes) {}
  Barrier barrier;
  std::uint64_t word[2][32] = {};  // two in turn: nobody writes what somebody still reads
};

// The block that is running.
struct Block {
  explicit Block(unsigned threads) : barrier("a block", threads), lanes(threads) {
    for (unsigned first = 0; first < threads; first += 32)
      warps.push_back(std::make_unique<Warp>(std::min(32u, threads - first)));
  }
  Barrier barrier;
  unsigned lanes;
  std::vector<std::unique_ptr<Warp>> warps;
};

class Grid;
thread_local Grid* grid = nullptr;
thread_local Block* block = nullptr;
thread_local std::size_t block_number = 0;
thread_local unsigned linear = 0, turn = 0;

struct Region {
  void* memory;
  std::size_t bytes;
};
std::mutex registry_mutex;
std::vector<Region>& shared_regions() {
  static std::vector<Region> regions;
  return regions;
}

struct Allocation {
  std::size_t bytes = 0;
  bool on_device = false;
};
std::map<void*, Allocation>& allocations() {
  static std::map<void*, Allocation> all;
  return all;
}

// One grid, with threads that stay. They go through its blocks one after the other; where these share no
// memory, no thread waits for the others before the next block.
class Grid {
 public:
  Grid(const LaunchShape& shape, const std::function<void()>& thread)
      : shape_(shape),
        thread_(thread),
        threads_(shape.block.x * shape.block.y * shape.block.z),
        blocks_(std::size_t{shape.grid.x} * shape.grid.y * shape.grid.z),
        between_("a grid", threads_) {}

  void run() {
    poison();
    std::vector<std::thread> running;
    running.reserve(threads_);
    for (unsigned t = 0; t < threads_; ++t) running.emplace_back([this, t] { run_thread(t); });
    for (std::thread& each : running) each.join();
    if (fault_) std::rethrow_exception(fault_);
  }

  void touch_shared(std::size_t at) {
    if (at == 0)
      shares_ = true;
    else if (!shares_)
      throw EmulatedFault("a kernel whose first block shares no memory, but a later one does");
  }

 private:
  struct Running {
    std::unique_ptr<Block> block;
    unsigned left = 0;
  };

  static void poison() {
    const std::scoped_lock lock(registry_mutex);
    for (const Region& region : shared_regions()) std::memset(region.memory, kUnset, region.bytes);
  }

  Block* enter(std::size_t at) {
    const std::scoped_lock lock(mutex_);
    if (fault_ && at > 0) return nullptr;  // the first is everybody's: all wait behind it
    Running& here = running_[at];
    if (here.block == nullptr) here.block = std::make_unique<Block>(threads_);
    return here.block.get();
  }
  void leave(std::size_t at) {
    const std::scoped_lock lock(mutex_);
    if (++running_[at].left == threads_) running_.erase(at);
  }

  // Threads that are ahead of this one wait for nothing any more.
  void fail(std::exception_ptr fault) {
    const std::scoped_lock lock(mutex_);
    if (!fault_) fault_ = std::move(fault);
    if (shares_) return;  // all are in this block, and all leave it
    for (auto& [at, here] : running_) {
      here.block->barrier.abandon("a thread has failed");
      for (const auto& warp : here.block->warps) warp->barrier.abandon("a thread has failed");
    }
  }

  void run_thread(unsigned t) {
    for (std::size_t at = 0; at < blocks_; ++at) {
      const auto number = static_cast<unsigned>(at);
      grid = this;
      block = enter(at);
      if (block == nullptr) return;
      block_number = at;
      linear = t;
      turn = 0;
      gridDim = shape_.grid;
      blockDim = shape_.block;
      blockIdx = {number % gridDim.x, number / gridDim.x % gridDim.y, number / (gridDim.x * gridDim.y)};
      threadIdx = {t % blockDim.x, t / blockDim.x % blockDim.y, t / (blockDim.x * blockDim.y)};
      try {
        thread_();
      } catch (...) {
        fail(std::current_exception());
      }
      block->barrier.leave();
      block->warps[t / 32]->barrier.leave();
      leave(at);
      if (at == 0 || shares_) between_.wait({"", 0}, poison);
    }
  }

  const LaunchShape& shape_;
  const std::function<void()>& thread_;
  unsigned threads_;
  std::size_t blocks_;
  std::atomic<bool> shares_ = false;
  std::map<std::size_t, Running> running_;
  std::mutex mutex_;
  std::exception_ptr fault_;
  Barrier between_;
};

}  // namespace

SharedMemory::SharedMemory(void* memory, std::size_t bytes) {
  const std::scoped_lock lock(registry_mutex);
  shared_regions().push_back({memory, bytes});
  std::memset(memory, kUnset, bytes);  // the first block of all is under way already
}

void touch_shared() {
  grid->touch_shared(block_number);
}

void sync_block(Where where) {
  block->barrier.wait(where, [] {});
}

unsigned lane() {
  return linear % 32;
}

void sync_warp(Where where) {
  block->warps[linear / 32]->barrier.wait(where, [] {});
}

const std::uint64_t* exchange(std::uint64_t word, Where where) {
  Warp& warp = *block->warps[linear / 32];
  std::uint64_t* words = warp.word[turn++ % 2];
  words[lane()] = word;
  warp.barrier.wait(where, [] {});
  return words;
}

void run_grid(const LaunchShape& shape, const std::function<void()>& thread) {
  const unsigned threads = shape.block.x * shape.block.y * shape.block.z;
  if (threads == 0 || threads > 1024 || shape.grid.y > 65535 || shape.grid.z > 65535 ||
      shape.grid.x * shape.grid.y * shape.grid.z == 0)
    throw EmulatedFault("a launch of " + std::to_string(shape.grid.x) + " × " + std::to_string(shape.grid.y) +
                        " × " + std::to_string(shape.grid.z) + " blocks of " + std::to_string(threads) +
                        " threads");
  Grid(shape, thread).run();
}

class Event {
 public:
  cudaStream_t stream = nullptr;
  std::size_t upto = 0;  // works of that stream before it
};

class Stream {
 public:
  void add(std::function<void()> work) { works_.push_back(std::move(work)); }
  std::size_t added() const { return done_ + works_.size(); }
  // Everything before number `upto`.
  void run(std::size_t upto) {
    while (done_ < upto && !works_.empty()) {
      const std::function<void()> work = std::move(works_.front());
      works_.pop_front();
      ++done_;
      work();
    }
  }

 private:
  std::deque<std::function<void()>> works_;
  std::size_t done_ = 0;
};

namespace {

std::vector<cudaStream_t>& streams() {
  static std::vector<cudaStream_t> all;
  return all;
}

cudaStream_t known(cudaStream_t stream) {
  if (std::ranges::count(streams(), stream) == 0)
    throw EmulatedFault(stream == nullptr ? "the default stream waits for all others: use one of your own"
                                          : "a stream that does not exist");
  return stream;
}

}  // namespace

void enqueue(cudaStream_t stream, std::function<void()> work) {
  known(stream)->add(std::move(work));
}

}  // namespace filigree::internal::emulated

using filigree::internal::EmulatedFault;
namespace emulated = filigree::internal::emulated;

// NOLINTBEGIN: CUDA's names.
namespace {

// A number of FILIGREE_EMULATED.
std::size_t setting(const char* name, std::size_t otherwise) {
  const char* all = std::getenv("FILIGREE_EMULATED");
  if (all == nullptr) return otherwise;
  const std::string text = all, key = std::string(name) + "=";
  const std::size_t at = text.find(key);
  return at == std::string::npos ? otherwise : std::stoull(text.substr(at + key.size()));
}

std::size_t allocated = 0;

}  // namespace

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInsufficientDriver:
      return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorNoDevice:
      return "no CUDA-capable device is detected";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorNotReady:
      return "device not ready";
  }
  return "unknown error";
}
cudaError_t cudaGetLastError() {
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {  // as CUDA does, it leaves the count alone where it fails
  if (setting("driver", 1) == 0) return cudaErrorInsufficientDriver;
  const std::size_t devices = setting("devices", 1);
  if (devices == 0) return cudaErrorNoDevice;
  *count = devices;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  return device >= 0 && static_cast<std::size_t>(device) < setting("devices", 1) ? cudaSuccess
                                                                                 : cudaErrorInvalidValue;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  *properties = {};
  std::strcpy(properties->name, "emulated");
  properties->multiProcessorCount = 1;
  return cudaSetDevice(device);
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *total = setting("memory", std::size_t{1} << 30);
  *free = *total > allocated ? *total - allocated : 0;
  return cudaSuccess;
}
namespace {

cudaError_t allocate(void** memory, std::size_t bytes, bool on_device) {
  std::size_t free = 0, total = 0;
  cudaMemGetInfo(&free, &total);
  if (on_device && bytes > free) return cudaErrorMemoryAllocation;
  *memory = std::malloc(bytes);
  if (*memory == nullptr && bytes > 0) return cudaErrorMemoryAllocation;
  std::memset(*memory, emulated::kUnset, bytes);
  emulated::allocations()[*memory] = {bytes, on_device};
  if (on_device) allocated += bytes;
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  return allocate(memory, bytes, true);
}
cudaError_t cudaMallocHost(void** memory, std::size_t bytes) {
  return allocate(memory, bytes, false);
}
cudaError_t cudaFree(void* memory) {
  if (memory == nullptr) return cudaSuccess;
  cudaDeviceSynchronize();  // as it does
  const auto found = emulated::allocations().find(memory);
  if (found == emulated::allocations().end()) throw EmulatedFault("memory is freed that is not allocated");
  std::memset(memory, emulated::kUnset, found->second.bytes);
  if (found->second.on_device) allocated -= found->second.bytes;
  emulated::allocations().erase(found);
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* memory) {
  return cudaFree(memory);
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  *stream = new emulated::Stream;
  emulated::streams().push_back(*stream);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  cudaStreamSynchronize(stream);
  std::erase(emulated::streams(), stream);
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  emulated::known(stream)->run(~std::size_t{0});
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  for (const cudaStream_t stream : emulated::streams()) cudaStreamSynchronize(stream);
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = new emulated::Event;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  *event = {};
  event->stream = emulated::known(stream);
  event->upto = stream->added();
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (event->stream != nullptr) emulated::known(event->stream)->run(event->upto);
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const emulated::Event now = *event;  // what is recorded later does not count
  emulated::enqueue(stream, [now] {
    if (now.stream != nullptr) now.stream->run(now.upto);
  });
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  // Whoever reads the target before it has waited for the stream is to notice.
  if (kind == cudaMemcpyDeviceToHost) std::memset(to, emulated::kUnset, bytes);
  emulated::enqueue(stream, [=] { std::memcpy(to, from, bytes); });
  return cudaSuccess;
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream) {
  for (std::size_t r = 0; r < height; ++r)
    cudaMemcpyAsync(static_cast<char*>(to) + r * to_pitch, static_cast<const char*>(from) + r * from_pitch,
                    width, kind, stream);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream) {
  emulated::enqueue(stream, [=] { std::memset(memory, value, bytes); });
  return cudaSuccess;
}
// NOLINTEND
