// Progress of a job on standard error: a bar on a terminal, a line now and then elsewhere.
#pragma once

#include <cstdint>
#include <string>

#include "mdh/v1/tuning.pb.h"

namespace mdh {

// One line without its end, e.g. "[#####.....] 50 %  120 trials (3 failed)  best 1.23 ms  30.0 s
// left"; what the job does ("reference") unless it measures kernels. What does not fit into so many
// columns is left out: failures, then the bar, then all but the share and the best; what is left is
// cut.
std::string FormatProgress(const v1::TuningProgress& progress, int columns = 1'000);

// Not thread-safe.
class ProgressDisplay {
 public:
  explicit ProgressDisplay(bool is_terminal) : is_terminal_(is_terminal) {}

  void Show(const v1::TuningProgress& progress);
  // A line of anything else, at the current time.
  void ShowLine(const std::string& line);
  // Ends the bar's line.
  void Finish();

 private:
  int columns() const;
  void ShowAt(int64_t time_ns, const std::string& line);

  const bool is_terminal_;
  int64_t shown_at_ns_ = -1;  // of the latest line
  bool line_is_open_ = false;
};

}  // namespace mdh
