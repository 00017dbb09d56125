// min, max, fmin and fmax of floating-point values as gcc and clang compile them, on scalars and
// vectors of every size, against their meaning on values, bit by bit but for what a nan looks like.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/print/c_prelude.h"
#include "codegen/print/c_spelling.h"
#include "core/scalar/scalar_function.h"
#include "tests/codegen/compiled_prelude.h"

namespace mdh::extremes_test {
namespace {

constexpr ScalarOp kExtremes[] = {ScalarOp::kMin, ScalarOp::kMax, ScalarOp::kFmin, ScalarOp::kFmax};

template <typename T>
std::vector<T> Specials() {
  using Limits = std::numeric_limits<T>;
  return {0,
          -T{0},
          1,
          -1,
          2.5,
          Limits::denorm_min(),
          -Limits::denorm_min(),
          Limits::min(),
          -Limits::min(),
          Limits::max(),
          Limits::lowest(),
          Limits::infinity(),
          -Limits::infinity(),
          Limits::quiet_NaN(),
          -Limits::quiet_NaN(),
          -3};
}

// Functions apply_f32x8_max(a, b, r) and so on, of one vector.
std::string SourceOf(ScalarType type) {
  CPrelude prelude;
  std::string functions;
  for (const int lanes : {1, 2, 4, 8, 16}) {
    const LoopValueType vector{type, lanes};
    const std::string element = CType(type, GnuC());
    for (const ScalarOp op : kExtremes) {
      const std::string call = prelude.OperationFunction(op, vector, vector);
      const auto load = [&](const char* p) {
        return lanes == 1 ? absl::StrCat("*", p)
                          : absl::StrCat(prelude.LoadFunction(vector, 1), "(", p, ")");
      };
      const std::string value = absl::StrCat(call, "(", load("a"), ", ", load("b"), ")");
      absl::StrAppend(&functions, "void apply_", lanes, "_", Info(op).name, "(const ", element,
                      "* a, const ", element, "* b, ", element, "* r) {\n  ",
                      lanes == 1
                          ? absl::StrCat("*r = ", value)
                          : absl::StrCat(prelude.StoreFunction(vector, 1), "(r, ", value, ")"),
                      ";\n}\n");
    }
  }
  return prelude.ToString() + functions;
}

template <typename T>
void ExpectSame(void* library, ScalarType type, const std::string& how) {
  const std::vector<T> a = Specials<T>();
  for (const int lanes : {1, 2, 4, 8, 16}) {
    for (const ScalarOp op : kExtremes) {
      const std::string name = absl::StrCat("apply_", lanes, "_", Info(op).name);
      auto* apply =
          reinterpret_cast<void (*)(const T*, const T*, T*)>(dlsym(library, name.c_str()));
      ASSERT_NE(apply, nullptr) << name;
      for (size_t shift = 0; shift < a.size(); ++shift) {
        std::vector<T> b(16), r(16);
        for (size_t n = 0; n < 16; ++n) b[n] = a[(n + shift) % 16];
        for (int n = 0; n < 16; n += lanes) apply(&a[n], &b[n], &r[n]);
        for (size_t n = 0; n < 16; ++n) {
          const ScalarValue want =
              Apply(op, type, {ScalarValue::Real(type, a[n]), ScalarValue::Real(type, b[n])});
          const ScalarValue got = ScalarValue::Real(type, r[n]);
          EXPECT_TRUE(got == want) << how << " " << name << "(" << a[n] << ", " << b[n] << ") is "
                                   << got.ToString() << ", not " << want.ToString();
        }
      }
    }
  }
}

TEST(ExtremesTest, AreThoseOfIeee754OnVectorsOfEveryCompiler) {
  ForEachCompiler(SourceOf(ScalarType::kFloat32), [](void* library, const std::string& how) {
    ExpectSame<float>(library, ScalarType::kFloat32, how);
  });
  ForEachCompiler(SourceOf(ScalarType::kFloat64), [](void* library, const std::string& how) {
    ExpectSame<double>(library, ScalarType::kFloat64, how);
  });
}

}  // namespace
}  // namespace mdh::extremes_test
