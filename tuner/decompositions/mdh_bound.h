// The design bound as searches ask for it: of codes of parameters that are open.
#pragma once

#include <vector>

#include "codegen/bounds/design_bound.h"
#include "tuner/decompositions/mdh_space.h"
#include "tuner/space/cost_bound.h"
#include "tuner/space/partial_configuration.h"

namespace mdh {

// What a bound is made of besides a space.
struct BoundFacts {
  DeviceDescription device;  // that the rates are of
  DeviceRates rates;
  BoundQuestion question;
};

// In nanoseconds. Immutable.
class MdhBound : public CostBound {
 public:
  // `computation`: whose space it is, before dimensions are fused.
  MdhBound(MdhSpace space, const Expression& computation, const BoundFacts& facts);

  double Of(OpenCodes open) const override;
  // Floors of both, the largest first: those of the whole problem, too.
  ProblemBound Explain(OpenCodes open) const;
  // Of any kernel for the computation.
  double problem_ns() const { return problem_.time_ns(); }

 private:
  MdhSpace space_;
  DesignBound design_;
  ProblemBound problem_;
};

// The codes that remain, by parameter.
std::vector<std::vector<int64_t>> RemainingCodes(const PartialConfiguration& partial);

}  // namespace mdh
