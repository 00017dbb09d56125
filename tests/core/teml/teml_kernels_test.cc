// The kernels of the paper's evaluation, as they are shipped, against plain loops; and the paths of
// its Table 2, which mean the same.
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/pipeline/pipeline_canonical.h"
#include "core/text/pipeline_parser.h"
#include "gtest/gtest.h"
#include "tests/core/expect_same.h"
#include "tests/core/teml/teml_judge.h"
#include "tests/source_path.h"

namespace mdh::teml_kernels_test {
namespace {

const std::string kFolder = "client/expressions/teml/";

// The element of a row-major tensor.
class View {
 public:
  View(std::vector<double>* values, std::vector<int> shape)
      : values_(*values), shape_(std::move(shape)) {
    size_t elements = 1;
    for (const int extent : shape_) elements *= extent;
    values_.resize(elements);
  }
  template <typename... Index>
  double& operator()(Index... indices) const {
    size_t element = 0, d = 0;
    for (const int index : {static_cast<int>(indices)...}) element = element * shape_[d++] + index;
    return values_[element];
  }

 private:
  std::vector<double>& values_;
  std::vector<int> shape_;
};

struct Kernel {
  std::string name;
  Bindings sizes;
  std::string output;                       // one that is looked at
  std::function<void(TensorValues*)> nest;  // adds it
};

const Kernel kKernels[] = {
    {"mm",
     {{"I", "3"}, {"J", "4"}, {"K", "5"}},
     "C",
     [](TensorValues* t) {
       const View A(&(*t)["A"], {3, 5}), B(&(*t)["B"], {5, 4}), C(&(*t)["C"], {3, 4});
       for (int i = 0; i < 3; ++i)
         for (int j = 0; j < 4; ++j)
           for (int k = 0; k < 5; ++k) C(i, j) += A(i, k) * B(k, j);
     }},
    {"tmm",
     {{"I", "3"}, {"J", "4"}, {"K", "5"}},
     "C",
     [](TensorValues* t) {
       const View A(&(*t)["A"], {3, 5}), B(&(*t)["B"], {4, 5}), C(&(*t)["C"], {3, 4});
       for (int i = 0; i < 3; ++i)
         for (int j = 0; j < 4; ++j)
           for (int k = 0; k < 5; ++k) C(i, j) += A(i, k) * B(j, k);
     }},
    {"bmm",
     {{"N", "3"}, {"I", "2"}, {"J", "4"}, {"K", "5"}},
     "C",
     [](TensorValues* t) {
       const View A(&(*t)["A"], {3, 2, 5}), B(&(*t)["B"], {3, 5, 4}), C(&(*t)["C"], {3, 2, 4});
       for (int b = 0; b < 3; ++b)
         for (int i = 0; i < 2; ++i)
           for (int j = 0; j < 4; ++j)
             for (int k = 0; k < 5; ++k) C(b, i, j) += A(b, i, k) * B(b, k, j);
     }},
    {"gconv",
     {{"N", "2"},
      {"G", "3"},
      {"F", "2"},
      {"P", "4"},
      {"Q", "3"},
      {"C", "2"},
      {"R", "3"},
      {"S", "2"}},
     "out",
     [](TensorValues* t) {
       const View image(&(*t)["image"], {2, 3, 2, 6, 4}), filter(&(*t)["filter"], {3, 2, 2, 3, 2});
       const View bias(&(*t)["bias"], {3, 2}), out(&(*t)["out"], {2, 3, 2, 4, 3});
       for (int n = 0; n < 2; ++n)
         for (int g = 0; g < 3; ++g)
           for (int f = 0; f < 2; ++f)
             for (int h = 0; h < 4; ++h)
               for (int w = 0; w < 3; ++w) {
                 for (int c = 0; c < 2; ++c)
                   for (int r = 0; r < 3; ++r)
                     for (int s = 0; s < 2; ++s) {
                       out(n, g, f, h, w) += image(n, g, c, h + r, w + s) * filter(g, f, c, r, s);
                     }
                 out(n, g, f, h, w) += bias(g, f);
               }
     }},
    {"mttkrp",
     {{"I", "3"}, {"J", "4"}, {"K", "5"}, {"L", "2"}},
     "A",
     [](TensorValues* t) {
       const View B(&(*t)["B"], {3, 5, 2}), C(&(*t)["C"], {5, 4}), D(&(*t)["D"], {2, 4});
       const View A(&(*t)["A"], {3, 4});
       for (int i = 0; i < 3; ++i)
         for (int j = 0; j < 4; ++j)
           for (int k = 0; k < 5; ++k)
             for (int l = 0; l < 2; ++l) A(i, j) += B(i, k, l) * D(l, j) * C(k, j);
     }},
    {"sddmm",
     {{"I", "3"}, {"J", "4"}, {"K", "5"}},
     "P",
     [](TensorValues* t) {
       const View S(&(*t)["S"], {3, 4}), A(&(*t)["A"], {3, 5}), B(&(*t)["B"], {5, 4});
       const View P(&(*t)["P"], {3, 4});
       for (int i = 0; i < 3; ++i)
         for (int j = 0; j < 4; ++j) {
           for (int k = 0; k < 5; ++k) P(i, j) += A(i, k) * B(k, j);
           P(i, j) *= S(i, j);
         }
     }},
    {"interp",
     {{"E", "2"}, {"N", "3"}},
     "v",
     [](TensorValues* t) {
       const View A(&(*t)["A"], {3, 3}), u(&(*t)["u"], {2, 3, 3, 3}), v(&(*t)["v"], {2, 3, 3, 3});
       for (int e = 0; e < 2; ++e)
         for (int i = 0; i < 3; ++i)
           for (int j = 0; j < 3; ++j)
             for (int k = 0; k < 3; ++k)
               for (int x = 0; x < 3; ++x)
                 for (int y = 0; y < 3; ++y)
                   for (int z = 0; z < 3; ++z) {
                     v(e, i, j, k) += A(i, x) * A(j, y) * A(k, z) * u(e, x, y, z);
                   }
     }},
    {"helm",
     {{"E", "2"}, {"N", "3"}},
     "y",
     [](TensorValues* t) {
       // Divisors that leave no remainder in binary.
       (*t)["w"] = {1, -2, 0.5};
       const View A(&(*t)["A"], {3, 3}), w(&(*t)["w"], {3}), c(&(*t)["c"], {2, 3, 3, 3});
       const View u(&(*t)["u"], {2, 3, 3, 3}), y(&(*t)["y"], {2, 3, 3, 3});
       for (int e = 0; e < 2; ++e)
         for (int i = 0; i < 3; ++i)
           for (int j = 0; j < 3; ++j)
             for (int k = 0; k < 3; ++k)
               for (int l = 0; l < 3; ++l) {
                 const double scaled = w(i) * w(l) * w(j) * c(e, i, l, j) * u(e, i, l, j);
                 y(e, i, j, k) += scaled * (A(k, l) / w(l));
               }
     }},
    {"blur",
     {{"I", "3"}, {"J", "4"}},
     "out",
     [](TensorValues* t) {
       const View image(&(*t)["image"], {5, 6}), out(&(*t)["out"], {3, 4});
       const double third = 0.3333333333333333;
       const auto row = [&](int i, int j) {
         return third * (image(i, j) + image(i, j + 1) + image(i, j + 2));
       };
       for (int i = 0; i < 3; ++i)
         for (int j = 0; j < 4; ++j)
           out(i, j) = third * (row(i, j) + row(i + 1, j) + row(i + 2, j));
     }},
    {"coars",
     {{"I", "3"}, {"J", "4"}},
     "out",
     [](TensorValues* t) {
       const View xx(&(*t)["Sxx"], {3, 4}), yy(&(*t)["Syy"], {3, 4}), xy(&(*t)["Sxy"], {3, 4});
       const View out(&(*t)["out"], {3, 4});
       for (int i = 0; i < 3; ++i)
         for (int j = 0; j < 4; ++j) out(i, j) = xx(i, j) * yy(i, j) - xy(i, j) * xy(i, j);
     }},
};

TemlProgram ShippedProgram(const std::string& name, const Bindings& sizes) {
  return TemlOf(ReadFileOf(kFolder + name + ".teml"), sizes);
}

void ExpectPlainLoops(const std::string& file, const Kernel& kernel) {
  const TemlProgram program = ShippedProgram(file, kernel.sizes);
  const Result<Pipeline> pipeline = ToPipeline(program, "test");
  ASSERT_TRUE(pipeline.ok()) << pipeline.status();
  TensorValues expected = InputsOf(*pipeline);
  kernel.nest(&expected);
  const TensorValues outputs = RunTeml(program, expected);
  ASSERT_EQ(outputs.count(kernel.output), 1u) << file;
  EXPECT_EQ(outputs.at(kernel.output), expected.at(kernel.output)) << file;
}

TEST(TemlKernels, AreThePlainLoops) {
  for (const Kernel& kernel : kKernels) ExpectPlainLoops(kernel.name, kernel);
  ExpectPlainLoops("mttkrp_transposed", kKernels[4]);
}

TEST(TemlKernels, PathsOfTable2MeanTheSame) {
  int paths = 0;
  for (const Kernel& kernel : kKernels) {
    const std::string file = "table2/" + kernel.name;
    if (!std::filesystem::exists(SourcePath(kFolder + file + ".teml"))) continue;
    ExpectPlainLoops(file, kernel);
    EXPECT_EQ(Digest(*ToPipeline(ShippedProgram(file, {}), "a")),
              Digest(*ToPipeline(ShippedProgram(kernel.name, {}), "b")))
        << file;
    ++paths;
  }
  EXPECT_EQ(paths, 7);
}

TEST(TemlKernels, AreThoseOfTheTextForm) {
  const auto expect_same = [](const std::string& program, const Bindings& sizes,
                              const std::string& text, const Bindings& bindings) {
    const Result<Pipeline> expected =
        ParsePipeline(ReadFileOf("client/expressions/" + text + ".mdh"), bindings, text);
    ASSERT_TRUE(expected.ok()) << expected.status();
    EXPECT_EQ(Digest(*ToPipeline(ShippedProgram(program, sizes), "a")), Digest(*expected)) << text;
  };
  expect_same("mm", {{"type", "fp32"}}, "matmul", {});
  expect_same("mttkrp", {}, "mttkrp", {});
  expect_same("sddmm", {}, "sddmm", {});
  expect_same("interp", {}, "pipelines/interp", {});
  expect_same("bmm", {{"N", "16"}, {"I", "10"}, {"J", "500"}, {"K", "64"}, {"type", "fp32"}},
              "bmatmul", {});
}

}  // namespace
}  // namespace mdh::teml_kernels_test
