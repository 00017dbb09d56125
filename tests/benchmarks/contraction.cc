#include <utility>

#include "tests/benchmarks/peers.h"

namespace mdh {
namespace {

bool IsPlainFloat(const Buffer& buffer) {
  return buffer.type == ScalarType::kFloat32 && buffer.accesses.size() == 1;
}

}  // namespace

std::optional<Contraction> AsContraction(const Expression& expression) {
  if (expression.inputs().size() != 2 || expression.outputs().size() != 1) return std::nullopt;
  const Buffer& a = expression.inputs()[0];
  const Buffer& b = expression.inputs()[1];
  const Buffer& c = expression.outputs()[0];
  if (!IsPlainFloat(a) || !IsPlainFloat(b) || !IsPlainFloat(c)) return std::nullopt;
  Contraction contraction;
  for (int d = 0; d < expression.rank(); ++d) {
    const Contraction::Dimension found = {
        expression.dimensions()[d].size, a.Linearized(0).coefficients[d],
        b.Linearized(0).coefficients[d], c.Linearized(0).coefficients[d]};
    Contraction::Dimension* kind = nullptr;
    if (expression.is_reduction(d)) {
      kind = &contraction.k;
    } else if (found.a != 0 && found.b != 0) {
      kind = &contraction.batch;
    } else if (found.a != 0) {
      kind = &contraction.i;
    } else if (found.b != 0) {
      kind = &contraction.j;
    }
    if (kind == nullptr || kind->size != 1) return std::nullopt;
    *kind = found;
  }
  return contraction;
}

Contraction Transposed(const Contraction& contraction) {
  auto exchange = [](Contraction::Dimension d) {
    std::swap(d.a, d.b);
    return d;
  };
  return {exchange(contraction.batch), exchange(contraction.j), exchange(contraction.i),
          exchange(contraction.k)};
}

}  // namespace mdh
