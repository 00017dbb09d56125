// Scalar types (paper, Section 2 footnote 5 and appendix A.2) and their properties, in one table.
#pragma once

#include <cstddef>
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
  // The 8-bit floating-point types of the Open Compute Project (OFP8), which PyTorch, JAX and
  // ml_dtypes call float8_e4m3fn and float8_e5m2. Of OCP's two modes of conversion these have the
  // saturating one: what is too large becomes the largest number, 448 or 57344, as infinities do in
  // kFloat8E4m3, which has none; an overflow in data that was scaled to use the range is no reason
  // to lose the whole result, and so do the conversions of CUDA (__NV_SATFINITE). Unlike OCP's
  // mode, infinities stay what they are in kFloat8E5m2: converting the type's own values changes
  // nothing. PyTorch's conversions do not saturate: to nan and to infinity.
  kFloat8E4m3 = 14,
  kFloat8E5m2 = 15,
};

// Of binary floating-point numbers: a sign, a biased exponent, a fraction. Exponent 0 is for zero
// and subnormal numbers; the largest one for infinities and nan, or, of types without infinities,
// only its largest fraction for nan.
struct FloatFormat {
  int exponent_bits;
  int fraction_bits;  // as they are stored, without the leading one
  bool has_infinities = true;
  bool saturates = false;  // what is too large becomes the largest number, else infinite
};

// What there is to know of a type. Whoever asks for a property reads it here: there are no other
// lists of types.
struct ScalarTypeInfo {
  ScalarType type;
  absl::string_view name;        // as in the text form: "fp32", "int8", "bool"
  absl::string_view short_name;  // in names of generated code: "f32", "i8", "b8"
  absl::string_view c_name;      // in C loops (core/c_loops); "" if C has no such type
  int size_bytes;
  bool is_signed;               // floating-point types count as signed
  ScalarType computed;          // in which values of this type are computed with
  FloatFormat format = {0, 0};  // of floating-point types
};

// In the order of their values.
inline constexpr ScalarTypeInfo kScalarTypes[] = {
    {ScalarType::kBool, "bool", "b8", "_Bool", 1, false, ScalarType::kBool},
    {ScalarType::kInt8, "int8", "i8", "signed char", 1, true, ScalarType::kInt8},
    {ScalarType::kInt16, "int16", "i16", "short", 2, true, ScalarType::kInt16},
    {ScalarType::kInt32, "int32", "i32", "int", 4, true, ScalarType::kInt32},
    {ScalarType::kInt64, "int64", "i64", "long", 8, true, ScalarType::kInt64},
    {ScalarType::kUint8, "uint8", "u8", "unsigned char", 1, false, ScalarType::kUint8},
    {ScalarType::kUint16, "uint16", "u16", "unsigned short", 2, false, ScalarType::kUint16},
    {ScalarType::kUint32, "uint32", "u32", "unsigned", 4, false, ScalarType::kUint32},
    {ScalarType::kUint64, "uint64", "u64", "unsigned long", 8, false, ScalarType::kUint64},
    {ScalarType::kFloat32, "fp32", "f32", "float", 4, true, ScalarType::kFloat32, {8, 23}},
    {ScalarType::kFloat64, "fp64", "f64", "double", 8, true, ScalarType::kFloat64, {11, 52}},
    {ScalarType::kFloat16, "fp16", "h16", "_Float16", 2, true, ScalarType::kFloat32, {5, 10}},
    {ScalarType::kBfloat16, "bf16", "bh16", "__bf16", 2, true, ScalarType::kFloat32, {8, 7}},
    {ScalarType::kFloat8E4m3,
     "fp8e4m3",
     "e4m3",
     "",
     1,
     true,
     ScalarType::kFloat32,
     {4, 3, /*has_infinities=*/false, /*saturates=*/true}},
    {ScalarType::kFloat8E5m2,
     "fp8e5m2",
     "e5m2",
     "",
     1,
     true,
     ScalarType::kFloat32,
     {5, 2, /*has_infinities=*/true, /*saturates=*/true}},
};

constexpr const ScalarTypeInfo& Info(ScalarType type) {
  return kScalarTypes[static_cast<size_t>(type) - 1];
}

// All types, in the order of their values.
inline absl::Span<const ScalarTypeInfo> AllScalarTypes() { return kScalarTypes; }

// The type called `name`, nullopt if there is none. Accepts the aliases half, float, double and
// int.
std::optional<ScalarType> ScalarTypeFromName(std::string_view name);

constexpr absl::string_view Name(ScalarType type) { return Info(type).name; }
constexpr int SizeBytes(ScalarType type) { return Info(type).size_bytes; }
constexpr bool IsFloatingPoint(ScalarType type) { return Info(type).format.exponent_bits > 0; }
constexpr bool IsInteger(ScalarType type) {
  return type != ScalarType::kBool && !IsFloatingPoint(type);
}
constexpr bool IsSigned(ScalarType type) { return Info(type).is_signed; }
// An integer of eight bits.
constexpr bool IsFp8(ScalarType type) {
  return type == ScalarType::kFloat8E4m3 || type == ScalarType::kFloat8E5m2;
}
constexpr bool IsByte(ScalarType type) { return IsInteger(type) && SizeBytes(type) == 1; }

// Values of the type exist in memory only, where their bits are an unsigned integer: they are
// computed with in fp32 and rounded after every operation.
constexpr bool IsStorageOnly(ScalarType type) { return Info(type).computed != type; }

// Of floating-point types.
constexpr int ExponentBias(const FloatFormat& format) {
  return (1 << (format.exponent_bits - 1)) - 1;
}
// Bits with the largest exponent and no fraction: infinity, where there is one.
constexpr uint64_t LargestExponentPattern(const FloatFormat& format) {
  return ((uint64_t{1} << format.exponent_bits) - 1) << format.fraction_bits;
}
// Bits of the least pattern behind the finite numbers: infinity, or nan where there is none.
constexpr uint64_t FirstSpecialPattern(const FloatFormat& format) {
  const uint64_t last = (uint64_t{1} << (format.exponent_bits + format.fraction_bits)) - 1;
  return format.has_infinities ? LargestExponentPattern(format) : last;
}
// Bits that numbers beyond the largest one get.
constexpr uint64_t OverflowPattern(const FloatFormat& format) {
  return FirstSpecialPattern(format) - (format.saturates ? 1 : 0);
}
// Bits of nan.
constexpr uint64_t NanPattern(const FloatFormat& format) {
  return LargestExponentPattern(format) |
         (format.has_infinities ? uint64_t{1} << (format.fraction_bits - 1)
                                : FirstSpecialPattern(format));
}
double Epsilon(ScalarType type);         // from 1 to the next number
double LargestFinite(ScalarType type);   // 65504 of fp16
double SmallestNormal(ScalarType type);  // 2^-14 of fp16
// Of an infinity the least number that is rounded to it, 65520 of fp16; else the value itself.
double WithoutInfinity(ScalarType type, double value);

// Whether every value of `from` is one of `to`.
bool HoldsAllValues(ScalarType to, ScalarType from);

}  // namespace mdh
