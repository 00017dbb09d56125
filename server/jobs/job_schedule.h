// Which job goes next, and on which devices.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace mdh {

class TuningDevice;

// A job that waits.
struct WaitingJob {
  int64_t number = 0;
  std::string source;                  // who asked for it
  std::vector<TuningDevice*> devices;  // that it may run on
  int priority = 0;                    // among the jobs of its source
};

// Sources take turns, and each has its jobs done in the order of their priorities, the largest
// first, and among equal ones of their numbers.
class Turns {
 public:
  // A job of `source` has begun.
  void Take(const std::string& source);
  // Positions in `jobs`, the job whose turn is next first: that of the source that has waited
  // longest for a turn; among those that never had one, of the oldest job.
  std::vector<size_t> Order(absl::Span<const WaitingJob> jobs) const;

 private:
  int64_t clock_ = 0;
  std::map<std::string, int64_t> last_;  // source -> when it began a job
};

struct Assignment {
  size_t job = 0;                      // position among those that wait
  std::vector<TuningDevice*> devices;  // at least one
};

// The first job in the order of turns that has a free device, with its share of the free devices:
// all of them, or if other jobs wait for the same ones, as many as each of these can have (at least
// one); rather those that fewer others can use. nullopt if no job can begin.
std::optional<Assignment> NextAssignment(absl::Span<const WaitingJob> jobs, const Turns& turns,
                                         absl::Span<TuningDevice* const> free);

}  // namespace mdh
