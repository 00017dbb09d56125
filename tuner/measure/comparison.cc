// Element-wise comparison, one loop per element type.
#include "tuner/measure/comparison.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace mdh {
namespace {

double Epsilon(ScalarType type) {
  switch (type) {
    case ScalarType::kFloat16:
      return 0x1p-10;
    case ScalarType::kBfloat16:
      return 0x1p-7;
    case ScalarType::kFloat32:
      return static_cast<double>(std::numeric_limits<float>::epsilon());
    default:
      return std::numeric_limits<double>::epsilon();
  }
}

bool IsReached(const ReferenceBuffer& reference, int64_t element) {
  return reference.reached.empty() || reference.reached[static_cast<size_t>(element)];
}

const std::byte* At(const ReferenceBuffer& reference, const ReferenceField& field,
                    const std::byte* bytes, int64_t element) {
  return bytes + element * reference.type.size_bytes() + field.offset_bytes;
}

ScalarValue ValueAt(const ReferenceBuffer& reference, const ReferenceField& field,
                    const std::byte* bytes, int64_t element) {
  return ScalarValue::Load(field.type, At(reference, field, bytes, element));
}

bool IsClose(const ReferenceField& field, const ScalarValue& expected, const ScalarValue& got) {
  const double x = expected.as_double(), y = got.as_double();
  if (!IsFloatingPoint(field.type)) {
    return expected == got || (field.rounds && std::abs(x - y) <= 1);
  }
  if (std::isnan(y)) return false;
  if (std::isinf(x) || std::isinf(y)) return x == y;
  return std::abs(y - x) <= field.tolerance * std::max(std::abs(x), field.rms);
}

// An element that no index function reaches: zero, or never written.
bool IsUntouched(const std::byte* element, int size, std::byte poison) {
  const auto all = [&](std::byte value) {
    return std::all_of(element, element + size, [&](std::byte b) { return b == value; });
  };
  return all(std::byte{0}) || all(poison);
}

bool IsRight(const ReferenceBuffer& reference, const ReferenceField& field, const std::byte* got,
             std::byte poison, int64_t element) {
  const std::byte* is = At(reference, field, got, element);
  const auto size = static_cast<size_t>(SizeBytes(field.type));
  if (!IsReached(reference, element)) return IsUntouched(is, static_cast<int>(size), poison);
  const std::byte* expected = At(reference, field, reference.bytes.data(), element);
  if (std::memcmp(expected, is, size) == 0 && !reference.contains_nan) return true;
  if (!IsFloatingPoint(field.type) && !field.rounds) {  // a bool must be 0 or 1, not just true
    return std::memcmp(expected, is, size) == 0;
  }
  return IsClose(field, ScalarValue::Load(field.type, expected), ScalarValue::Load(field.type, is));
}

// Calls visit(value) for all reached values of a floating-point field until it returns true.
template <typename Visit>
bool AnyReal(const ReferenceBuffer& reference, const ReferenceField& field, const Visit& visit) {
  if (!IsFloatingPoint(field.type)) return false;
  for (int64_t e = 0; e < reference.elements(); ++e) {
    if (!IsReached(reference, e)) continue;
    if (visit(ValueAt(reference, field, reference.bytes.data(), e).as_double())) return true;
  }
  return false;
}

double RootMeanSquare(const ReferenceBuffer& reference, const ReferenceField& field) {
  double sum = 0;
  int64_t count = 0;
  AnyReal(reference, field, [&](double value) {
    if (std::isfinite(value)) {
      sum += value * value;
      ++count;
    }
    return false;
  });
  return count == 0 ? 0 : std::sqrt(sum / static_cast<double>(count));
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

int64_t ReductionLength(const Expression& expression) {
  int64_t length = 1;
  for (int d = 0; d < expression.rank(); ++d) {
    if (!expression.combine_operators()[d].is_concat()) length *= expression.dimensions()[d].size;
  }
  return length;
}

ReferenceBuffer MakeReference(const Expression& expression, int output,
                              std::vector<std::byte> bytes, double tolerance) {
  const Buffer& buffer = expression.outputs()[output];
  ReferenceBuffer reference = {.name = buffer.name,
                               .type = buffer.type,
                               .bytes = std::move(bytes),
                               .reached = ReachedElements(expression, output),
                               .fields = {}};
  for (const ElementType::Field& field : buffer.type.fields()) {
    reference.fields.push_back({field.type, field.offset_bytes});
  }
  const double factor = 16 + 2 * std::sqrt(static_cast<double>(ReductionLength(expression)));
  for (int r = 0; r < static_cast<int>(expression.function().results().size()); ++r) {
    const Expression::AccessRef ref = expression.output_access(r);
    if (ref.buffer != output) continue;
    ReferenceField& field = reference.fields[ref.field];
    const ScalarType combined = expression.function().results()[r].type;
    if (IsFloatingPoint(field.type)) {
      const double epsilon =
          std::max(Epsilon(field.type), IsFloatingPoint(combined) ? Epsilon(combined) : 0.0);
      field.tolerance = tolerance < 0 ? epsilon * factor : tolerance;
    } else {
      field.rounds = IsFloatingPoint(combined) && tolerance != 0;
    }
  }
  for (ReferenceField& field : reference.fields) {
    field.rms = RootMeanSquare(reference, field);
    reference.contains_nan |=
        AnyReal(reference, field, [](double value) { return std::isnan(value); });
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
    for (size_t f = 0; f < reference.fields.size(); ++f) {
      const ReferenceField& field = reference.fields[f];
      if (IsRight(reference, field, got, poison, e)) continue;
      const auto print = [&](const std::byte* bytes) {
        return ValueAt(reference, field, bytes, e).ToString();
      };
      return Mismatch{e, reference.type.fields()[f].name,
                      IsReached(reference, e) ? print(reference.bytes.data()) : "untouched",
                      print(got)};
    }
  }
  return std::nullopt;
}

std::optional<Mismatch> ElementMismatch(const ReferenceBuffer& reference, int64_t element,
                                        int field, const ScalarValue& expected) {
  const ScalarValue got =
      ValueAt(reference, reference.fields[field], reference.bytes.data(), element);
  if (IsClose(reference.fields[field], expected, got)) return std::nullopt;
  return Mismatch{element, reference.type.fields()[field].name, expected.ToString(),
                  got.ToString()};
}

bool ContainsNonFinite(const ReferenceBuffer& reference) {
  return std::any_of(reference.fields.begin(), reference.fields.end(), [&](const auto& field) {
    return AnyReal(reference, field, [](double value) { return !std::isfinite(value); });
  });
}

bool IsConstant(const ReferenceBuffer& reference) {
  int64_t first = -1;
  int64_t reached = 0;
  for (int64_t e = 0; e < reference.elements(); ++e) {
    if (!IsReached(reference, e)) continue;
    if (first < 0) first = e;
    ++reached;
    for (const ReferenceField& field : reference.fields) {
      const std::byte* bytes = reference.bytes.data();
      if (std::memcmp(At(reference, field, bytes, first), At(reference, field, bytes, e),
                      static_cast<size_t>(SizeBytes(field.type))) != 0) {
        return false;
      }
    }
  }
  if (reached != 1) return true;
  return std::all_of(reference.fields.begin(), reference.fields.end(), [&](const auto& field) {
    return IsUntouched(At(reference, field, reference.bytes.data(), first), SizeBytes(field.type),
                       std::byte{0});
  });
}

}  // namespace mdh
