// Values of scalar types: wrapping, rounding, bytes and literals.
#include "core/scalar/scalar_value.h"

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

// IEEE 754 binary16 with round to nearest even, and back.
uint16_t HalfBits(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000;
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return static_cast<uint16_t>(sign | 0x7e00);
  if (magnitude >= 0x477ff000) return static_cast<uint16_t>(sign | 0x7c00);  // rounds to infinity
  if (magnitude < 0x38800000) {  // subnormal: the addition rounds at the last bit that is kept
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000));
  }
  const uint32_t odd = magnitude >> 13 & 1;
  return static_cast<uint16_t>(sign | ((magnitude - 0x38000000 + 0xfff + odd) >> 13));
}

float FromHalfBits(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t magnitude = half & 0x7fff;
  if (magnitude >= 0x7c00) {
    return std::bit_cast<float>(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
  }
  const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(scaled));
}

uint16_t Bfloat16Bits(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float FromBfloat16Bits(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

int64_t Wrap(ScalarType type, int64_t value) {
  switch (type) {
    case ScalarType::kInt8:
      return static_cast<int8_t>(value);
    case ScalarType::kInt16:
      return static_cast<int16_t>(value);
    case ScalarType::kInt32:
      return static_cast<int32_t>(value);
    case ScalarType::kUint8:
      return static_cast<uint8_t>(value);
    case ScalarType::kUint16:
      return static_cast<uint16_t>(value);
    case ScalarType::kUint32:
      return static_cast<uint32_t>(value);
    case ScalarType::kBool:
      return value != 0;
    default:
      return value;
  }
}

}  // namespace

ScalarValue ScalarValue::Bool(bool value) { return ScalarValue(ScalarType::kBool, value, 0); }

ScalarValue ScalarValue::Integer(ScalarType type, int64_t value) {
  return ScalarValue(type, Wrap(type, value), 0);
}

ScalarValue ScalarValue::Real(ScalarType type, double value) {
  if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();
  if (type != ScalarType::kFloat64) value = static_cast<float>(value);
  if (type == ScalarType::kFloat16) value = FromHalfBits(HalfBits(static_cast<float>(value)));
  if (type == ScalarType::kBfloat16) {
    value = FromBfloat16Bits(Bfloat16Bits(static_cast<float>(value)));
  }
  return ScalarValue(type, 0, value);
}

ScalarValue ScalarValue::Zero(ScalarType type) { return ScalarValue(type, 0, 0); }

ScalarValue ScalarValue::Load(ScalarType type, const void* from) {
  switch (type) {
    case ScalarType::kBool:
      return Bool(LoadAs<uint8_t>(from) != 0);
    case ScalarType::kInt8:
      return Integer(type, LoadAs<int8_t>(from));
    case ScalarType::kInt16:
      return Integer(type, LoadAs<int16_t>(from));
    case ScalarType::kInt32:
      return Integer(type, LoadAs<int32_t>(from));
    case ScalarType::kUint8:
      return Integer(type, LoadAs<uint8_t>(from));
    case ScalarType::kUint16:
      return Integer(type, LoadAs<uint16_t>(from));
    case ScalarType::kUint32:
      return Integer(type, LoadAs<uint32_t>(from));
    case ScalarType::kInt64:
    case ScalarType::kUint64:
      return Integer(type, LoadAs<int64_t>(from));
    case ScalarType::kFloat32:
      return Real(type, LoadAs<float>(from));
    case ScalarType::kFloat64:
      return Real(type, LoadAs<double>(from));
    case ScalarType::kFloat16:
      return Real(type, FromHalfBits(LoadAs<uint16_t>(from)));
    case ScalarType::kBfloat16:
      return Real(type, FromBfloat16Bits(LoadAs<uint16_t>(from)));
  }
  return Zero(type);
}

void ScalarValue::Store(void* to) const {
  if (type_ == ScalarType::kFloat32) return StoreAs(static_cast<float>(real_), to);
  if (type_ == ScalarType::kFloat64) return StoreAs(real_, to);
  if (type_ == ScalarType::kFloat16) return StoreAs(HalfBits(static_cast<float>(real_)), to);
  if (type_ == ScalarType::kBfloat16) return StoreAs(Bfloat16Bits(static_cast<float>(real_)), to);
  switch (SizeBytes(type_)) {
    case 1:
      return StoreAs(static_cast<int8_t>(bits_), to);
    case 2:
      return StoreAs(static_cast<int16_t>(bits_), to);
    case 4:
      return StoreAs(static_cast<int32_t>(bits_), to);
    default:
      return StoreAs(bits_, to);
  }
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
