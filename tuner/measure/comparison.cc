// Element-wise comparison, one loop per element type.
#include "tuner/measure/comparison.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace mdh {
namespace {

double Epsilon(ScalarType type) {
  return type == ScalarType::kFloat32 ? static_cast<double>(std::numeric_limits<float>::epsilon())
                                      : std::numeric_limits<double>::epsilon();
}

int64_t ReductionLength(const Expression& expression) {
  int64_t length = 1;
  for (int d = 0; d < expression.rank(); ++d) {
    if (expression.is_reduction(d)) length *= expression.dimensions()[d].size;
  }
  return length;
}

template <typename T>
T Load(const std::byte* bytes, int64_t element) {
  T value;
  std::memcpy(&value, bytes + element * int64_t{sizeof(T)}, sizeof(T));
  return value;
}

bool IsReached(const ReferenceBuffer& reference, int64_t element) {
  return reference.reached.empty() || reference.reached[static_cast<size_t>(element)];
}

// The double value of an element of a floating-point buffer.
double Real(const ReferenceBuffer& reference, const std::byte* bytes, int64_t element) {
  return reference.type == ScalarType::kFloat32 ? static_cast<double>(Load<float>(bytes, element))
                                                : Load<double>(bytes, element);
}

bool IsClose(const ReferenceBuffer& reference, double expected, double got) {
  if (std::isnan(got)) return false;
  if (std::isinf(expected) || std::isinf(got)) return expected == got;
  const double scale = std::max(std::abs(expected), reference.rms);
  return std::abs(got - expected) <= reference.tolerance * scale;
}

// An element that no index function reaches: zero, or never written.
bool IsUntouched(const std::byte* element, int size, std::byte poison) {
  const auto all = [&](std::byte value) {
    return std::all_of(element, element + size, [&](std::byte b) { return b == value; });
  };
  return all(std::byte{0}) || all(poison);
}

bool IsRight(const ReferenceBuffer& reference, const std::byte* got, std::byte poison,
             int64_t element) {
  const int size = SizeBytes(reference.type);
  const std::byte* expected = reference.bytes.data() + element * size;
  if (!IsReached(reference, element)) return IsUntouched(got + element * size, size, poison);
  if (std::memcmp(expected, got + element * size, static_cast<size_t>(size)) == 0) {
    return !IsFloatingPoint(reference.type) || !std::isnan(Real(reference, got, element));
  }
  if (!IsFloatingPoint(reference.type)) return false;
  return IsClose(reference, Real(reference, reference.bytes.data(), element),
                 Real(reference, got, element));
}

double RootMeanSquare(const ReferenceBuffer& reference) {
  double sum = 0;
  int64_t count = 0;
  for (int64_t e = 0; e < reference.elements(); ++e) {
    const double value = Real(reference, reference.bytes.data(), e);
    if (!IsReached(reference, e) || !std::isfinite(value)) continue;
    sum += value * value;
    ++count;
  }
  return count == 0 ? 0 : std::sqrt(sum / static_cast<double>(count));
}

template <typename Predicate>
bool AnyReal(const ReferenceBuffer& reference, const Predicate& predicate) {
  if (!IsFloatingPoint(reference.type)) return false;
  for (int64_t e = 0; e < reference.elements(); ++e) {
    if (IsReached(reference, e) && predicate(Real(reference, reference.bytes.data(), e))) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::vector<bool> ReachedElements(const Expression& expression, int output) {
  const Buffer& buffer = expression.outputs()[output];
  int64_t result_points = 1;
  for (int d = 0; d < expression.rank(); ++d) {
    if (!expression.is_reduction(d)) result_points *= expression.dimensions()[d].size;
  }
  // No element is written twice (Definition 10), so counting tells whether all are written.
  const int64_t accesses = static_cast<int64_t>(buffer.accesses.size());
  if (result_points * accesses == buffer.elements()) return {};
  std::vector<bool> reached(static_cast<size_t>(buffer.elements()), false);
  for (int a = 0; a < accesses; ++a) {
    const AffineIndex offset = buffer.Linearized(a);
    ForEachResultPoint(expression, [&](const std::vector<int64_t>& index) {
      reached[static_cast<size_t>(offset.Evaluate(index))] = true;
    });
  }
  return reached;
}

ReferenceBuffer MakeReference(const Expression& expression, int output,
                              std::vector<std::byte> bytes) {
  const Buffer& buffer = expression.outputs()[output];
  ReferenceBuffer reference = {.name = buffer.name,
                               .type = buffer.type,
                               .bytes = std::move(bytes),
                               .reached = ReachedElements(expression, output)};
  if (IsFloatingPoint(reference.type)) {
    reference.contains_nan = AnyReal(reference, [](double value) { return std::isnan(value); });
    reference.rms = RootMeanSquare(reference);
    reference.tolerance = Epsilon(reference.type) *
                          (16 + 2 * std::sqrt(static_cast<double>(ReductionLength(expression))));
  }
  return reference;
}

std::optional<Mismatch> FirstMismatch(const ReferenceBuffer& reference, const std::byte* got,
                                      std::byte poison) {
  // Most results are equal bit by bit, since the inputs are small multiples of powers of two.
  if (reference.reached.empty() && !reference.contains_nan &&
      std::memcmp(reference.bytes.data(), got, reference.bytes.size()) == 0) {
    return std::nullopt;
  }
  for (int64_t e = 0; e < reference.elements(); ++e) {
    if (IsRight(reference, got, poison, e)) continue;
    const int size = SizeBytes(reference.type);
    const auto print = [&](const std::byte* bytes) {
      return ScalarValue::Load(reference.type, bytes + e * size).ToString();
    };
    return Mismatch{e, IsReached(reference, e) ? print(reference.bytes.data()) : "untouched",
                    print(got)};
  }
  return std::nullopt;
}

std::optional<Mismatch> ElementMismatch(const ReferenceBuffer& reference, int64_t element,
                                        const ScalarValue& expected) {
  const ScalarValue got = ScalarValue::Load(
      reference.type, reference.bytes.data() + element * SizeBytes(reference.type));
  const bool right = IsFloatingPoint(reference.type)
                         ? IsClose(reference, expected.as_double(), got.as_double())
                         : expected == got;
  if (right) return std::nullopt;
  return Mismatch{element, expected.ToString(), got.ToString()};
}

bool ContainsNonFinite(const ReferenceBuffer& reference) {
  return AnyReal(reference, [](double value) { return !std::isfinite(value); });
}

bool IsConstant(const ReferenceBuffer& reference) {
  const int size = SizeBytes(reference.type);
  int64_t first = -1;
  int64_t reached = 0;
  for (int64_t e = 0; e < reference.elements(); ++e) {
    if (!IsReached(reference, e)) continue;
    if (first < 0) first = e;
    ++reached;
    if (std::memcmp(reference.bytes.data() + first * size, reference.bytes.data() + e * size,
                    static_cast<size_t>(size)) != 0) {
      return false;
    }
  }
  if (reached != 1) return true;
  return IsUntouched(reference.bytes.data() + first * size, size, std::byte{0});
}

}  // namespace mdh
