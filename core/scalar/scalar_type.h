// Scalar types (paper, Section 2 footnote 5 and appendix A.2) and their properties, in one table.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace mdh {

// bool is stored as one byte, 0 or 1. The numeric values are part of the wire format and of
// digests: append only.
enum class ScalarType : uint8_t {
  kBool = 1,
  kInt8 = 2,
  kInt16 = 3,
  kInt32 = 4,
  kInt64 = 5,
  kUint8 = 6,
  kUint16 = 7,
  kUint32 = 8,
  kUint64 = 9,
  kFloat32 = 10,
  kFloat64 = 11,
  kFloat16 = 12,   // IEEE 754 binary16
  kBfloat16 = 13,  // the upper half of an fp32
};

struct ScalarTypeInfo {
  ScalarType type;
  absl::string_view name;  // as in the text form: "fp32", "int8", "bool"
  int size_bytes;
  bool is_floating_point;
  bool is_signed;  // floating-point types count as signed
};

const ScalarTypeInfo& Info(ScalarType type);

// The type called `name`, nullopt if there is none. Accepts the aliases half, float, double and
// int.
std::optional<ScalarType> ScalarTypeFromName(std::string_view name);

// Stored in two bytes, computed with in fp32.
inline bool IsHalf(ScalarType type) {
  return type == ScalarType::kFloat16 || type == ScalarType::kBfloat16;
}

// All types, in the order of their values.
absl::Span<const ScalarTypeInfo> AllScalarTypes();

inline absl::string_view Name(ScalarType type) { return Info(type).name; }
inline int SizeBytes(ScalarType type) { return Info(type).size_bytes; }
inline bool IsFloatingPoint(ScalarType type) { return Info(type).is_floating_point; }
inline bool IsInteger(ScalarType type) {
  return type != ScalarType::kBool && !IsFloatingPoint(type);
}
inline bool IsSigned(ScalarType type) { return Info(type).is_signed; }

}  // namespace mdh
