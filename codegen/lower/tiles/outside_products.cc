#include "codegen/lower/tiles/outside_products.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace mdh {
namespace {

// For each element that is looked at: it takes its share of a vector of a loop that loads, where
// caches are too small from memory, in every thread.
constexpr double kLeastLeftOut = 32;
constexpr int64_t kMostCounted = 1 << 16;

// Of all points, those with this index of a buffer's dimension inside; 1 where counting them takes
// long.
double ShareInside(const Expression& e, const AffineIndex& index, int64_t extent) {
  std::vector<int64_t> places = {index.constant};
  for (int d = 0; d < e.rank(); ++d) {
    const int64_t c = index.coefficients[d], size = e.dimensions()[d].size;
    if (c == 0 || size == 1) continue;
    if (size > kMostCounted / std::ssize(places)) return 1;
    std::vector<int64_t> next;
    for (int64_t at = 0; at < size; ++at) {
      for (const int64_t place : places) next.push_back(place + c * at);
    }
    places = std::move(next);
  }
  const auto inside =
      std::ranges::count_if(places, [&](int64_t place) { return place >= 0 && place < extent; });
  return static_cast<double>(inside) / static_cast<double>(places.size());
}

bool AreZeros(const Buffer& buffer) {
  return buffer.boundary.kind == Boundary::Kind::kConstant &&
         std::ranges::all_of(buffer.boundary.values, [](const ScalarValue& value) {
           return value == ScalarValue::Zero(value.type());
         });
}

// Whether f is the product of two elements, of two inputs and of a type that may be nan.
bool MultipliesTwo(const Expression& e) {
  const ScalarFunction& f = e.function();
  if (e.inputs().size() != 2 || f.parameters().size() != 2 || f.results().size() != 1) return false;
  const ScalarType type = f.results()[0].type;
  const bool is_real = type == ScalarType::kFloat32 || type == ScalarType::kFloat64;
  const bool are_alike = std::ranges::all_of(
      f.instructions(), [&](const ScalarInstruction& each) { return each.type == type; });
  const ScalarInstruction& product = f.instructions()[f.result_instructions()[0]];
  return is_real && are_alike && f.instructions().size() == 3 && product.op == ScalarOp::kMul &&
         product.operands[0] != product.operands[1];
}

}  // namespace

std::optional<OutsideProducts> OutsideProductsOf(const Expression& expression,
                                                 NumericsPolicy numerics) {
  if (!Reassociates(numerics) || !expression.has_reduction() || !MultipliesTwo(expression) ||
      expression.reduction().kind() != PointWiseKind::kAdd)
    return std::nullopt;
  const int zeros = AreZeros(expression.inputs()[0]) ? 0 : 1;
  const Buffer& around = expression.inputs()[zeros];
  const Buffer& factor = expression.inputs()[1 - zeros];
  if (!AreZeros(around) || factor.boundary.kind != Boundary::Kind::kNone) return std::nullopt;
  double inside = 1, points = 1;
  for (size_t x = 0; x < around.extents.size(); ++x) {
    inside *= ShareInside(expression, around.accesses[0].indices[x], around.extents[x]);
  }
  for (const Dimension& d : expression.dimensions()) points *= static_cast<double>(d.size);
  const auto elements = static_cast<double>(factor.elements());
  if ((1 - inside) * points < kLeastLeftOut * elements) return std::nullopt;
  return OutsideProducts{zeros, 1 - zeros};
}

}  // namespace mdh
