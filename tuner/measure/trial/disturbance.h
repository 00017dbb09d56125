// What kept the threads of this process from their cores while a call was timed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mdh {

// Nanoseconds that the threads of this process that are alive have spent on cores and, ready to
// run, in the queues of cores.
struct ThreadTimes {
  int64_t running_ns = 0;
  int64_t queued_ns = 0;
};

// What the threads of a process do between two calls of a kernel.
enum class BetweenCalls {
  kSpin,   // they leave their cores only to others, as those of OpenMP: every switch tells of some
  kSleep,  // as those of OpenCL's drivers for CPUs, which wait a moment whenever they wake up
};

// A call during which no thread lost its core tells how fast a kernel is; of any other one the time
// also tells how busy the machine was. In calls of a millisecond or more there is always some work
// of the system, and what counts is how long threads stood in the queues of cores. Where the system
// does not say that (no /proc/self/task/*/schedstat), switches alone count; those of threads that
// sleep say nothing.
class DisturbanceWatch {
 public:
  explicit DisturbanceWatch(BetweenCalls threads = BetweenCalls::kSpin) : threads_(threads) {}
  // From now on. `expected_ns`: how long what is timed will take, as far as one knows.
  void Begin(int64_t expected_ns);
  // Whether something that has taken `duration_ns` since Begin was disturbed.
  bool WasDisturbed(int64_t duration_ns) const;

 private:
  BetweenCalls threads_;
  int64_t switches_ = 0;
  std::optional<ThreadTimes> begin_;  // nullopt: not looked at
};

// Nanoseconds of some cores of the machine, summed up.
struct CoreTimes {
  int64_t busy_ns = 0;  // of processes and interrupts
  int64_t idle_ns = 0;
  int64_t stolen_ns = 0;  // in which a hypervisor ran others
};

// Of those cores (numbers, ascending) in /proc/stat, whose text this is, in hundredths of a second
// or as long as a tick is. nullopt: it is another one, lacks one of them, or has no stolen time.
std::optional<CoreTimes> ParseCoreTimes(const std::string& proc_stat, const std::vector<int>& cores,
                                        int64_t ticks_per_second);

// The same for threads that sleep between calls, as those of OpenCL's drivers for CPUs do: their
// switches say nothing. They wait a moment for a core whenever they wake up, and beside others that
// compute they wait about as long as they run, or the work of one that waits is done by another.
class SharedCoresWatch {
 public:
  void Begin();
  // Whether since Begin the threads have stood in the queues of cores for a good part of the time
  // that they ran, or cores were hardly idle and others had a good part of one. False where the
  // system does not say that.
  bool WereShared() const;

 private:
  int64_t begin_ns_ = 0;
  int64_t own_ns_ = 0;
  std::vector<int> cores_;  // that this process may run on: others may be busy
  std::optional<ThreadTimes> begin_;
  std::optional<CoreTimes> of_cores_;
};

// Whether a hypervisor ran others on the cores of this machine, which its threads cannot see: their
// time goes on as if they ran.
class StolenTimeWatch {
 public:
  void Begin();
  // Whether more than a twentieth of the time of all cores was taken since Begin, as far as the
  // system says (proc(5), "steal"), which counts in hundredths of a second.
  bool WasStolen() const;

 private:
  int64_t begin_ns_ = 0;
  std::vector<int> cores_;  // that this process may run on
  std::optional<CoreTimes> begin_;
};

// Involuntary context switches of all threads of this process.
int64_t InvoluntarySwitches();
// nullopt: the system does not say.
std::optional<ThreadTimes> TimesOfThreads();

}  // namespace mdh
