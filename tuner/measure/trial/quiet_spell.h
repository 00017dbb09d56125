// The part of a candidate's run in which nothing else should work on the machine.
#pragma once

#include <functional>

#include "absl/types/span.h"
#include "tuner/process/file_descriptor.h"

namespace mdh {

// What else goes on while a candidate runs, but stands still while the kernel is called, which is
// only a part of the run. `advance` may be called at any time; after `pause`, `resume` follows,
// however the run ends.
struct OtherWork {
  std::function<void()> advance = [] {};
  std::function<void()> pause = [] {};
  std::function<void()> resume = [] {};
};

// The parent's side of a run. Before its first call the child says that it is ready and waits for
// an answer, and after its last call it says so. A kernel that says something itself only disturbs
// its own measurement. Not thread-safe.
class QuietSpell {
 public:
  QuietSpell(FileDescriptor socket, const OtherWork& other_work);
  ~QuietSpell();
  QuietSpell(const QuietSpell&) = delete;
  QuietSpell& operator=(const QuietSpell&) = delete;

  // What to wait for: nothing any more when all has been said.
  absl::Span<const int> sockets() const;
  // Acts on what the child has said, if anything. Does not wait.
  void Hear();

 private:
  enum class Phase { kBefore, kQuiet, kAfter };
  void End();

  const FileDescriptor socket_;
  const int fd_;
  const OtherWork& other_work_;
  Phase phase_ = Phase::kBefore;
};

// In the child, over kChildSocket. Returns when it is quiet; false if the parent is gone, or has
// heard something else before.
bool AwaitQuiet();
// Calls are over.
void EndQuiet();

}  // namespace mdh
