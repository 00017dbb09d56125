// Conversions of types that exist in memory only in GNU C, scalar and of vectors, as gcc and clang
// compile them with and without this machine's instructions: every pattern, and floats around every
// number.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "codegen/print/c_prelude.h"
#include "codegen/print/c_spelling.h"
#include "tests/codegen/compiled_prelude.h"
#include "tests/codegen/print/scalar_cases.h"

namespace mdh::storage_conversions_test {
namespace {

constexpr int kLaneCounts[] = {1, 2, 4, 8, 16, 32};
constexpr ScalarType kFloat = ScalarType::kFloat32;

std::vector<ScalarType> StorageTypes() {
  std::vector<ScalarType> types;
  for (const ScalarTypeInfo& info : AllScalarTypes()) {
    if (IsStorageOnly(info.type)) types.push_back(info.type);
  }
  return types;
}

std::string FunctionName(absl::string_view what, ScalarType type, int lanes) {
  return absl::StrCat(what, "_", Name(type), "x", lanes);
}

// Functions widen_TxL(count, from, to) and narrow_TxL, of arrays.
std::string Conversions() {
  CPrelude prelude;
  std::string functions;
  const auto append = [&](const std::string& name, ScalarType to, ScalarType from, int lanes) {
    const auto spelled = [&](ScalarType type) {
      return lanes == 1 ? CType(type) : prelude.VectorType({type, lanes});
    };
    const std::string convert =
        prelude.OperationFunction(ScalarOp::kCast, {to, lanes}, {from, lanes});
    absl::StrAppend(&functions, absl::Substitute("void $0(long count, const $1* from, $2* to) {\n"
                                                 "  for (long n = 0; n < count; n += $3) {\n"
                                                 "    $4 a;\n    $5 r;\n"
                                                 "    memcpy(&a, from + n, sizeof a);\n"
                                                 "    r = $6(a);\n"
                                                 "    memcpy(to + n, &r, sizeof r);\n  }\n}\n",
                                                 name, CType(from), CType(to), lanes, spelled(from),
                                                 spelled(to), convert));
  };
  for (const ScalarType type : StorageTypes()) {
    for (const int lanes : kLaneCounts) {
      append(FunctionName("widen", type, lanes), kFloat, type, lanes);
      append(FunctionName("narrow", type, lanes), type, kFloat, lanes);
    }
  }
  return prelude.ToString() + functions;
}

// Values in memory, filled up to a multiple of the longest vectors.
std::vector<std::byte> Stored(ScalarType type, const std::vector<ScalarValue>& values) {
  constexpr size_t kMultiple = 32;
  const size_t size = SizeBytes(type);
  const size_t count = (values.size() + kMultiple - 1) / kMultiple * kMultiple;
  std::vector<std::byte> bytes(count * size);
  for (size_t n = 0; n < values.size(); ++n) values[n].Store(bytes.data() + n * size);
  return bytes;
}

void ExpectConversion(void* library, const std::string& name, ScalarType to, ScalarType from,
                      const std::vector<ScalarValue>& values) {
  auto* convert =
      reinterpret_cast<void (*)(long, const void*, void*)>(dlsym(library, name.c_str()));
  ASSERT_NE(convert, nullptr) << name;
  const std::vector<std::byte> bytes = Stored(from, values);
  const size_t count = bytes.size() / SizeBytes(from);
  std::vector<std::byte> results(count * SizeBytes(to));
  convert(static_cast<long>(count), bytes.data(), results.data());
  for (size_t n = 0; n < values.size(); ++n) {
    ASSERT_EQ(ScalarValue::Load(to, results.data() + n * SizeBytes(to)),
              Apply(ScalarOp::kCast, to, {values[n]}))
        << name << " of " << values[n].ToString();
  }
}

TEST(StorageConversionsTest, AllLanesConvertAsTheInterpreterDoes) {
  ForEachCompiler(Conversions(), [](void* library, const std::string& how) {
    SCOPED_TRACE(how);
    for (const ScalarType type : StorageTypes()) {
      std::vector<ScalarValue> floats;
      for (const float x : FloatsToRound(type)) floats.push_back(ScalarValue::Real(kFloat, x));
      for (const int lanes : kLaneCounts) {
        ExpectConversion(library, FunctionName("widen", type, lanes), kFloat, type,
                         InterestingValues(type));
        ExpectConversion(library, FunctionName("narrow", type, lanes), type, kFloat, floats);
      }
    }
  });
}

}  // namespace
}  // namespace mdh::storage_conversions_test
