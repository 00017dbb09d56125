#include "tuner/program/argument_type.h"

#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

struct TypeRow {
  std::string_view name;
  int size_bytes;
  bool is_real;
  int64_t least, most;  // of integers; uint64 ends where int64 does
};

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

// In the order of ArgumentType.
constexpr TypeRow kTypes[] = {
    {"int8", 1, false, -128, 127},
    {"uint8", 1, false, 0, 255},
    {"int16", 2, false, -32768, 32767},
    {"uint16", 2, false, 0, 65535},
    {"int32", 4, false, -2147483648LL, 2147483647},
    {"uint32", 4, false, 0, 4294967295LL},
    {"int64", 8, false, kLeast, kMost},
    {"uint64", 8, false, 0, kMost},
    {"float32", 4, true, 0, 0},
    {"float64", 8, true, 0, 0},
};

const TypeRow& Row(ArgumentType type) { return kTypes[static_cast<size_t>(type)]; }

// The integer that a number is, if it is one.
std::optional<int64_t> AsInteger(const Value& number) {
  if (const auto* integer = std::get_if<int64_t>(&number)) return *integer;
  const auto* real = std::get_if<double>(&number);
  if (real == nullptr || std::floor(*real) != *real || std::abs(*real) >= 0x1p63) {
    return std::nullopt;
  }
  return static_cast<int64_t>(*real);
}

template <typename T>
T Load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace

Result<ArgumentType> ArgumentTypeNamed(std::string_view name) {
  std::string known;
  for (size_t n = 0; n < std::size(kTypes); ++n) {
    if (kTypes[n].name == name) return static_cast<ArgumentType>(n);
    absl::StrAppend(&known, n == 0 ? "" : ", ", std::string(kTypes[n].name));
  }
  return InvalidArgument("there is no type '", std::string(name), "'; there are ", known);
}

std::string_view Name(ArgumentType type) { return Row(type).name; }
int SizeBytes(ArgumentType type) { return Row(type).size_bytes; }
bool IsReal(ArgumentType type) { return Row(type).is_real; }

Status StoreNumber(const Value& number, ArgumentType type, std::byte* to) {
  const TypeRow& row = Row(type);
  const bool is_number =
      std::holds_alternative<int64_t>(number) || std::holds_alternative<double>(number);
  if (!is_number) return InvalidArgument(ToText(number), " is no number");
  if (row.is_real) {
    const auto* integer = std::get_if<int64_t>(&number);
    const double real =
        integer != nullptr ? static_cast<double>(*integer) : std::get<double>(number);
    const float narrow = static_cast<float>(real);
    if (type == ArgumentType::kFloat32) {
      std::memcpy(to, &narrow, sizeof narrow);
    } else {
      std::memcpy(to, &real, sizeof real);
    }
    return absl::OkStatus();
  }
  const std::optional<int64_t> integer = AsInteger(number);
  if (!integer || *integer < row.least || *integer > row.most) {
    return InvalidArgument(ToText(number), " is no ", std::string(row.name));
  }
  // Little-endian machines only, as everything that runs OpenCL or CUDA.
  std::memcpy(to, &*integer, static_cast<size_t>(row.size_bytes));
  return absl::OkStatus();
}

double LoadReal(ArgumentType type, const std::byte* from) {
  if (type == ArgumentType::kFloat32) return Load<float>(from);
  if (type == ArgumentType::kFloat64) return Load<double>(from);
  if (type == ArgumentType::kUint64) return static_cast<double>(Load<uint64_t>(from));
  const std::optional<int64_t> integer = LoadInteger(type, from);
  return static_cast<double>(*integer);
}

std::optional<int64_t> LoadInteger(ArgumentType type, const std::byte* from) {
  switch (type) {
    case ArgumentType::kInt8:
      return Load<int8_t>(from);
    case ArgumentType::kUint8:
      return Load<uint8_t>(from);
    case ArgumentType::kInt16:
      return Load<int16_t>(from);
    case ArgumentType::kUint16:
      return Load<uint16_t>(from);
    case ArgumentType::kInt32:
      return Load<int32_t>(from);
    case ArgumentType::kUint32:
      return Load<uint32_t>(from);
    case ArgumentType::kInt64:
      return Load<int64_t>(from);
    case ArgumentType::kUint64: {
      const auto value = Load<uint64_t>(from);
      if (value > static_cast<uint64_t>(kMost)) return std::nullopt;
      return static_cast<int64_t>(value);
    }
    case ArgumentType::kFloat32:
    case ArgumentType::kFloat64:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace mdh
