#include "codegen/c_spelling.h"

#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace mdh {

std::string CType(ScalarType type) {
  switch (type) {
    case ScalarType::kBool:
      return "uint8_t";
    case ScalarType::kFloat32:
      return "float";
    case ScalarType::kFloat64:
      return "double";
    case ScalarType::kFloat16:
    case ScalarType::kBfloat16:
      return "uint16_t";
    default:
      return absl::StrCat(Name(type), "_t");
  }
}

std::string ShortName(ScalarType type) {
  if (type == ScalarType::kFloat16) return "h16";
  if (type == ScalarType::kBfloat16) return "bh16";
  const char kind = type == ScalarType::kBool ? 'b'
                    : IsFloatingPoint(type)   ? 'f'
                    : IsSigned(type)          ? 'i'
                                              : 'u';
  return absl::StrFormat("%c%d", kind, SizeBytes(type) * 8);
}

std::string CType(ValueType type) {
  if (type.lanes == 1) return CType(type.scalar);
  return absl::StrCat(ShortName(type.scalar), "x", type.lanes);
}

std::string CLiteral(const ScalarValue& value) {
  const ScalarType type = value.type();
  if (type == ScalarType::kBool) return value.as_bool() ? "1" : "0";
  if (IsHalf(type)) {
    uint16_t bits;
    value.Store(&bits);
    return absl::StrFormat("UINT16_C(0x%04x)", bits);
  }
  if (IsFloatingPoint(type)) {
    const double x = value.as_double();
    const bool single = type == ScalarType::kFloat32;
    if (std::isnan(x)) return single ? "__builtin_nanf(\"\")" : "__builtin_nan(\"\")";
    if (std::isinf(x)) {
      return absl::StrCat(x < 0 ? "-" : "", single ? "__builtin_inff()" : "__builtin_inf()");
    }
    std::string text = single ? absl::StrFormat("%.9g", x) : absl::StrFormat("%.17g", x);
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    return single ? text + "f" : text;
  }
  const int bits = SizeBytes(type) * 8;
  if (!IsSigned(type)) return absl::StrFormat("UINT%d_C(%d)", bits, value.as_uint64());
  if (bits == 64 && value.as_int64() == INT64_MIN) return "INT64_MIN";
  if (bits < 64) return absl::StrFormat("%d", value.as_int64());
  return absl::StrFormat("INT64_C(%d)", value.as_int64());
}

namespace {

// Words of C, C++ and their libraries' headers that generated code includes, and names that
// generated code uses itself.
constexpr absl::string_view kReservedWords =
    " auto break case char const continue default do double else enum extern float for goto if "
    "inline "
    "int long register restrict return short signed sizeof static struct switch typedef union "
    "unsigned "
    "void volatile while class new delete this template typename namespace operator private public "
    "protected virtual friend using try catch throw bool true false and or not xor asm typeof "
    "typeid "
    "concept requires alignas alignof mutable explicit nullptr static_assert decltype constexpr "
    "char8_t char16_t char32_t wchar_t compl bitand bitor export const_cast static_cast "
    "reinterpret_cast dynamic_cast and_eq or_eq not_eq xor_eq co_await co_return co_yield "
    "consteval "
    "constinit noexcept thread_local linux unix NULL INFINITY NAN I errno main abs exp log log2 "
    "pow sin "
    "cos tan sqrt tanh floor ceil round trunc erf exp2 j0 j1 jn y0 y1 yn gamma signgam div free "
    "malloc calloc realloc "
    "exit "
    "abort rand random system labs llabs atoi "
    "thread threads scratch stage part part_end first parts empty slot lane t stride own error "
    "item "
    "line chunk ";

// Suffixes of names that generated code derives from the user's.
constexpr absl::string_view kReservedSuffixes =
    " cor mm l3 l2 l1 begin end packed partial slot from at total s offset sum part ";

bool ContainsWord(absl::string_view words, absl::string_view word) {
  return absl::StrContains(words, absl::StrCat(" ", word, " "));
}

bool IsNumbered(absl::string_view name, absl::string_view stem) {  // "at0", "total12", "f32x8"
  return absl::ConsumePrefix(&name, stem) && !name.empty() &&
         name.find_first_not_of("0123456789") == absl::string_view::npos;
}

}  // namespace

std::string CIdentifier(const std::string& name) {
  if (absl::StartsWith(name, "_") || absl::StartsWith(name, "mdh_")) return "v" + name;
  const size_t underscore = name.rfind('_');
  const bool derived =
      underscore != std::string::npos &&
      ContainsWord(kReservedSuffixes, absl::string_view(name).substr(underscore + 1));
  bool generated = false;
  for (const absl::string_view stem :
       {"at", "total", "next", "f32x", "f64x", "b8x", "i8x", "i16x", "i32x", "i64x", "u8x", "u16x",
        "u32x", "u64x", "h16x", "bh16x", "table"}) {
    generated |= IsNumbered(name, stem);
  }
  for (const absl::string_view stem :
       {"load_", "store_", "gather_", "scatter_", "splat_", "tile_", "stage_"}) {
    generated |= absl::StartsWith(name, stem);
  }
  const bool typedef_name = absl::EndsWith(name, "_t");
  return derived || generated || typedef_name || ContainsWord(kReservedWords, name) ? name + "_"
                                                                                    : name;
}

bool IsNativeOperator(ScalarOp op, ValueType type, ValueType operand) {
  switch (op) {
    case ScalarOp::kAdd:
    case ScalarOp::kSub:
    case ScalarOp::kMul:
    case ScalarOp::kNeg:
    case ScalarOp::kBitAnd:
    case ScalarOp::kBitOr:
    case ScalarOp::kBitXor:
    case ScalarOp::kAnd:
    case ScalarOp::kOr:
      return true;
    case ScalarOp::kDiv:
      return IsFloatingPoint(type.scalar);
    case ScalarOp::kNot:
      return true;
    default:
      return op >= ScalarOp::kEq && op <= ScalarOp::kGe && operand.lanes == 1;
  }
}

}  // namespace mdh
