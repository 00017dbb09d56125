// Contractions over several dimensions of each kind as other libraries are used for them: inputs
// are transposed to matrices, multiplied by OpenBLAS, and the product is transposed to the result.
#include <cblas.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "tests/benchmarks/peers.h"

namespace mdh {
namespace {

// One dimension of a copy; strides in elements.
struct CopiedDimension {
  int64_t size, to, from;
};

// Dimensions by their strides in the target, the largest first; neighbours that are one piece of
// memory on both sides are one dimension.
std::vector<CopiedDimension> Merged(std::vector<CopiedDimension> dimensions) {
  std::sort(dimensions.begin(), dimensions.end(),
            [](const auto& a, const auto& b) { return a.to > b.to; });
  std::vector<CopiedDimension> merged;
  for (const CopiedDimension& next : dimensions) {
    if (next.size == 1) continue;
    CopiedDimension* last = merged.empty() ? nullptr : &merged.back();
    if (last != nullptr && last->to == next.to * next.size && last->from == next.from * next.size) {
      *last = {last->size * next.size, next.to, next.from};
    } else {
      merged.push_back(next);
    }
  }
  if (merged.empty()) merged.push_back({1, 1, 1});
  return merged;
}

// By all threads, each its share of the outer dimensions.
void Transpose(const std::vector<CopiedDimension>& dimensions, const float* from, float* to) {
  const CopiedDimension inner = dimensions.back();
  int64_t rows = 1;
  for (size_t d = 0; d + 1 < dimensions.size(); ++d) rows *= dimensions[d].size;
#pragma omp parallel for
  for (int64_t row = 0; row < rows; ++row) {
    int64_t rest = row, source = 0, target = 0;
    for (size_t d = dimensions.size() - 1; d-- > 0;) {
      source += rest % dimensions[d].size * dimensions[d].from;
      target += rest % dimensions[d].size * dimensions[d].to;
      rest /= dimensions[d].size;
    }
    if (inner.to == 1 && inner.from == 1) {
      std::memcpy(to + target, from + source, static_cast<size_t>(inner.size) * sizeof(float));
      continue;
    }
    for (int64_t n = 0; n < inner.size; ++n) {
      to[target + n * inner.to] = from[source + n * inner.from];
    }
  }
}

// Which of the three buffers a dimension is in, and where.
struct IndexedDimension {
  int64_t size, a, b, c;
};

// Copies between the buffers and matrices a (rows by inner), b (inner by columns) and c.
struct Plan {
  std::vector<CopiedDimension> a, b, c;
  int64_t rows = 1, columns = 1, inner = 1;
};

// Dimensions of a kind are ordered as in the result, those of the sum as they are given.
std::optional<Plan> MakePlan(std::vector<IndexedDimension> dimensions) {
  std::stable_sort(dimensions.begin(), dimensions.end(),
                   [](const auto& x, const auto& y) { return x.c < y.c; });
  Plan plan;
  for (const IndexedDimension& d : dimensions) {
    if (d.a != 0 && d.b != 0 && d.c != 0) return std::nullopt;  // a batch
    if (d.c == 0) plan.inner *= d.size;
    if (d.b == 0) plan.rows *= d.size;
    if (d.a == 0) plan.columns *= d.size;
  }
  int64_t row = 1, column = 1, inner = 1;
  for (const IndexedDimension& d : dimensions) {
    if (d.c == 0) {
      plan.a.push_back({d.size, inner, d.a});
      plan.b.push_back({d.size, inner * plan.columns, d.b});
      inner *= d.size;
    } else if (d.b == 0) {
      plan.a.push_back({d.size, row * plan.inner, d.a});
      plan.c.push_back({d.size, d.c, row * plan.columns});
      row *= d.size;
    } else {
      plan.b.push_back({d.size, column, d.b});
      plan.c.push_back({d.size, d.c, column});
      column *= d.size;
    }
  }
  plan.a = Merged(std::move(plan.a));
  plan.b = Merged(std::move(plan.b));
  plan.c = Merged(std::move(plan.c));
  return plan;
}

}  // namespace

std::vector<Peer> TransposingPeers(const Expression& expression, const PeerBuffers& buffers) {
  if (expression.inputs().size() != 2 || expression.outputs().size() != 1) return {};
  const Buffer* three[] = {&expression.inputs()[0], &expression.inputs()[1],
                           &expression.outputs()[0]};
  for (const Buffer* buffer : three) {
    if (buffer->accesses.size() != 1 || buffer->type != ScalarType::kFloat32) return {};
    for (const AffineIndex& index : buffer->accesses[0].indices) {
      const auto used = std::count_if(index.coefficients.begin(), index.coefficients.end(),
                                      [](int64_t c) { return c != 0; });
      if (used > 1 || index.constant != 0) return {};  // a stencil
    }
  }
  std::vector<IndexedDimension> dimensions;
  for (int d = 0; d < expression.rank(); ++d) {
    dimensions.push_back({expression.dimensions()[d].size, three[0]->Linearized(0).coefficients[d],
                          three[1]->Linearized(0).coefficients[d],
                          three[2]->Linearized(0).coefficients[d]});
  }
  const std::optional<Plan> plan = MakePlan(std::move(dimensions));
  if (!plan.has_value()) return {};
  const auto matrix = [](int64_t elements) {
    return std::shared_ptr<float[]>(new float[static_cast<size_t>(elements)]);
  };
  return {{"transposing_openblas",
           [plan = *plan, buffers, a = matrix(plan->rows * plan->inner),
            b = matrix(plan->inner * plan->columns), c = matrix(plan->rows * plan->columns)] {
             Transpose(plan.a, buffers.a, a.get());
             Transpose(plan.b, buffers.b, b.get());
             const auto m = static_cast<blasint>(plan.rows), n = static_cast<blasint>(plan.columns),
                        k = static_cast<blasint>(plan.inner);
             cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1.0f, a.get(), k,
                         b.get(), n, 0.0f, c.get(), n);
             Transpose(plan.c, c.get(), buffers.result);
           }}};
}

}  // namespace mdh
