// Sums whose terms are scaled by a running maximum, as those of soft-max and attention: the algebra
// by which they can be computed chunk after chunk.
#pragma once

#include <optional>
#include <vector>

#include "core/base/status.h"
#include "core/pipeline/pipeline.h"
#include "core/pipeline/plan/joint_group.h"
#include "core/scalar/scalar_function.h"

namespace mdh {

// With M the maximum of x_j over all j, the sum of phi(x_j, M) * y_j can be carried through chunks
// of j although M is known at the end only: where phi(a, b) * phi(b, c) = phi(a, c), a sum that is
// scaled by a smaller maximum m times phi(m, M) is scaled by M. exp(a - b) is such a factor.
struct ScaledSums {
  int reference = -1;                         // the step whose maximum it is; -1: nothing is scaled
  std::optional<ScalarFunction> factor = {};  // phi; none without a reference
  std::vector<bool> is_scaled = {};  // per step of the group: what it writes has phi as a factor
};

// Of the steps with a streamed dimension. The law is recognised by what functions compute, not by
// their names: a step uses the maximum in a value of it and of one other value, which is the one
// whose maximum it is; the law holds on samples (phi(a, a) = 1, and phi(a, b) = 0 where a is the
// neutral element of the maximum); and everything else that it makes of it is a product with what
// does not depend on the maximum, or a sum of such products. Errors: FailedPrecondition, which step
// does otherwise: or one uses what is reduced along the streamed dimension and no maximum, which is
// there behind the last chunk only.
Result<ScaledSums> ScaledSumsOf(const Pipeline& pipeline, const JointGroup& group);

}  // namespace mdh
