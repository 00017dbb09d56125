// Words of neighbours and sums of their products (LoadWords, AddDots), by dot instructions where
// the compiler's target has them; elsewhere the same comes from shifts and multiplications.
#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "codegen/print/c_prelude.h"

namespace mdh {
namespace {

constexpr int kWholeBytes = 64, kLeastBytes = 16;  // of vectors that have such instructions

// With AVX-512's encoding.
std::string DotsFeature(absl::string_view macro, int bytes) {
  if (bytes < kLeastBytes || bytes > kWholeBytes) return "0";
  return absl::StrCat("defined(", macro, ")",
                      bytes < kWholeBytes ? " && defined(__AVX512VL__)" : "");
}

std::string AddByInstruction(absl::string_view name) {
  return absl::Substitute(
      "  __asm__(\"$0 %2, %1, %0\" : \"+v\"(sum) : \"v\"(a), \"vm\"(b));\n  return sum;\n", name);
}

// The bits of a word or of words as floats.
std::string WordsAsFloats(const std::string& type, const std::string& value, bool is_vector) {
  if (is_vector) return absl::StrCat("(", type, ")(", value, ")");
  return absl::StrCat("((union {uint32_t bits; float value;}){", value, "}).value");
}

}  // namespace

std::string CPrelude::LoadWordsFunction(int lanes) {
  const LoopValueType words{ScalarType::kUint32, lanes};
  if (lanes == 1) {
    const std::string name = "mdh_load_word";
    DefineFunction(name, absl::Substitute("uint32_t $0(const void* p) {\n  uint32_t word;\n"
                                          "  __builtin_memcpy(&word, p, 4);\n  return word;\n}\n",
                                          name));
    return name;
  }
  const std::string one = LoadWordsFunction(1), vector = VectorType(words);
  const std::string name = absl::StrCat("mdh_load_words_", lanes);
  std::string each;
  for (int l = 0; l < lanes; ++l) {
    absl::StrAppend(&each, l == 0 ? "" : ", ", one, "((const char*)p + ", l, " * bytes)");
  }
  DefineFunction(name, absl::Substitute("$0 $1(const void* p, int64_t bytes) {\n"
                                        "  return ($0){$2};\n}\n",
                                        vector, name, each));
  return name;
}

std::string CPrelude::AddDotsOfHalves(LoopValueType sum) {
  const bool is_vector = sum.lanes > 1;
  const std::string type = Spelled(sum);
  const auto half = [&](const char* name, bool is_upper) {
    return WordsAsFloats(type, absl::StrCat(name, is_upper ? " & 0xffff0000u" : " << 16"),
                         is_vector);
  };
  const std::string lower = absl::StrCat(half("a", false), " * ", half("b", false));
  const std::string upper = absl::StrCat(half("a", true), " * ", half("b", true));
  return absl::Substitute("#if $0\n$1#else\n  return sum + $2 + $3;\n#endif\n",
                          DotsFeature("__AVX512BF16__", 4 * sum.lanes),
                          AddByInstruction("vdpbf16ps"), lower, upper);
}

std::string CPrelude::AddDotsOfBytes(LoopValueType sum) {
  const std::string type = Spelled(sum);
  std::string products;
  for (const int bit : {0, 8, 16, 24}) {
    absl::StrAppend(&products, " + ($0)((a >> ", bit, ") & 0xffu) * (($0)(b << ", 24 - bit,
                    ") >> 24)");
  }
  const int bytes = 4 * sum.lanes;
  const std::string has_short = bytes == 16 || bytes == 32 ? "defined(__AVXVNNI__)" : "0";
  return absl::StrCat("#if ", DotsFeature("__AVX512VNNI__", bytes), "\n",
                      AddByInstruction("vpdpbusd"), "#elif ", has_short, "\n",
                      AddByInstruction("%{vex%} vpdpbusd"), "#else\n  return sum",
                      absl::Substitute(products, type), ";\n#endif\n");
}

std::string CPrelude::AddDotsFunction(LoopValueType sum) {
  const bool is_halves = IsFloatingPoint(sum.scalar);
  const LoopValueType words{ScalarType::kUint32, sum.lanes};
  const std::string name =
      absl::StrCat("mdh_add_dots_", is_halves ? "bfloat16_" : "bytes_", sum.lanes);
  if (defined_.contains(name)) return name;
  const std::string type = Spelled(sum), operands = Spelled(words);
  const std::string body = is_halves ? AddDotsOfHalves(sum) : AddDotsOfBytes(sum);
  DefineFunction(
      name, absl::Substitute("$0 $1($0 sum, $2 a, $2 b) {\n$3}\n", type, name, operands, body));
  return name;
}

}  // namespace mdh
