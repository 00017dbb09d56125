// One value of a scalar type, and the meaning of every scalar operation on values: the reference
// interpreter computes with this, generated code must agree with it.
#pragma once

#include <bit>
#include <cstdint>
#include <string>

#include "core/scalar/scalar_type.h"

namespace mdh {

// Immutable. Integers and bool live in `bits` (sign- or zero-extended to 64 bits), floating-point
// values in `real`, rounded to their type.
class ScalarValue {
 public:
  static ScalarValue Bool(bool value);
  // Wraps modulo 2^bits of the integer type.
  static ScalarValue Integer(ScalarType type, int64_t value);
  // Rounds to the floating-point type, to nearest even, to those narrower than fp32 through fp32.
  // What is too large becomes infinite, or the type's largest number where its format saturates;
  // every nan becomes the same nan.
  static ScalarValue Real(ScalarType type, double value);
  // Whether a number, or an infinity, rounds to something beyond the type's largest number: then it
  // has no literal.
  static bool IsTooLarge(ScalarType type, double value);
  static ScalarValue Zero(ScalarType type);
  // Reads SizeBytes(type) bytes in the machine's byte order.
  static ScalarValue Load(ScalarType type, const void* from);
  void Store(void* to) const;

  ScalarType type() const { return type_; }
  bool as_bool() const { return bits_ != 0; }
  int64_t as_int64() const { return bits_; }  // integers and bool
  uint64_t as_uint64() const { return static_cast<uint64_t>(bits_); }
  double as_double() const;  // any type, converted

  // A literal of the text form that reads back as the same value: "1.5", "-3", "true", "inf".
  std::string ToString() const;

  // Identity of type and bits: nan equals nan, 0.0 and -0.0 differ.
  friend bool operator==(const ScalarValue& a, const ScalarValue& b) {
    return a.type_ == b.type_ && a.bits_ == b.bits_ &&
           std::bit_cast<uint64_t>(a.real_) == std::bit_cast<uint64_t>(b.real_);
  }

 private:
  ScalarValue(ScalarType type, int64_t bits, double real) : type_(type), bits_(bits), real_(real) {}
  ScalarType type_;
  int64_t bits_;
  double real_;
};

}  // namespace mdh
