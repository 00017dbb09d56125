// Values of tuning parameters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace mdh {

enum class ValueType : uint8_t { kBool, kInteger, kReal, kString, kPermutation };

// "bool", "integer", "real", "string", "permutation".
std::string_view Name(ValueType type);

// In the order of ValueType; a permutation is its items, first to last.
using Value = std::variant<bool, int64_t, double, std::string, std::vector<std::string>>;

inline ValueType TypeOf(const Value& value) { return static_cast<ValueType>(value.index()); }

// As formulas spell it: true, 42, 0.5 (reals always have a point or an exponent), "text",
// ["i", "k", "j"].
std::string ToText(const Value& value);

}  // namespace mdh
