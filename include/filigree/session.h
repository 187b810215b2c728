// SPDX-License-Identifier: Apache-2.0
// Where work runs: on how many threads, on which device. Nothing here is set for the whole process.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "filigree/options.h"

#pragma GCC visibility push(default)
namespace filigree {

struct SessionOptions {
  int threads = 0;  // 0: every core the process may use; 4096 is the most
  Device device = Device::cpu;
  int gpus = 1;  // CUDA devices that share the work; 0: all there are
};

// A number of threads and a device. Copies share the threads, which start with the first loop that is worth
// sharing out, and end with the last copy. Sessions of different sizes may work side by side, and several
// threads may work in one session. A forked child gets threads of its own, but must not
// return into a call of filigree's that was running when it was forked.
class Session {
 public:
  Session();  // every core, and the CPU: what is used unless another session is
  // Throws std::invalid_argument on a number of threads that no machine has, Error if a CUDA device is asked
  // for and there is none; Device::automatic takes the CPU then, and remark() says why.
  explicit Session(const SessionOptions& options);

  int threads() const;
  std::string device_name() const;  // "cpu", or the name of the CUDA devices
  std::string remark() const;       // empty unless something is not as it was asked for

  // While a Use lives, work that the calling thread starts runs in its session; other threads are not
  // concerned. A plan runs in the session that it was compiled in, wherever it is run from. Uses are
  // destroyed by the thread that made them, the last one first.
  class [[nodiscard]] Use {
   public:
    explicit Use(const Session& session);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    std::shared_ptr<const void> session_;
    const void* before_;
  };
  static Session current();  // of the calling thread

  struct State;  // the library's own
  const State& state() const { return *state_; }

 private:
  explicit Session(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

struct DeviceInfo {
  std::string name;
  std::uint64_t memory_bytes = 0, free_bytes = 0;
  int processors = 0;
  std::string capability;  // "8.0"
};
// The CUDA devices there are. Throws Error that says why there are none and what to do about it.
std::vector<DeviceInfo> cuda_devices();

}  // namespace filigree
#pragma GCC visibility pop
