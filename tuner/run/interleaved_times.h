// Times of several kernels that are measured in turns, round by round, and when that is enough.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tuner/measure/results/measurement.h"

namespace mdh {

// Others on the machine only ever make calls longer, and rarely all of them: a time is believed
// when several rounds have reached it. Not thread-safe.
class InterleavedTimes {
 public:
  // Rounds whose fastest calls agree within kAgreement settle a kernel's time.
  static constexpr size_t kAgreeing = 3;
  static constexpr double kAgreement = 1.03;
  // Nothing is settled before so many rounds.
  static constexpr size_t kLeastRounds = 3;

  // `search_ns`: of each kernel the fastest call that is known from before, 0 if there is none.
  explicit InterleavedTimes(std::vector<int64_t> search_ns);

  // A kernel that fails in one round has failed.
  void AddRound(size_t kernel, const Measurement& round);

  // The kernels that the next round is for, in order; none: all is known that matters. That is the
  // time of the fastest one, and that the others are slower or take as long.
  std::vector<size_t> Open() const;
  // Of the calls in the rounds that agree. Without such rounds those calls that took about as long
  // as the fastest one, as the others tell more of the machine: marked as disturbed, as it is if
  // the search or any round has seen a much shorter time. Without a round: cancelled.
  Measurement Final(size_t kernel) const;
  // Whether it was faster than the other one, by a tenth, in so many more turns than it was not
  // that it is no accident; with few turns in all of them. Turns that are known to be disturbed say
  // nothing: what others do all the time lengthens both, but a kernel that uses fewer cores less.
  bool IsClearlyFaster(size_t kernel, size_t other) const;

  size_t size() const { return kernels_.size(); }

 private:
  struct Round {
    int64_t fastest_ns;
    int64_t median_ns;
    bool is_disturbed;  // in every call
    std::vector<int64_t> times_ns;

    // Neither disturbed nor of calls that differ much: however well the fastest calls of other
    // rounds agree, they settle nothing.
    bool counts() const;
  };
  struct Kernel {
    int64_t search_ns;
    Measurement latest = {};         // for all that is not times; of a failure
    std::vector<Round> rounds = {};  // of the turns from the first one on: who is left out stays so

    bool has_failed() const { return latest.outcome != TrialOutcome::kOk; }
    // The least that kAgreeing rounds have reached; 0: there is none.
    int64_t settled_ns() const;
    bool is_settled() const;
    // Even in the luckiest call.
    int64_t fastest_ns() const;
  };

  // The least settled time; 0: none is settled.
  int64_t LeastSettled() const;

  std::vector<Kernel> kernels_;
};

}  // namespace mdh
