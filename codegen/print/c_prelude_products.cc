// Sums of products of short integers (AddProducts), by the instructions that compilers do not find
// in C's vector operators: products of neighbours that are added up at once. They are exact or wrap
// as the sum does, so where a target has none, the same comes from conversions.
#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "codegen/print/c_prelude.h"
#include "codegen/program/c_names.h"

namespace mdh {
namespace {

int Bytes(LoopValueType type) { return type.lanes * SizeBytes(type.scalar); }

// Of pairs of 16 bits, in vectors of so many bytes.
std::string PairsFeature(int bytes) {
  return bytes == 64   ? "defined(__AVX512BW__)"
         : bytes == 32 ? "defined(__AVX2__)"
         : bytes == 16 ? "defined(__AVX__)"
                       : "0";
}

// Of fours of bytes: with AVX-512's encoding, and with that of AVX.
std::string FoursFeature(int bytes) {
  if (bytes == 64) return "defined(__AVX512VNNI__)";
  return bytes >= 16 ? "defined(__AVX512VNNI__) && defined(__AVX512VL__)" : "0";
}
std::string AvxFoursFeature(int bytes) {
  return bytes == 16 || bytes == 32 ? "defined(__AVXVNNI__)" : "0";
}

// sum += products of unsigned and signed bytes, which have names or are constants.
std::string AddFours(absl::string_view encoding, absl::string_view sum,
                     absl::string_view of_unsigned, absl::string_view of_signed) {
  return absl::Substitute(
      "  __asm__(\"$0vpdpbusd %2, %1, %0\" : \"+v\"($1) : \"v\"($2), \"vm\"($3));\n", encoding, sum,
      of_unsigned, of_signed);
}

}  // namespace

std::string CPrelude::HalfAs(const std::string& name, LoopValueType whole, bool is_upper,
                             LoopValueType type) {
  const LoopValue half = MakeGroupHalves(MakeNamed(name, whole), whole.lanes, is_upper);
  const std::string text =
      whole.lanes == 2
          ? absl::StrCat(name, is_upper ? "[1]" : "[0]")
          : absl::StrCat(GroupHalvesFunction(std::get<GroupHalves>(half->form)), "(", name, ")");
  return absl::StrCat(OperationFunction(ScalarOp::kCast, type, half->type), "(", text, ")");
}

// Signed by signed: a + 128 is unsigned, and 128 times the other's sum is too much. Unsigned by
// unsigned: b - 128 is signed, and as much is missing.
std::string CPrelude::AddProductsOfBytes(LoopValueType sum, LoopValueType a,
                                         std::optional<ScalarType> b) {
  const bool is_signed = IsSigned(a.scalar), b_signed = b.has_value() && IsSigned(*b);
  const LoopValueType unsigned_bytes{ScalarType::kUint8, a.lanes};
  const LoopValueType signed_bytes{ScalarType::kInt8, a.lanes};
  const auto splat = [&](LoopValueType type, const char* value) {
    return absl::StrCat(SplatFunction(type), "(", value, ")");
  };
  const auto flipped = [&](LoopValueType to, const char* name) {
    return absl::StrCat("(", VectorType(to), ")((", VectorType(unsigned_bytes), ")", name, " ^ ",
                        splat(unsigned_bytes, "0x80"), ")");
  };
  const auto with = [&](absl::string_view encoding) {
    const std::string zero = absl::StrCat("  ", VectorType(sum), " excess = {0};\n");
    const std::string end = "  return sum - excess;\n";
    if (!b.has_value()) {
      return AddFours(encoding, "sum", is_signed ? splat(unsigned_bytes, "1") : "a",
                      is_signed ? "a" : splat(signed_bytes, "1")) +
             "  return sum;\n";
    }
    if (is_signed != b_signed) {
      return AddFours(encoding, "sum", is_signed ? "b" : "a", is_signed ? "a" : "b") +
             "  return sum;\n";
    }
    if (is_signed) {
      return zero + AddFours(encoding, "sum", flipped(unsigned_bytes, "a"), "b") +
             AddFours(encoding, "excess", splat(unsigned_bytes, "128"), "b") + end;
    }
    return zero + AddFours(encoding, "sum", "a", flipped(signed_bytes, "b")) +
           AddFours(encoding, "excess", "a", splat(signed_bytes, "-128")) + end;
  };
  const LoopValueType shorts{ScalarType::kInt16, a.lanes / 2};
  const std::string halves = AddProductsFunction(
      sum, shorts, b.has_value() ? std::optional(ScalarType::kInt16) : std::nullopt);
  const auto half = [&](const std::string& so_far, bool is_upper) {
    const std::string other =
        b.has_value() ? ", " + HalfAs("b", {*b, a.lanes}, is_upper, shorts) : "";
    return absl::StrCat(halves, "(", so_far, ", ", HalfAs("a", a, is_upper, shorts), other, ")");
  };
  return absl::StrCat("#if ", FoursFeature(Bytes(a)), "\n", with(""), "#elif ",
                      AvxFoursFeature(Bytes(a)), "\n", with("%{vex%} "), "#else\n  return ",
                      half(half("sum", false), true), ";\n#endif\n");
}

std::string CPrelude::AddProductsOfShorts(LoopValueType sum, LoopValueType a, bool has_b) {
  const std::string vector = VectorType(sum);
  const LoopValueType shorts{ScalarType::kInt16, a.lanes};
  const bool is_signed = IsSigned(a.scalar);
  const std::string first =
      is_signed ? "a"
                : absl::StrCat("(", VectorType(shorts), ")(a ^ ", SplatFunction(a), "(0x8000))");
  const std::string second = has_b ? "b" : absl::StrCat(SplatFunction(shorts), "(1)");
  const auto half = [&](bool is_upper) {
    const std::string value = HalfAs("a", a, is_upper, sum);
    return has_b ? absl::StrCat(value, " * ", HalfAs("b", a, is_upper, sum)) : value;
  };
  return absl::Substitute(
      "#if $0\n  $1 pairs;\n"
      "  __asm__(\"vpmaddwd %2, %1, %0\" : \"=v\"(pairs) : \"v\"($2), \"vm\"($3));\n"
      "  return sum + pairs$4;\n#else\n  return sum + $5 + $6;\n#endif\n",
      PairsFeature(Bytes(a)), vector, first, second,
      is_signed ? "" : absl::StrCat(" + ", SplatFunction(sum), "(65536)"), half(false), half(true));
}

// Two products of 16 bits make at most 2^31, one more than fits, and at least -2^31 + 2^16.
std::string CPrelude::AddLongProductsOfShorts(LoopValueType sum, LoopValueType a, bool has_b) {
  const LoopValueType words{ScalarType::kInt32, 2 * sum.lanes};
  const std::string pairs =
      AddProductsFunction(words, a, has_b ? std::optional(ScalarType::kInt16) : std::nullopt);
  return absl::Substitute("  const $0 less = $1($2(-1), a$3);\n  return sum + $4 + $5 + $6(2);\n",
                          VectorType(words), pairs, SplatFunction(words), has_b ? ", b" : "",
                          HalfAs("less", words, false, sum), HalfAs("less", words, true, sum),
                          SplatFunction(sum));
}

std::string CPrelude::AddProductsFunction(LoopValueType sum, LoopValueType a,
                                          std::optional<ScalarType> b) {
  const std::string vector = VectorType(sum), left = VectorType(a);
  const std::string name = absl::StrCat("mdh_add_products_", vector, "_", ShortName(a.scalar),
                                        b.has_value() ? "_" + ShortName(*b) : "");
  if (defined_.contains(name)) return name;
  const std::string right =
      b.has_value() ? absl::StrCat(", ", VectorType({*b, a.lanes}), " b") : "";
  const std::string body = SizeBytes(a.scalar) == 1 ? AddProductsOfBytes(sum, a, b)
                           : SizeBytes(sum.scalar) == 4
                               ? AddProductsOfShorts(sum, a, b.has_value())
                               : AddLongProductsOfShorts(sum, a, b.has_value());
  DefineFunction(
      name, absl::Substitute("$0 $1($0 sum, $2 a$3) {\n$4}\n", vector, name, left, right, body));
  return name;
}

}  // namespace mdh
