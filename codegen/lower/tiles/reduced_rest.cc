#include "codegen/lower/tiles/reduced_rest.h"

#include <algorithm>
#include <vector>

namespace mdh {
namespace {

constexpr int kMaskedElement = 4;  // bytes, of loads by masks

bool IsZeroWithoutPoint(const Buffer& buffer, int v) {
  return buffer.DependsOn(v) && !buffer.type.is_record() &&
         buffer.type.size_bytes() >= kMaskedElement &&
         buffer.boundary.kind == Boundary::Kind::kNone;
}

}  // namespace

bool AddNothingAsZeros(const Expression& expression, int v) {
  if (v < 0 || !expression.is_reduction(v) || !expression.reduction().identity()) return false;
  const ScalarFunction& f = expression.function();
  std::vector<ScalarValue> zeros;
  for (int p = 0; p < std::ssize(f.parameters()); ++p) {
    if (expression.is_index(p)) return false;
    const Expression::AccessRef ref = expression.input_access(p);
    const Buffer& buffer = expression.inputs()[ref.buffer];
    const auto moves = [v](const AffineIndex& index) { return index.coefficients[v] != 0; };
    if (!IsZeroWithoutPoint(buffer, v) ||
        !std::ranges::any_of(buffer.accesses[ref.access].indices, moves)) {
      return false;
    }
    zeros.push_back(ScalarValue::Zero(f.parameters()[p].type));
  }
  return f.Evaluate(zeros) == *expression.reduction().identity();
}

}  // namespace mdh
