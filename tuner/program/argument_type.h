// Types of kernel arguments, and their elements in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/status.h"
#include "tuner/space/formula/value.h"

namespace mdh {

enum class ArgumentType : uint8_t {
  kInt8,
  kUint8,
  kInt16,
  kUint16,
  kInt32,
  kUint32,
  kInt64,
  kUint64,
  kFloat32,
  kFloat64,
};

// Errors: InvalidArgument, naming those that exist.
Result<ArgumentType> ArgumentTypeNamed(std::string_view name);  // "float32"
std::string_view Name(ArgumentType type);
int SizeBytes(ArgumentType type);
bool IsReal(ArgumentType type);

// Writes a number, rounded to the type if that is real. Errors: InvalidArgument if it is no number,
// or an integer type cannot hold it.
Status StoreNumber(const Value& number, ArgumentType type, std::byte* to);

// An element as a number. LoadInteger: nullopt for reals and for integers beyond 64 bits with sign.
double LoadReal(ArgumentType type, const std::byte* from);
std::optional<int64_t> LoadInteger(ArgumentType type, const std::byte* from);

}  // namespace mdh
