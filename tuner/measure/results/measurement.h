// What measuring one candidate gives.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mdh {

enum class TrialOutcome : uint8_t {
  kOk = 1,
  kCompileError = 2,
  kLaunchError = 3,  // loading or starting failed
  kTimeout = 4,
  kCrash = 5,           // a signal; writes to inputs and far out of bounds end here
  kOutOfBounds = 6,     // a guard zone was overwritten
  kWrongResult = 7,     // NaN included
  kOutOfResources = 8,  // the device has not enough memory, registers or threads for it, or it
                        // spills too many registers to be fast
  kImplausible = 9,     // faster than the device can be
};
std::string_view Name(TrialOutcome outcome);  // "ok", "compile error", ...

// What the results of a kernel were compared with. Whatever it is, guard zones were looked at.
enum class ResultCheck : uint8_t {
  kWhole = 0,    // every element with a reference
  kSamples = 1,  // some elements, where a whole reference would have taken too long
  kNothing = 2,  // not even one element can be computed again in the time that there was
};

struct Measurement {
  TrialOutcome outcome = TrialOutcome::kOk;
  std::string reason;  // for failures: one line for people
  // One per timed call, in order; of short kernels each is the mean of a batch of calls that were
  // timed together. Empty unless kOk.
  std::vector<int64_t> times_ns;
  int64_t compile_ns = 0;
  int64_t device_ns = 0;       // how long the device was occupied: loading, calls, checks
  int64_t calls_per_time = 1;  // calls in such a batch
  // Others kept the kernel from its cores, or the device was throttled, in every call that was
  // timed: times_ns say at most how fast it is.
  bool is_disturbed = false;
  // How fast the machine was, as the time of a kernel that is timed every few seconds, compared
  // with the shortest one since the problem was set: 1.1 is 10 % slower than it can be.
  double drift = 1;
  // What the device, or of a kernel that was not run the compiler, says that the compiled kernel
  // takes; 0: it says nothing.
  int registers_per_thread = 0;
  int64_t local_bytes_per_thread = 0;  // memory for registers that are spilled, and for arrays
  int64_t shared_bytes_per_block = 0;
  ResultCheck check = ResultCheck::kWhole;  // of a result that is right

  // Median of times_ns; 0 unless kOk.
  int64_t time_ns() const;
  // The 99 % confidence interval of the median, from order statistics alone (Hoefler and Belli,
  // rule 6); all of times_ns where they are too few for one. 0 and 0 unless kOk.
  struct Interval {
    int64_t low_ns = 0;
    int64_t high_ns = 0;
  };
  Interval interval() const;
};

// Of times in any order, of which there is at least one.
Measurement::Interval MedianInterval(std::vector<int64_t> times_ns);

}  // namespace mdh
