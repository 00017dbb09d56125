// Types of C.
#include <optional>
#include <utility>

#include "core/c_loops/clang_nodes.h"

namespace mdh {
namespace {

// An enumeration is the integer that it is kept in.
CXType WithoutNames(CXType type) {
  type = clang_getCanonicalType(type);
  return type.kind == CXType_Enum ? clang_getEnumDeclIntegerType(clang_getTypeDeclaration(type))
                                  : type;
}

std::optional<ScalarType> ScalarTypeOf(CXType type) {
  const long long bytes = clang_Type_getSizeOf(type);
  const auto integer = [&](bool is_signed) -> std::optional<ScalarType> {
    for (const ScalarTypeInfo& info : AllScalarTypes()) {
      if (IsInteger(info.type) && info.size_bytes == bytes && info.is_signed == is_signed) {
        return info.type;
      }
    }
    return std::nullopt;
  };
  switch (type.kind) {
    case CXType_Bool:
      return ScalarType::kBool;
    case CXType_Char_S:
    case CXType_SChar:
    case CXType_Short:
    case CXType_Int:
    case CXType_Long:
    case CXType_LongLong:
      return integer(true);
    case CXType_Char_U:
    case CXType_UChar:
    case CXType_UShort:
    case CXType_UInt:
    case CXType_ULong:
    case CXType_ULongLong:
      return integer(false);
    case CXType_Half:
    case CXType_Float16:
      return ScalarType::kFloat16;
    case CXType_BFloat16:
      return ScalarType::kBfloat16;
    case CXType_Float:
      return ScalarType::kFloat32;
    case CXType_Double:
      return ScalarType::kFloat64;
    default:
      return std::nullopt;
  }
}

// The fields of a struct of scalars; empty if it is something else. Looks at no other type: a
// struct may have a pointer to itself.
std::vector<CField> FieldsOf(CXType type) {
  struct State {
    std::vector<CField> fields;
    bool is_supported = true;
  } state;
  const auto visit = [](CXCursor field, CXClientData data) {
    auto* state = static_cast<State*>(data);
    const auto scalar = ScalarTypeOf(WithoutNames(clang_getCursorType(field)));
    std::string name = TakeString(clang_getCursorSpelling(field));
    state->is_supported =
        scalar.has_value() && !name.empty() && clang_Cursor_isBitField(field) == 0;
    if (!state->is_supported) return CXVisit_Break;
    state->fields.push_back({std::move(name), *scalar});
    return CXVisit_Continue;
  };
  if (clang_getCursorKind(clang_getTypeDeclaration(type)) != CXCursor_StructDecl) return {};
  clang_Type_visitFields(type, visit, &state);
  return state.is_supported ? state.fields : std::vector<CField>();
}

}  // namespace

std::vector<ScalarType> CType::ScalarTypes() const {
  if (is_scalar()) return {scalar};
  std::vector<ScalarType> types;
  for (const CField& field : fields) types.push_back(field.type);
  return types;
}

CType TypeOf(CXType type) {
  CType result;
  result.spelling = TakeString(clang_getTypeSpelling(type));
  const bool is_const = clang_isConstQualifiedType(type) != 0;
  type = clang_getCanonicalType(type);
  result.is_const = is_const || clang_isConstQualifiedType(type) != 0;
  type = WithoutNames(type);
  if (const std::optional<ScalarType> scalar = ScalarTypeOf(type); scalar.has_value()) {
    result.kind = CType::Kind::kScalar;
    result.scalar = *scalar;
    return result;
  }
  CXType element = clang_getArrayElementType(type);
  if (element.kind != CXType_Invalid) {
    result.kind = CType::Kind::kArray;
    result.extent = clang_getArraySize(type);
  } else if (type.kind == CXType_Pointer) {
    result.kind = CType::Kind::kPointer;
    element = clang_getPointeeType(type);
  } else if (type.kind == CXType_Record) {
    result.fields = FieldsOf(type);
    if (!result.fields.empty()) result.kind = CType::Kind::kRecord;
    return result;
  } else {
    return result;
  }
  result.element = std::make_shared<CType>(element.kind == CXType_FunctionProto ||
                                                   element.kind == CXType_FunctionNoProto
                                               ? CType{}
                                               : TypeOf(element));
  // clang says of the array what holds for its elements.
  const bool is_array = result.kind == CType::Kind::kArray;
  result.is_const = (is_array && result.is_const) || result.element->is_const;
  return result;
}

}  // namespace mdh
