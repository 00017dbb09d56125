// Random types of buffers.
#include "tests/random_type.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

namespace mdh {

ScalarType RandomScalarType(Rng& rng, const RandomExpressionOptions& options) {
  static const std::vector<ScalarType> types = {
      ScalarType::kFloat32, ScalarType::kFloat32, ScalarType::kFloat32, ScalarType::kFloat64,
      ScalarType::kInt32,   ScalarType::kInt64,   ScalarType::kInt8,    ScalarType::kInt16,
      ScalarType::kUint8,   ScalarType::kUint16,  ScalarType::kUint32,  ScalarType::kUint64,
      ScalarType::kBool};
  // An infinity becomes a number in fp8e4m3, and of sums of such numbers the order matters.
  static const std::vector<ScalarType> narrow = {ScalarType::kFloat16, ScalarType::kBfloat16,
                                                 ScalarType::kFloat8E5m2, ScalarType::kFloat8E4m3};
  if (options.half_types && Below(rng, 6) == 0) {
    return narrow[Below(rng, options.special_values ? 3 : 4)];
  }
  return AnyOf(rng, types);
}

ElementType RandomElementType(Rng& rng, const RandomExpressionOptions& options) {
  const ScalarType scalar = RandomScalarType(rng, options);
  if (!options.records || Below(rng, 6) != 0) return scalar;
  std::vector<TypedName> fields = {{"p", scalar}};
  for (const char* name : {"q", "r"}) {
    if (Below(rng, 2) == 0) fields.push_back({name, RandomScalarType(rng, options)});
  }
  return *ElementType::Record(std::move(fields));
}

double LargestExact(ScalarType type) { return std::min(2 / Epsilon(type), double{1 << 24}); }

ScalarValue NumberOf(ScalarType type, int64_t value) {
  return IsFloatingPoint(type) ? ScalarValue::Real(type, static_cast<double>(value))
                               : ScalarValue::Integer(type, value);
}

ScalarValue SmallConstant(Rng& rng, ScalarType type) {
  const int64_t value = Below(rng, 5);
  if (type == ScalarType::kBool) return ScalarValue::Bool(value % 2 == 0);
  return NumberOf(type, IsSigned(type) ? value - 2 : value);
}

std::vector<TypedName> NamesOf(const std::string& access, const ElementType& type) {
  std::vector<TypedName> names;
  for (const ElementType::Field& field : type.fields()) {
    names.push_back(
        {type.is_record() ? absl::StrCat(access, ".", field.name) : access, field.type});
  }
  return names;
}

}  // namespace mdh
