// The table of scalar types.
#include "core/scalar/scalar_type.h"

#include <array>

namespace mdh {
namespace {

constexpr std::array<ScalarTypeInfo, 13> kTypes = {{
    {ScalarType::kBool, "bool", 1, false, false},
    {ScalarType::kInt8, "int8", 1, false, true},
    {ScalarType::kInt16, "int16", 2, false, true},
    {ScalarType::kInt32, "int32", 4, false, true},
    {ScalarType::kInt64, "int64", 8, false, true},
    {ScalarType::kUint8, "uint8", 1, false, false},
    {ScalarType::kUint16, "uint16", 2, false, false},
    {ScalarType::kUint32, "uint32", 4, false, false},
    {ScalarType::kUint64, "uint64", 8, false, false},
    {ScalarType::kFloat32, "fp32", 4, true, true},
    {ScalarType::kFloat64, "fp64", 8, true, true},
    {ScalarType::kFloat16, "fp16", 2, true, true},
    {ScalarType::kBfloat16, "bf16", 2, true, true},
}};

}  // namespace

const ScalarTypeInfo& Info(ScalarType type) { return kTypes[static_cast<size_t>(type) - 1]; }

std::optional<ScalarType> ScalarTypeFromName(std::string_view name) {
  for (const ScalarTypeInfo& info : kTypes) {
    if (info.name == absl::string_view(name.data(), name.size())) return info.type;
  }
  if (name == "half") return ScalarType::kFloat16;
  if (name == "float") return ScalarType::kFloat32;
  if (name == "double") return ScalarType::kFloat64;
  if (name == "int") return ScalarType::kInt32;
  return std::nullopt;
}

absl::Span<const ScalarTypeInfo> AllScalarTypes() { return kTypes; }

}  // namespace mdh
