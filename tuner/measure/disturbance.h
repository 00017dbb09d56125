// What kept the threads of this process from their cores while a call was timed.
#pragma once

#include <cstdint>

namespace mdh {

// A call during which no thread lost its core tells how fast a kernel is; of any other one the time
// also tells how busy the machine was. Threads that wait actively, as those of a kernel do, leave
// their cores only to others: then every switch counts as a disturbance. In calls of a
// millisecond or more there is always some work of the system, and what counts is how long threads
// stood in the queues of cores. Where the system does not say that (no
// /proc/self/task/*/schedstat), switches alone count.
class DisturbanceWatch {
 public:
  // From now on. `expected_ns`: how long what is timed will take, as far as one knows.
  void Begin(int64_t expected_ns);
  // Whether something that has taken `duration_ns` since Begin was disturbed.
  bool WasDisturbed(int64_t duration_ns) const;

 private:
  int64_t switches_ = 0;
  int64_t waited_ns_ = 0;  // kUnknown: not looked at
};

// Involuntary context switches of all threads of this process.
int64_t InvoluntarySwitches();
// Nanoseconds that the threads of this process that are alive have spent in the queues of cores,
// ready to run; -1: the system does not say.
int64_t NanosecondsInQueues();

}  // namespace mdh
