// Bounds of the configurations of one expression against measurements.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "codegen/program/kernel.h"
#include "tests/bounds/bound_check.h"
#include "tuner/decompositions/mdh_bound.h"
#include "tuner/decompositions/mdh_estimate.h"
#include "tuner/measure/runner.h"

namespace mdh {

// Several may measure at the same time what is far from its bound; what is near is measured alone.
class ExpressionCheck {
 public:
  // `number`: of the expression, which is drawn by the options' seed and that. `measuring`: held
  // by whoever measures, alone or with others. All must outlive this.
  ExpressionCheck(const BoundCheckOptions& options, int64_t number, const MachinePeaks& peaks,
                  Runner& runner, absl::Mutex& measuring,
                  const std::function<void(const std::string&)>& on_failure);

  // Errors: those of the runner, also that the time is over.
  Status Run(const std::function<bool()>& is_over);

  // What came of it so far; shares in the order of measurements.
  const BoundCheckReport& report() const { return report_; }
  // "matmul (number 3), 1e+06 points: 90 of 100 measured, bound / time 0.4 at most (10 timeout: it
  // was compiled for 3 s)"
  std::string Summary() const;

 private:
  struct Drawn {
    Configuration configuration;
    std::optional<Kernel> kernel;  // none: it cannot be generated
    Measurement measurement = {};
  };

  Status CheckRound(const std::function<bool()>& is_over);
  Status CheckSome(int count);
  Configuration Draw();
  // The configuration, and its kernel if one can be generated.
  Drawn DrawWithKernel();
  Configuration DrawDangerous();
  Status MeasureAll(std::vector<Drawn>& drawn);
  // Those of `drawn` that are asked for.
  Status Measure(std::vector<Drawn*> drawn, const MeasureOptions& options);
  bool IsNear(const Drawn& one) const;
  void Judge(const Drawn& one);
  void JudgeOrder(const Configuration& configuration, const std::vector<int>& order,
                  std::optional<double> time_ns);
  void JudgeDecisions(const Configuration& configuration, const std::vector<int>& order,
                      std::optional<double> time_ns);
  void JudgeStep(const Configuration& configuration, double before, double after,
                 std::optional<double> time_ns);
  void Fail(const Configuration& configuration, const std::string& why);

  const BoundCheckOptions& options_;
  const MachinePeaks& peaks_;
  Runner& runner_;
  absl::Mutex& measuring_;
  const std::function<void(const std::string&)>& on_failure_;
  Rng rng_;
  std::string name_;
  std::optional<Expression> expression_;
  std::optional<MdhSpace> space_;
  std::unique_ptr<MdhBound> bound_;
  std::shared_ptr<const CostEstimate> estimate_;  // nullptr: nothing is expected
  int64_t judged_ = 0;
  struct Nearest {
    Configuration configuration;  // empty: none was right
    double share = 0;             // bound / time
  } nearest_;
  std::map<std::string, int> unmeasured_;  // by why: how many
  BoundCheckReport report_;
};

}  // namespace mdh
