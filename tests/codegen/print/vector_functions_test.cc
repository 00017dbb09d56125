// exp and the like of vectors, as gcc and clang compile them where values may be rounded otherwise:
// a few units in the last place from the scalar functions, and the same on special values.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "codegen/print/c_prelude.h"
#include "codegen/print/c_spelling.h"
#include "core/scalar/scalar_function.h"
#include "tests/codegen/compiled_prelude.h"

namespace mdh::vector_functions_test {
namespace {

constexpr ScalarOp kFunctions[] = {
    ScalarOp::kExp,   ScalarOp::kExp2, ScalarOp::kExpm1, ScalarOp::kLog,  ScalarOp::kLog2,
    ScalarOp::kLog1p, ScalarOp::kSin,  ScalarOp::kCos,   ScalarOp::kTanh, ScalarOp::kErf,
    ScalarOp::kCbrt,  ScalarOp::kPow,  ScalarOp::kAtan2};
constexpr int kMostUnits = 6;  // libmvec promises 4, libm itself is off by up to 1

std::string FunctionName(ScalarOp op, int lanes) {
  return absl::StrCat("apply_", lanes, "_", Info(op).name);
}

// Functions apply_16_exp(a, b, r) and so on, of one vector; apply_1_exp of a scalar.
std::string SourceOf(ScalarType type, bool may_round_otherwise) {
  CPrelude prelude(GnuC(), may_round_otherwise);
  std::string functions;
  for (const int lanes : {1, 2, 4, 8, 16}) {
    const LoopValueType vector{type, lanes};
    const std::string element = CType(type, GnuC());
    for (const ScalarOp op : kFunctions) {
      const std::string call = prelude.OperationFunction(op, vector, vector);
      const auto load = [&](const char* p) {
        return lanes == 1 ? absl::StrCat("*", p)
                          : absl::StrCat(prelude.LoadFunction(vector, 1), "(", p, ")");
      };
      const std::string value = absl::StrCat(
          call, "(", load("a"), Info(op).operands == 2 ? absl::StrCat(", ", load("b")) : "", ")");
      const std::string store =
          lanes == 1 ? absl::StrCat("*r = ", value)
                     : absl::StrCat(prelude.StoreFunction(vector, 1), "(r, ", value, ")");
      absl::StrAppend(&functions, "void ", FunctionName(op, lanes), "(const ", element,
                      "* a, const ", element, "* b, ", element, "* r) {\n  (void)b;\n  ", store,
                      ";\n}\n");
    }
  }
  return absl::StrCat("#include <math.h>\n", prelude.ToString(), functions);
}

// Special values and others of every magnitude; a multiple of 16.
template <typename T>
std::vector<T> Arguments(unsigned seed) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values = {0,
                           -T{0},
                           1,
                           -1,
                           Limits::denorm_min(),
                           -Limits::min() / 2,
                           Limits::min(),
                           Limits::max(),
                           Limits::lowest(),
                           Limits::infinity(),
                           -Limits::infinity(),
                           Limits::quiet_NaN(),
                           2,
                           T{0.5},
                           -103,  // exp of it is subnormal in fp32
                           -745};
  std::mt19937 random(seed);
  std::shuffle(values.begin(), values.end(), random);
  while (values.size() < 1024) {
    const T magnitude = std::exp2(std::uniform_real_distribution<T>(-20, 8)(random));
    values.push_back(random() % 2 == 0 ? magnitude : -magnitude);
  }
  return values;
}

template <typename T>
bool IsClose(T got, T want) {
  if (std::isnan(want)) return std::isnan(got);
  if (got == want) return want != 0 || std::signbit(got) == std::signbit(want);
  if (std::isinf(want) || std::isinf(got)) return false;
  const T unit = std::max(std::abs(want) * std::numeric_limits<T>::epsilon(),
                          std::numeric_limits<T>::denorm_min());
  return std::abs(got - want) <= kMostUnits * unit;
}

template <typename T>
void ExpectClose(void* library, const std::string& how) {
  using Apply = void (*)(const T*, const T*, T*);
  const std::vector<T> a = Arguments<T>(1), b = Arguments<T>(2);
  for (const ScalarOp op : kFunctions) {
    const auto find = [&](int lanes) {
      return reinterpret_cast<Apply>(dlsym(library, FunctionName(op, lanes).c_str()));
    };
    std::vector<T> want(a.size()), got(a.size());
    for (size_t n = 0; n < a.size(); ++n) find(1)(&a[n], &b[n], &want[n]);
    for (const int lanes : {2, 4, 8, 16}) {
      for (size_t n = 0; n < a.size(); n += static_cast<size_t>(lanes)) {
        find(lanes)(&a[n], &b[n], &got[n]);
      }
      for (size_t n = 0; n < a.size(); ++n) {
        ASSERT_TRUE(IsClose(got[n], want[n]))
            << how << " " << FunctionName(op, lanes) << "(" << a[n] << ", " << b[n] << ") is "
            << got[n] << ", not " << want[n];
      }
    }
  }
}

TEST(VectorFunctionsTest, AreCloseToThoseOfScalars) {
  ForEachCompiler(SourceOf(ScalarType::kFloat32, true),
                  [](void* library, const std::string& how) { ExpectClose<float>(library, how); });
  ForEachCompiler(SourceOf(ScalarType::kFloat64, true),
                  [](void* library, const std::string& how) { ExpectClose<double>(library, how); });
}

// Of all vectors in single precision, in units in the last place of what double precision gives.
void ExpectUnits(ScalarOp op, double (*function)(double), std::vector<float> values,
                 double most_units) {
  while (values.size() % 16 != 0) values.push_back(0);
  ForEachCompiler(SourceOf(ScalarType::kFloat32, true), [&](void* library, const std::string& how) {
    using Apply = void (*)(const float*, const float*, float*);
    for (const int lanes : {2, 4, 8, 16}) {
      const std::string name = FunctionName(op, lanes);
      const auto apply = reinterpret_cast<Apply>(dlsym(library, name.c_str()));
      std::vector<float> got(values.size());
      for (size_t n = 0; n < values.size(); n += static_cast<size_t>(lanes))
        apply(&values[n], &values[n], &got[n]);
      for (size_t n = 0; n < values.size(); ++n) {
        const double exact = function(static_cast<double>(values[n]));
        const float want = static_cast<float>(exact);
        if (got[n] == want) continue;
        ASSERT_FALSE(std::isinf(got[n]) || std::isinf(want)) << how << " of " << values[n];
        const double unit = std::abs(std::nextafter(want, 2 * want) - static_cast<double>(want));
        ASSERT_LE(std::abs(got[n] - exact), most_units * unit)
            << how << " " << name << " of " << values[n];
      }
    }
  });
}

// Not only near 0, but where results are subnormal, zero or infinite, too.
TEST(VectorFunctionsTest, ExponentialsAreOffByAboutAUnit) {
  std::vector<float> values;
  for (float x = -110; x < 90; x += 0.0071f) values.push_back(x);
  for (const float edge : {88.7228317f, 88.7228394f, -87.33655f, -103.27893f, -103.97208f}) {
    values.insert(values.end(), {edge, std::nextafter(edge, 0.0f), std::nextafter(edge, 2 * edge)});
  }
  ExpectUnits(
      ScalarOp::kExp, [](double x) { return std::exp(x); }, std::move(values), 1.5);
}

// At the ends of all intervals, too, and of small values in proportion.
TEST(VectorFunctionsTest, ErrorFunctionsAreOffByAFewUnits) {
  std::vector<float> values;
  for (float x = 1e-30f; x < 20; x *= 1.00171f) values.insert(values.end(), {x, -x});
  for (float edge = 0.25f; edge <= 4.25f; edge += 0.25f) {
    values.insert(values.end(), {edge, std::nextafter(edge, 0.0f), -std::nextafter(edge, 5.0f)});
  }
  ExpectUnits(
      ScalarOp::kErf, [](double x) { return std::erf(x); }, std::move(values), 4);
}

TEST(VectorFunctionsTest, AreThoseOfScalarsWhereBitsCount) {
  EXPECT_TRUE(absl::StrContains(SourceOf(ScalarType::kFloat32, true), "_ZGVeN16v_logf"));
  EXPECT_TRUE(absl::StrContains(SourceOf(ScalarType::kFloat64, true), "_ZGVeN8v_exp"));
  for (const char* const others : {"_ZGV", "1.44269504f", "mdh_erf_values"}) {
    EXPECT_TRUE(absl::StrContains(SourceOf(ScalarType::kFloat32, true), others));
    EXPECT_FALSE(absl::StrContains(SourceOf(ScalarType::kFloat32, false), others));
  }
}

}  // namespace
}  // namespace mdh::vector_functions_test
