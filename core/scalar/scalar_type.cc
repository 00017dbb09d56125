#include "core/scalar/scalar_type.h"

#include <cmath>

namespace mdh {
namespace {

// The number with these bits, of which no exponent is special.
double Decoded(const FloatFormat& format, uint64_t pattern) {
  const uint64_t leading = uint64_t{1} << format.fraction_bits;
  const int exponent = static_cast<int>(pattern >> format.fraction_bits);
  return std::ldexp(static_cast<double>(leading | (pattern & (leading - 1))),
                    exponent - ExponentBias(format) - format.fraction_bits);
}

constexpr bool IsInOrder() {
  size_t number = 0;
  for (const ScalarTypeInfo& info : kScalarTypes) {
    if (static_cast<size_t>(info.type) != ++number) return false;
  }
  return true;
}
static_assert(IsInOrder());

}  // namespace

std::optional<ScalarType> ScalarTypeFromName(std::string_view name) {
  for (const ScalarTypeInfo& info : kScalarTypes) {
    if (info.name == absl::string_view(name.data(), name.size())) return info.type;
  }
  if (name == "half") return ScalarType::kFloat16;
  if (name == "float") return ScalarType::kFloat32;
  if (name == "double") return ScalarType::kFloat64;
  if (name == "int") return ScalarType::kInt32;
  return std::nullopt;
}

double Epsilon(ScalarType type) { return std::ldexp(1.0, -Info(type).format.fraction_bits); }

double LargestFinite(ScalarType type) {
  const FloatFormat& format = Info(type).format;
  return Decoded(format, FirstSpecialPattern(format) - 1);
}

double WithoutInfinity(ScalarType type, double value) {
  if (!std::isinf(value)) return value;
  const double largest = LargestFinite(type);
  return std::copysign(largest + std::ldexp(Epsilon(type) / 2, std::ilogb(largest)), value);
}

double SmallestNormal(ScalarType type) {
  return std::ldexp(1.0, 1 - ExponentBias(Info(type).format));
}

bool HoldsAllValues(ScalarType to, ScalarType from) {
  if (to == from || from == ScalarType::kBool) return true;
  if (to == ScalarType::kBool) return false;
  const FloatFormat& wide = Info(to).format;
  if (IsFloatingPoint(from)) {
    const FloatFormat& narrow = Info(from).format;
    return wide.exponent_bits >= narrow.exponent_bits &&
           wide.fraction_bits >= narrow.fraction_bits &&
           (wide.has_infinities || !narrow.has_infinities);
  }
  const int bits = 8 * SizeBytes(from) - (IsSigned(from) ? 1 : 0);
  if (IsFloatingPoint(to)) return bits <= wide.fraction_bits + 1;
  if (IsSigned(from) && !IsSigned(to)) return false;
  return bits <= 8 * SizeBytes(to) - (IsSigned(to) ? 1 : 0);
}

}  // namespace mdh
