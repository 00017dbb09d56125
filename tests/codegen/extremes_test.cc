// min, max, fmin and fmax of floating-point values as gcc and clang compile them, on scalars and
// vectors of every size, against their meaning on values, bit by bit but for what a nan looks like.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/c_prelude.h"
#include "codegen/c_spelling.h"
#include "core/scalar_function.h"

namespace mdh {
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
                          : absl::StrCat(prelude.LoadFunction(vector, true), "(", p, ")");
      };
      const std::string value = absl::StrCat(call, "(", load("a"), ", ", load("b"), ")");
      absl::StrAppend(&functions, "void apply_", lanes, "_", Info(op).name, "(const ", element,
                      "* a, const ", element, "* b, ", element, "* r) {\n  ",
                      lanes == 1
                          ? absl::StrCat("*r = ", value)
                          : absl::StrCat(prelude.StoreFunction(vector, true), "(r, ", value, ")"),
                      ";\n}\n");
    }
  }
  return absl::StrCat("#include <stdint.h>\n#include <string.h>\n", prelude.ToString(), functions);
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
  std::string pattern = (std::filesystem::temp_directory_path() / "mdh-extremes-XXXXXX").string();
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  int compiled = 0;
  for (const ScalarType type : {ScalarType::kFloat32, ScalarType::kFloat64}) {
    const std::string stem = absl::StrCat(pattern, "/", Name(type));
    std::ofstream(stem + ".c") << SourceOf(type);
    for (const char* compiler : {"gcc", "clang"}) {
      for (const char* target : {"-march=native", ""}) {
        const std::string how = absl::StrCat(compiler, " ", target);
        const std::string library = absl::StrCat(stem, ++compiled, ".so");
        const bool has =
            std::system(absl::StrCat(compiler, " --version > /dev/null 2>&1").c_str()) == 0;
        if (!has) continue;
        ASSERT_EQ(std::system(absl::StrCat(how,
                                           " -O2 -w -Wno-psabi -shared -fPIC -fno-math-errno "
                                           "-fno-trapping-math -ffp-contract=fast -o ",
                                           library, " ", stem, ".c")
                                  .c_str()),
                  0);
        void* loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
        ASSERT_NE(loaded, nullptr) << dlerror();
        if (type == ScalarType::kFloat32) {
          ExpectSame<float>(loaded, type, how);
        } else {
          ExpectSame<double>(loaded, type, how);
        }
        dlclose(loaded);
      }
    }
  }
  std::filesystem::remove_all(pattern);
}

}  // namespace
}  // namespace mdh
