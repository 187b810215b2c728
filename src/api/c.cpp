// SPDX-License-Identifier: Apache-2.0
// The C interface: no exception leaves it, and each thread keeps the text of its last failure.
#include "filigree/c.h"

#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>

#include "filigree/plan.h"
#include "filigree/version.h"

struct filigree_plan {
  filigree::Plan plan;
};

namespace {

// Of fixed size: where memory has run out, there is none for a message either.
thread_local char last_error[1024] = "";

template <typename Result, typename Work>
Result guarded(Result failed, const Work& work) noexcept {
  const auto keep = [](const char* text) {
    std::strncpy(last_error, text, sizeof last_error - 1);
    last_error[sizeof last_error - 1] = '\0';
  };
  try {
    return work();
  } catch (const std::bad_alloc&) {
    keep("out of memory");
  } catch (const std::exception& error) {
    keep(error.what());
  } catch (...) {
    keep("an unknown failure");
  }
  return failed;
}

template <typename T>
int run(const filigree_plan* plan, const T* inputs, std::size_t rows, float* outputs) noexcept {
  return guarded(-1, [&] {
    if (plan == nullptr || (rows > 0 && (inputs == nullptr || outputs == nullptr)))
      throw std::invalid_argument("a null pointer in the place of a plan, inputs or outputs");
    const std::size_t columns = plan->plan.inputs();
    const std::size_t width = plan->plan.outputs();
    if (rows > std::numeric_limits<std::size_t>::max() / sizeof(float) / (columns + width + 1))
      throw std::invalid_argument("more rows than any memory holds");
    plan->plan.run(filigree::Rows(std::span(inputs, rows * columns), plan->plan.inputs()),
                   std::span(outputs, rows * width));
    return 0;
  });
}

}  // namespace

filigree_plan* filigree_load(const char* path) {
  return guarded<filigree_plan*>(nullptr, [&] {
    if (path == nullptr) throw std::invalid_argument("a null pointer in the place of a path");
    return new filigree_plan{filigree::compile(filigree::load(path))};
  });
}

void filigree_free(filigree_plan* plan) {
  delete plan;
}

size_t filigree_inputs(const filigree_plan* plan) {
  return plan == nullptr ? 0 : static_cast<std::size_t>(plan->plan.inputs());
}

size_t filigree_outputs(const filigree_plan* plan) {
  return plan == nullptr ? 0 : static_cast<std::size_t>(plan->plan.outputs());
}

int filigree_run(const filigree_plan* plan, const float* inputs, size_t rows, float* outputs) {
  return run(plan, inputs, rows, outputs);
}

int filigree_run_bytes(const filigree_plan* plan, const uint8_t* inputs, size_t rows, float* outputs) {
  return run(plan, inputs, rows, outputs);
}

const char* filigree_error() {
  return last_error;
}

const char* filigree_version_text() {
  return FILIGREE_VERSION;
}
