// Where the process of a kernel puts copies of its outputs for the parent to judge.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "core/base/status.h"
#include "tuner/measure/trial/guarded_memory.h"

namespace mdh {

// Shared memory for the outputs' accessible bytes after two calls.
struct OutputCopies {
  std::vector<GuardedMemory> first;  // by output
  std::vector<GuardedMemory> last;
};

// Keeps the copies from one run to the next: that the system clears their pages takes several times
// as long as copying does. Not thread-safe.
class KeptCopies {
 public:
  // Copies for outputs of that many accessible bytes: the kept ones, if they are as large and
  // nothing else refers to them, else new ones, which are kept. Their contents are of no meaning.
  // Errors: ResourceExhausted.
  Result<std::shared_ptr<const OutputCopies>> Get(absl::Span<const int64_t> sizes);
  void Drop() { kept_.reset(); }

 private:
  std::shared_ptr<const OutputCopies> kept_;
};

}  // namespace mdh
