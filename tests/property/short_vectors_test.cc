// What the prelude of C kernels has for short types - sums of products, conversions to longer
// types, fp16, orders - on every instruction set that compilers can be asked for, against plain C.
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "codegen/print/c_prelude.h"
#include "codegen/print/c_spelling.h"
#include "gtest/gtest.h"
#include "tests/property/kernel_judge.h"

namespace mdh::short_vectors_test {
namespace {

constexpr ScalarType kBool = ScalarType::kBool, kI8 = ScalarType::kInt8, kU8 = ScalarType::kUint8;
constexpr ScalarType kI16 = ScalarType::kInt16, kU16 = ScalarType::kUint16;
constexpr ScalarType kI32 = ScalarType::kInt32, kU32 = ScalarType::kUint32;
constexpr ScalarType kI64 = ScalarType::kInt64, kU64 = ScalarType::kUint64;
constexpr ScalarType kF16 = ScalarType::kFloat16, kF32 = ScalarType::kFloat32;

// Values of round r: all bits, the sign alone, all but the sign, both in turn, one, anything.
constexpr char kCommon[] = R"(
static uint64_t state = 1;
static int bad = 0;
static uint64_t next(void) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return state >> 20 ^ state << 30;
}
static uint64_t value(int r, int lane, int bytes) {
  const uint64_t sign = (uint64_t)1 << (8 * bytes - 1);
  const uint64_t fixed[] = {~(uint64_t)0, sign, sign - 1, lane % 2 ? sign : sign - 1, 1};
  return r < 5 ? fixed[r] : next();
}
)";

class ShortVectors {
 public:
  // Whatever lanes take, the sum of all of them is right.
  void CheckProducts(ScalarType sum, ScalarType a, std::optional<ScalarType> b, int bytes) {
    const int lanes = bytes / SizeBytes(a), sums = bytes / SizeBytes(sum);
    const std::string function = prelude_.AddProductsFunction({sum, sums}, {a, lanes}, b);
    const std::string one = absl::Substitute(
        "  for (int r = 0; r < 36; ++r) {\n    $0 a[$1]; $2 b[$1]; $3 s[$4];\n"
        "    for (int l = 0; l < $1; ++l) a[l] = value(r / 6, l, sizeof a[0])$5;\n"
        "    for (int l = 0; l < $1; ++l) b[l] = value(r % 6, l, sizeof b[0])$6;\n"
        "    for (int l = 0; l < $4; ++l) s[l] = value(r % 6, l, sizeof s[0]);\n",
        CType(a), lanes, CType(b.value_or(a)), CType(sum), sums, a == kBool ? " & 1" : "",
        b == kBool ? " & 1" : "");
    absl::StrAppend(
        &checks_, one,
        absl::Substitute("    uint64_t expected = 0, found = 0;\n"
                         "    for (int l = 0; l < $0; ++l) expected += s[l];\n"
                         "    for (int l = 0; l < $1; ++l) expected += (uint64_t)a[l]$2;\n",
                         sums, lanes, b.has_value() ? " * (uint64_t)b[l]" : ""),
        Loaded("s", {sum, sums}), Loaded("a", {a, lanes}),
        b.has_value() ? Loaded("b", {*b, lanes}) : "    (void)b;\n",
        absl::Substitute("    vs = $0(vs, va$1);\n"
                         "    for (int l = 0; l < $2; ++l) found += vs[l];\n"
                         "    if (($3)found != ($3)expected) ++bad, puts(\"$0\");\n  }\n",
                         function, b.has_value() ? ", vb" : "", sums, CType(sum)));
  }

  void CheckConversion(ScalarType to, ScalarType from, int lanes) {
    const std::string function =
        prelude_.OperationFunction(ScalarOp::kCast, {to, lanes}, {from, lanes});
    absl::StrAppend(
        &checks_,
        absl::Substitute("  for (int r = 0; r < 9; ++r) {\n    $0 a[$1];\n"
                         "    for (int l = 0; l < $1; ++l) a[l] = value(r, l, sizeof a[0])$2;\n",
                         CType(from), lanes, from == kBool ? " & 1" : ""),
        Loaded("a", {from, lanes}),
        absl::Substitute("    const $0 vs = $1(va);\n    for (int l = 0; l < $2; ++l) {\n"
                         "      if (vs[l] != ($3)a[l]) ++bad, puts(\"$1\");\n    }\n  }\n",
                         prelude_.VectorType({to, lanes}), function, lanes, CType(to)));
  }

  // To all halves and back; a hash of what values become that are no halves, nans all alike.
  void CheckHalves(int lanes) {
    const std::string widen =
        prelude_.OperationFunction(ScalarOp::kCast, {kF32, lanes}, {kF16, lanes});
    const std::string narrow =
        prelude_.OperationFunction(ScalarOp::kCast, {kF16, lanes}, {kF32, lanes});
    const auto type = [&](ScalarType scalar) {
      return lanes == 1 ? CType(scalar) : prelude_.VectorType({scalar, lanes});
    };
    absl::StrAppend(
        &checks_,
        absl::Substitute(
            "  for (int first = 0; first < 65536; first += $0) {\n    uint16_t a[$0], c[$0];\n"
            "    float b[$0];\n    uint32_t u[$0];\n    $1 va;\n    $2 vb;\n"
            "    for (int l = 0; l < $0; ++l) a[l] = first + l;\n"
            "    memcpy(&va, a, sizeof a);\n    vb = $3(va);\n    memcpy(u, &vb, sizeof u);\n"
            "    va = $4(vb);\n    memcpy(c, &va, sizeof c);\n"
            "    for (int l = 0; l < $0; ++l) {\n      const int is_nan = (a[l] & 0x7fff) > "
            "0x7c00;\n"
            "      if (is_nan ? (c[l] & 0x7fff) <= 0x7c00 : c[l] != a[l]) ++bad;\n"
            "      hash = hash * 31 + (is_nan ? 1 : u[l]);\n"
            "      u[l] = (uint32_t)next();\n    }\n"
            "    memcpy(b, u, sizeof b);\n    memcpy(&vb, b, sizeof b);\n    va = $4(vb);\n"
            "    memcpy(c, &va, sizeof c);\n    for (int l = 0; l < $0; ++l) {\n"
            "      hash = hash * 31 + ((c[l] & 0x7fff) > 0x7c00 ? 1 : c[l]);\n    }\n  }\n",
            lanes, type(kF16), type(kF32), widen, narrow));
  }

  // Of all halves: keys in the order of the type, one apart but between nan and infinity, and back.
  void CheckOrder(ScalarType half, int lanes) {
    for (const bool nan_is_least : {false, true}) {
      const std::string keys = prelude_.OrderKeysFunction({kU16, lanes}, half, nan_is_least);
      const std::string back = prelude_.OrderKeysFunction({half, lanes}, kU16, nan_is_least);
      absl::StrAppend(
          &checks_,
          absl::Substitute(
              "  for (int first = 0; first < 65536; first += $0) {\n    uint16_t a[$0], k[$0];\n"
              "    $1 va;\n    for (int l = 0; l < $0; ++l) a[l] = first + l;\n"
              "    memcpy(&va, a, sizeof a);\n    const $2 vk = $3(va);\n"
              "    memcpy(k, &vk, sizeof k);\n    const $1 again = $4(vk);\n"
              "    if (memcmp(&again, a, sizeof a) != 0) ++bad, puts(\"$4\");\n"
              "    for (int l = 0; l < $0; ++l) {\n"
              "      const int m = a[l] & 0x7fff, nans = 0x7fff - $5;\n"
              "      const int number = a[l] & 0x8000 ? $5 - m : $5 + 1 + m;\n"
              "      const int is_nan = m > $5;\n"
              "      const int right = is_nan ? ($6 ? k[l] < 2 * nans : k[l] > 65535 - 2 * nans)\n"
              "                               : k[l] == number + ($6 ? 2 * nans : 0);\n"
              "      if (!right) ++bad, puts(\"$3\");\n    }\n  }\n",
              lanes, prelude_.VectorType({half, lanes}), prelude_.VectorType({kU16, lanes}), keys,
              back, half == kF16 ? "0x7c00" : "0x7f80", nan_is_least ? 1 : 0));
    }
  }

  // Smaller and larger lanes of integers.
  void CheckExtremes(ScalarType type, int lanes) {
    for (const ScalarOp op : {ScalarOp::kMin, ScalarOp::kMax}) {
      const std::string function = prelude_.OperationFunction(op, {type, lanes}, {type, lanes});
      absl::StrAppend(
          &checks_,
          absl::Substitute(
              "  for (int r = 0; r < 81; ++r) {\n    $0 a[$1], b[$1];\n"
              "    for (int l = 0; l < $1; ++l) a[l] = value(r / 9, l, sizeof a[0]);\n"
              "    for (int l = 0; l < $1; ++l) b[l] = value(r % 9, l, sizeof b[0]);\n",
              CType(type), lanes),
          Loaded("a", {type, lanes}), Loaded("b", {type, lanes}),
          absl::Substitute("    const $0 vs = $1(va, vb);\n    for (int l = 0; l < $2; ++l) {\n"
                           "      if (vs[l] != (a[l] $3 b[l] ? a[l] : b[l])) ++bad, puts(\"$1\");\n"
                           "    }\n  }\n",
                           prelude_.VectorType({type, lanes}), function, lanes,
                           op == ScalarOp::kMin ? "<" : ">"));
    }
  }

  std::string Program() const {
    return absl::StrCat("#include <stdint.h>\n#include <stdio.h>\n#include <string.h>\n",
                        prelude_.ToString(), kCommon, "int main(void) {\n  uint32_t hash = 0;\n",
                        checks_,
                        "  printf(\"%d wrong, hash %u\\n\", bad, hash);\n  return 0;\n}\n");
  }

 private:
  std::string Loaded(const char* name, LoopValueType type) {
    return absl::Substitute("    $0 v$1;\n    memcpy(&v$1, $1, sizeof v$1);\n",
                            prelude_.VectorType(type), name);
  }

  CPrelude prelude_;
  std::string checks_;
};

// What the program prints, compiled by that command.
std::string Output(const std::string& program, const std::string& compiler) {
  const TemporaryDirectory directory;
  const std::string stem = directory.path() + "/check";
  std::ofstream(stem + ".c") << program;
  const std::string command = absl::StrCat(compiler, " -std=gnu11 -O1 -fwrapv -w -Wno-psabi ", stem,
                                           ".c -o ", stem, " 2>&1 && ", stem);
  FILE* pipe = popen(command.c_str(), "r");
  std::string text(10'000, '\0');
  text.resize(fread(text.data(), 1, text.size(), pipe));
  pclose(pipe);
  return text;
}

void ExpectRightEverywhere(const std::string& program) {
  const std::string plain = Output(program, "gcc");
  EXPECT_EQ(plain.rfind("0 wrong", 0), 0) << plain;
  for (const char* options :
       {"-march=native", "-march=native -mno-avx512f", "-march=native -mno-avx512f -mno-avxvnni"}) {
    EXPECT_EQ(Output(program, absl::StrCat("gcc ", options)), plain) << options;
  }
  const TemporaryDirectory directory;
  if (!ClangWorks(directory.path())) return;
  EXPECT_EQ(Output(program, "clang -march=native"), plain);
}

TEST(ShortVectorsTest, SumsOfProducts) {
  ShortVectors vectors;
  for (const int bytes : {16, 32, 64}) {
    for (const ScalarType sum : bytes == 32 ? std::vector{kI32, kU32} : std::vector{kI32}) {
      for (const ScalarType a : {kBool, kI8, kU8, kI16, kU16}) {
        vectors.CheckProducts(sum, a, std::nullopt, bytes);
      }
      for (const ScalarType a : {kBool, kI8, kU8}) {
        for (const ScalarType b : {kI8, kU8}) vectors.CheckProducts(sum, a, b, bytes);
      }
      vectors.CheckProducts(sum, kI16, kI16, bytes);
    }
    for (const ScalarType sum : {kI64, kU64}) vectors.CheckProducts(sum, kI16, kI16, bytes);
  }
  ExpectRightEverywhere(vectors.Program());
}

TEST(ShortVectorsTest, ConversionsToLongerTypes) {
  ShortVectors vectors;
  for (const ScalarType from : {kBool, kI8, kU8, kI16, kU16, kI32, kU32}) {
    for (const ScalarType to : {kI16, kU16, kI32, kI64, kU64, kF32, ScalarType::kFloat64}) {
      if (SizeBytes(to) <= SizeBytes(from)) continue;
      for (int lanes = 2; lanes * SizeBytes(to) <= 128; lanes *= 4) {
        vectors.CheckConversion(to, from, lanes);
      }
    }
  }
  ExpectRightEverywhere(vectors.Program());
}

TEST(ShortVectorsTest, OrderOfHalvesAndExtremesOfIntegers) {
  ShortVectors vectors;
  for (const ScalarType half : {kF16, ScalarType::kBfloat16}) {
    for (const int lanes : {8, 16, 32}) vectors.CheckOrder(half, lanes);
  }
  for (const ScalarType type : {kI8, kU8, kI16, kU16, kI32, kU32, kI64, kU64}) {
    for (const int bytes : {16, 32, 64}) vectors.CheckExtremes(type, bytes / SizeBytes(type));
  }
  ExpectRightEverywhere(vectors.Program());
}

TEST(ShortVectorsTest, Halves) {
  ShortVectors vectors;
  for (const int lanes : {1, 2, 4, 8, 16, 32}) vectors.CheckHalves(lanes);
  ExpectRightEverywhere(vectors.Program());
}

}  // namespace
}  // namespace mdh::short_vectors_test
