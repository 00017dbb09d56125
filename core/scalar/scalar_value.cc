// Values of scalar types: wrapping, rounding, bytes and literals.
#include "core/scalar/scalar_value.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

template <typename T>
T LoadAs(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <typename T>
void StoreAs(T value, void* to) {
  std::memcpy(to, &value, sizeof(T));
}

template <typename T>
std::string Shortest(T value) {
  std::array<char, 64> buffer;
  const std::to_chars_result result =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return std::string(buffer.data(), result.ptr);
}

constexpr uint32_t kInfinity = 0x7f800000;  // bits of an fp32
constexpr int kFractionBits = 23, kBias = 127;

// Bits of fp32 in a narrower format, rounded to nearest even; and back.
uint32_t Narrowed(const FloatFormat& format, float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 31) << (format.exponent_bits + format.fraction_bits);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > kInfinity) return sign | static_cast<uint32_t>(NanPattern(format));
  if (magnitude == kInfinity && format.has_infinities) {
    return sign | static_cast<uint32_t>(LargestExponentPattern(format));
  }
  const int dropped = kFractionBits - format.fraction_bits;
  const auto exponents = static_cast<uint32_t>(kBias - ExponentBias(format));
  uint32_t rounded;
  if (magnitude >> kFractionBits <= exponents) {
    // Subnormal: the addition of a number of which the last bit is the last that is kept rounds.
    const uint32_t unit = (exponents + 1 + static_cast<uint32_t>(dropped)) << kFractionBits;
    const float sum = std::bit_cast<float>(magnitude) + std::bit_cast<float>(unit);
    rounded = std::bit_cast<uint32_t>(sum) - unit;
  } else {
    const uint32_t odd = magnitude >> dropped & 1;
    const uint32_t below_half = (uint32_t{1} << (dropped - 1)) - 1;
    rounded = (magnitude - (exponents << kFractionBits) + below_half + odd) >> dropped;
  }
  return sign | std::min(rounded, static_cast<uint32_t>(OverflowPattern(format)));
}

float Widened(const FloatFormat& format, uint32_t bits) {
  const int sign_place = format.exponent_bits + format.fraction_bits;
  const int dropped = kFractionBits - format.fraction_bits;
  const uint32_t sign = bits >> sign_place << 31;
  const uint32_t magnitude = bits & ((uint32_t{1} << sign_place) - 1);
  if (magnitude >= FirstSpecialPattern(format)) {
    return std::bit_cast<float>(sign | kInfinity | magnitude << dropped);
  }
  const auto scale = static_cast<uint32_t>(2 * kBias - ExponentBias(format)) << kFractionBits;
  const float scaled = std::bit_cast<float>(magnitude << dropped) * std::bit_cast<float>(scale);
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(scaled));
}

int64_t Wrap(ScalarType type, int64_t value) {
  if (type == ScalarType::kBool) return value != 0;
  const int unused = 64 - 8 * SizeBytes(type);
  const uint64_t shifted = static_cast<uint64_t>(value) << unused;
  return IsSigned(type) ? static_cast<int64_t>(shifted) >> unused
                        : static_cast<int64_t>(shifted >> unused);
}

// Unsigned integers of so many bytes.
uint64_t LoadBits(int bytes, const void* from) {
  switch (bytes) {
    case 1:
      return LoadAs<uint8_t>(from);
    case 2:
      return LoadAs<uint16_t>(from);
    case 4:
      return LoadAs<uint32_t>(from);
    default:
      return LoadAs<uint64_t>(from);
  }
}

void StoreBits(int bytes, uint64_t bits, void* to) {
  switch (bytes) {
    case 1:
      return StoreAs(static_cast<uint8_t>(bits), to);
    case 2:
      return StoreAs(static_cast<uint16_t>(bits), to);
    case 4:
      return StoreAs(static_cast<uint32_t>(bits), to);
    default:
      return StoreAs(bits, to);
  }
}

}  // namespace

ScalarValue ScalarValue::Bool(bool value) { return ScalarValue(ScalarType::kBool, value, 0); }

ScalarValue ScalarValue::Integer(ScalarType type, int64_t value) {
  return ScalarValue(type, Wrap(type, value), 0);
}

ScalarValue ScalarValue::Real(ScalarType type, double value) {
  if (std::isnan(value)) return ScalarValue(type, 0, std::numeric_limits<double>::quiet_NaN());
  if (type != ScalarType::kFloat64) value = static_cast<float>(value);
  if (IsStorageOnly(type)) {
    const FloatFormat& format = Info(type).format;
    value = Widened(format, Narrowed(format, static_cast<float>(value)));
  }
  return ScalarValue(type, 0, value);
}

bool ScalarValue::IsTooLarge(ScalarType type, double value) {
  if (std::isinf(value)) return !Info(type).format.has_infinities;
  const double largest = LargestFinite(type);
  int exponent = 0;
  std::frexp(largest, &exponent);
  // Between the largest numbers of the type.
  const double step = std::ldexp(Epsilon(type), exponent - 1);
  return std::nearbyint(std::fabs(value) / step) * step > largest;
}

ScalarValue ScalarValue::Zero(ScalarType type) { return ScalarValue(type, 0, 0); }

ScalarValue ScalarValue::Load(ScalarType type, const void* from) {
  if (type == ScalarType::kFloat32) return Real(type, LoadAs<float>(from));
  if (type == ScalarType::kFloat64) return Real(type, LoadAs<double>(from));
  const uint64_t bits = LoadBits(SizeBytes(type), from);
  if (IsStorageOnly(type)) {
    return Real(type, Widened(Info(type).format, static_cast<uint32_t>(bits)));
  }
  return Integer(type, static_cast<int64_t>(bits));
}

void ScalarValue::Store(void* to) const {
  if (type_ == ScalarType::kFloat32) return StoreAs(static_cast<float>(real_), to);
  if (type_ == ScalarType::kFloat64) return StoreAs(real_, to);
  StoreBits(SizeBytes(type_),
            IsStorageOnly(type_) ? Narrowed(Info(type_).format, static_cast<float>(real_))
                                 : static_cast<uint64_t>(bits_),
            to);
}

double ScalarValue::as_double() const {
  if (IsFloatingPoint(type_)) return real_;
  return type_ == ScalarType::kUint64 ? static_cast<double>(as_uint64())
                                      : static_cast<double>(bits_);
}

std::string ScalarValue::ToString() const {
  if (type_ == ScalarType::kBool) return as_bool() ? "true" : "false";
  if (type_ == ScalarType::kFloat64) return Shortest(real_);
  if (IsFloatingPoint(type_)) return Shortest(static_cast<float>(real_));
  return type_ == ScalarType::kUint64 ? absl::StrCat(as_uint64()) : absl::StrCat(bits_);
}

}  // namespace mdh
