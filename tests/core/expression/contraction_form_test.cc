// Which expressions are contractions, what is taken from them, and that nothing else is computed.
#include "core/expression/contraction_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/expression/dependences.h"
#include "core/expression/interpreter.h"
#include "core/text/parser.h"
#include "core/text/printer.h"
#include "tests/error_message.h"
#include "tests/fresh_seed.h"
#include "tests/random_contraction.h"
#include "tests/sanitized.h"
#include "tests/shipped_expression.h"
#include "tests/source_path.h"

namespace mdh::contraction_form_test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

Expression Parsed(const std::string& text) {
  Result<Expression> expression = ParseExpression(text);
  EXPECT_TRUE(expression.ok()) << expression.status() << text;
  return *std::move(expression);
}

std::string FormText(const Expression& expression) {
  const Result<ContractionForm> form = FindContractionForm(expression);
  return form.ok() ? ToText(expression, *form) : ErrorMessage(form);
}

// C[i,j] of that f of A[i,k] and B[k,j], for 16 x 32 x 64.
Expression OfFunction(const std::string& f, const std::string& types = "fp32,fp32",
                      const std::string& type = "fp32") {
  return Parsed(absl::StrCat("c := out_view<", type, ">( C: (i,j,k) -> (i,j) ) o ",
                             "md_hom<16,32,64>( f, (++, ++, +) ) o inp_view<", types,
                             ">( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) ) where ", f));
}

// ---- Shipped expressions ----

constexpr char kShippedForms[] = R"(argmax.mdh: f has 2 results, not one
blur.mdh: no dimension of more than one point is reduced
bmatmul.mdh: batch b of 16; m i of 10; n j of 500; k k of 64; A fp32 along k; B fp32 along j; sums in fp32
ccsdt_gdab_efgc.mdh: m d,a,b of 6144; n e,f,c of 6144; k g of 24; A fp32 along b; B fp32 along c; sums in fp32
ccsdt_gdac_efgb.mdh: m d,a,c of 6144; n e,f,b of 6144; k g of 24; A fp32 along c; B fp32 along b; sums in fp32
ccsdt_gdbc_efga.mdh: m d,b,c of 4096; n e,f,a of 9216; k g of 24; A fp32 along c; B fp32 along a; sums in fp32
ccsdt_geab_dfgc.mdh: m e,a,b of 6144; n d,f,c of 6144; k g of 24; A fp32 along b; B fp32 along c; sums in fp32
ccsdt_geac_dfgb.mdh: m e,a,c of 6144; n d,f,b of 6144; k g of 24; A fp32 along c; B fp32 along b; sums in fp32
ccsdt_gebc_dfga.mdh: m e,b,c of 4096; n d,f,a of 9216; k g of 24; A fp32 along c; B fp32 along a; sums in fp32
ccsdt_gfab_degc.mdh: m d,e,c of 6144; n f,a,b of 6144; k g of 24; A fp32 along c; B fp32 along b; sums in fp32
ccsdt_gfac_degb.mdh: m d,e,b of 6144; n f,a,c of 6144; k g of 24; A fp32 along b; B fp32 along c; sums in fp32
ccsdt_gfbc_dega.mdh: m d,e,a of 9216; n f,b,c of 4096; k g of 24; A fp32 along a; B fp32 along c; sums in fp32
conv2d.mdh: at most one operand has a kept dimension of its own
conv2d_padded.mdh: at most one operand has a kept dimension of its own
conv_bn_relu.mdh: m p,q of 3136; n k of 64; k r,s,c of 576; A fp32 along c; B fp32 along c; sums in fp32
dense_gelu.mdh: m i of 1024; n j of 1024; k k of 1024; A fp32 along k; B fp32 along j; sums in fp32
depthwise.mdh: at most one operand has a kept dimension of its own
dot.mdh: at most one operand has a kept dimension of its own
dot_bf16.mdh: at most one operand has a kept dimension of its own
gconv.mdh: batch g of 32; m k of 4; n n,p,q of 21632; k c,r,s of 196; A fp64 along s; B fp64 along q; sums in fp64
gen_histo.mdh: results are combined by max, not by +
gram.mdh: m i of 512; n j of 512; k k of 8192; A fp32 along i; B fp32 along j; sums in fp32
histo.mdh: f is no product of two values that depend on reduced dimensions
jacobi1d.mdh: no dimension of more than one point is reduced
jacobi2d.mdh: no dimension of more than one point is reduced
jacobi3d.mdh: no dimension of more than one point is reduced
linear_recurrence.mdh: there are prefix sums
log_sum_exp.mdh: f has 2 results, not one
mandelbrot.mdh: no dimension of more than one point is reduced
map.mdh: no dimension of more than one point is reduced
matmul.mdh: m i of 1024; n j of 1024; k k of 1024; A fp32 along k; B fp32 along j; sums in fp32
matmul_fp16.mdh: m i of 1024; n j of 1024; k k of 1024; A fp16 along k; B fp16 along j; sums in fp32
matmul_t.mdh: m j of 500; n i of 10; k k of 64; A fp32 along k; B fp32 along i; sums in fp32
matvec.mdh: at most one operand has a kept dimension of its own
mbbs.mdh: there are prefix sums
mcc.mdh: m p,q of 12544; n k of 64; k r,s,c of 147; A fp32 along c; B fp32 along c; sums in fp32
mcc_capsule.mdh: m n,p,q,mi of 802816; n k,mj of 256; k r,s,c,mk of 588; A fp32 along mk; B fp32 along mj; sums in fp32
mttkrp.mdh: m i of 250; n j of 250; k k,l of 62500; A fp64 along l; B fp64, computed; sums in fp64
nbody.mdh: f has 3 results, not one
prl.mdh: f has 3 results, not one
prl_soa.mdh: f has 3 results, not one
reduce.mdh: f is no product of two values that depend on reduced dimensions
reduce2.mdh: f has 2 results, not one
scan.mdh: there are prefix sums
sddmm.mdh: m i of 4096; n j of 4096; k k of 64; A fp64 along k; B fp64 along j; factor; sums in fp64
softmax_stats.mdh: f has 2 results, not one
sum_and_max.mdh: f has 2 results, not one
)";

TEST(ContractionFormTest, ShippedExpressions) {
  std::string list;
  std::set<std::string> names;
  const std::filesystem::path folder = SourcePath("client/expressions");
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() == ".mdh") names.insert(file.path().filename());
  }
  for (const std::string& name : names) {
    absl::StrAppend(&list, name, ": ", FormText(Shipped(name)), "\n");
  }
  EXPECT_EQ(list, kShippedForms);
}

// ---- What is taken ----

TEST(ContractionFormTest, OperandsAreAsTheyAreRead) {
  const ContractionForm form = *FindContractionForm(Shipped("matmul_fp16.mdh"));
  EXPECT_EQ(form.a.type(), ScalarType::kFloat16);
  EXPECT_EQ(form.a.loaded, 0);
  EXPECT_EQ(form.a.contiguous, 2);
  EXPECT_EQ(form.b.loaded, 1);
  EXPECT_EQ(form.b.contiguous, 1);
  EXPECT_EQ(form.product, ScalarType::kFloat32);
  EXPECT_EQ(form.combined, ScalarType::kFloat32);
  EXPECT_FALSE(form.factor.has_value());
  // The output of this one is contiguous along i.
  EXPECT_EQ(FindContractionForm(Shipped("matmul_t.mdh"))->a.loaded, 1);
}

TEST(ContractionFormTest, ParametersMayHaveAnyName) {
  const std::string form = FormText(OfFunction("f(x, y) -> z { z = x * y }"));
  EXPECT_THAT(form, StartsWith("m i of 16"));
  EXPECT_EQ(FormText(OfFunction("f(a, b) -> z { z = a * b }")), form);
  EXPECT_EQ(FormText(OfFunction("f(b, a) -> factor { factor = b * a }")), form);
  EXPECT_EQ(FormText(OfFunction("f(factor, a) -> b { b = 0.5 * factor * a }")),
            FormText(OfFunction("f(x, y) -> z { z = 0.5 * x * y }")));
}

TEST(ContractionFormTest, WideningConversions) {
  const auto types = [](const std::string& f, const std::string& read) {
    const Result<ContractionForm> form = FindContractionForm(OfFunction(f, read, "fp32"));
    if (!form.ok()) return ErrorMessage(form);
    return absl::StrCat(Name(form->a.type()), " ", Name(form->b.type()), " ",
                        form->a.loaded < 0 ? "computed" : "loaded");
  };
  EXPECT_EQ(types("f(A, B) -> C { C = fp32(A) * fp32(B) }", "int8,fp16"), "int8 fp16 loaded");
  EXPECT_EQ(types("f(A, B) -> C { C = fp32(fp16(A)) * fp32(B) }", "int8,bf16"), "int8 bf16 loaded");
  // An fp32 does not have all of these.
  EXPECT_EQ(types("f(A, B) -> C { C = fp32(A) * B }", "int32,fp32"), "fp32 fp32 computed");
  EXPECT_EQ(types("f(A, B) -> C { C = fp32(max(A, 0)) * B }", "fp16,fp32"), "fp16 fp32 computed");
  EXPECT_EQ(types("f(A, B) -> (C: uint32) { C = uint32(A) * uint32(B) }", "int8,uint8"),
            "int8 uint8 loaded");
}

std::string FactorText(const Expression& expression) {
  const Result<ContractionForm> form = FindContractionForm(expression);
  if (!form.ok()) return ErrorMessage(form);
  return form->factor.has_value() ? ToText(*form->factor) : "none";
}

TEST(ContractionFormTest, Factors) {
  EXPECT_EQ(FactorText(OfFunction("f(A, B) -> C { C = A * B }")), "none");
  EXPECT_EQ(FactorText(OfFunction("f(A, B) -> C { C = 0.5 * A * B }")), "{ factor = 0.5 }");
  EXPECT_EQ(FactorText(OfFunction("f(A, B) -> C { C = A * -B }")), "{ factor = -1 }");
  EXPECT_EQ(FactorText(OfFunction("f(A, B) -> C { C = -(-A * B) }")), "none");
  EXPECT_EQ(FactorText(OfFunction("f(A, B) -> C { C = A * B / 8 }")), "{ factor = fp32(1) / 8 }");
  EXPECT_EQ(FactorText(Shipped("sddmm.mdh")), "{ factor = S }");
  EXPECT_EQ(FactorText(Parsed(R"(
    c := out_view<fp32>( C: (i,j,k) -> (i,j) ) o md_hom<16,32,64>( f, (++, ++, +) ) o
      inp_view<int8,int8,fp32,fp32>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j),
                                     s: (i,j,k) -> (i), t: (i,j,k) -> (j) )
    where f(A, B, s, t) -> C { C = (fp32(A) * s) * (fp32(B) * t) })")),
            "{ factor = s * t }");
}

TEST(ContractionFormTest, IndicesArePartsOfOperands) {
  const Expression triangular = OfFunction("f(A, B) -> C { C = (k <= i ? A : 0) * B }");
  const ContractionForm form = *FindContractionForm(triangular);
  EXPECT_EQ(form.a.loaded, -1);
  EXPECT_EQ(ToText(form.a.function), "{ a = k <= i ? A : 0 }");
  EXPECT_EQ(FormText(triangular),
            "m i of 16; n j of 32; k k of 64; A fp32, computed; B fp32 along j; sums in fp32");
}

TEST(ContractionFormTest, ConvolutionsSplitTheirAddresses) {
  const Expression conv = Shipped("conv_bn_relu.mdh");
  const ContractionForm form = *FindContractionForm(conv);
  const Buffer& image = conv.inputs()[0];
  const SplitIndex row = Split(conv, image.accesses[0].indices[1]);
  EXPECT_EQ(row.kept, (AffineIndex{{0, 1, 0, 0, 0, 0, 0}, -1}));
  EXPECT_EQ(row.reduced, (AffineIndex{{0, 0, 0, 0, 1, 0, 0}, 0}));
  EXPECT_EQ(form.a.contiguous, 6);
  EXPECT_EQ(form.b.contiguous, 6);
}

// ---- What is refused ----

TEST(ContractionFormTest, BothOperandsMayBeOne) {
  const auto is_square = [](const std::string& sizes, const std::string& inputs) {
    const Expression e = Parsed(absl::StrCat("e<T = fp32 | ", sizes,
                                             "> := out_view<T>( z: (b,i,j,k) -> (b,i,j) ) o\n",
                                             "md_hom<B,I,J,K>( f, (++, ++, ++, +) ) o inp_view<",
                                             inputs, " )\n", "where f(u, v) -> z { z = u * v }\n"));
    const Result<ContractionForm> form = FindContractionForm(e);
    EXPECT_TRUE(form.ok()) << form.status();
    return IsSquareOfOne(e, *form, form->a.loaded, form->b.loaded);
  };
  const std::string square = "B = 2, I = 5, J = 5, K = 7";
  EXPECT_TRUE(is_square(square, "T>( x: (b,i,j,k) -> (b,i,k), (b,j,k)"));
  EXPECT_TRUE(is_square(square, "T>( x: (b,i,j,k) -> (k,2*i + 1,b), (k,2*j + 1,b)"));
  EXPECT_FALSE(is_square(square, "T>( x: (b,i,j,k) -> (b,i,k), (b,j + 1,k)")) << "one further";
  EXPECT_FALSE(is_square(square, "T>( x: (b,i,j,k) -> (b,i,k), (b,k,j)")) << "transposed";
  EXPECT_FALSE(is_square(square, "T,T>( x: (b,i,j,k) -> (b,i,k), y: (b,i,j,k) -> (b,j,k)"));
  EXPECT_FALSE(is_square("B = 2, I = 5, J = 4, K = 7", "T>( x: (b,i,j,k) -> (b,i,k), (b,j,k)"));
}

TEST(ContractionFormTest, WhatIsNone) {
  EXPECT_EQ(FormText(OfFunction("f(A, B) -> C { C = A + B }")),
            "f is a sum, and sums of products are not taken apart");
  EXPECT_EQ(FormText(OfFunction("f(A, B) -> C { C = A * B - B }")),
            "f is a sum, and sums of products are not taken apart");
  EXPECT_EQ(FormText(OfFunction("f(A, B) -> C { C = max(A, B) }")),
            "f is no product of two values that depend on reduced dimensions");
  EXPECT_EQ(FormText(OfFunction("f(A, B) -> C { C = A * A }")),
            "at most one operand has a kept dimension of its own");
  EXPECT_EQ(FormText(OfFunction("f(A, B) -> C { C = 2 }")), "f depends on no reduced dimension");
  EXPECT_EQ(FormText(OfFunction("f(A, B) -> C { C = fp32(A * B) }", "fp16,fp16")),
            "products are rounded to fp16 before they are added up in fp32");
  EXPECT_EQ(FormText(OfFunction("f(A, B) -> C { C = int32(A * B) }", "int8,int8", "int32")),
            "products are cut off to int8 before they are added up in int32");
  EXPECT_EQ(FormText(Shipped("matmul.mdh", {{"K", "0"}})), "a dimension is empty");
  EXPECT_EQ(FormText(Shipped("matmul.mdh", {{"K", "1"}})),
            "no dimension of more than one point is reduced");
  EXPECT_EQ(FormText(Shipped("matmul.mdh", {{"I", "1"}})),
            "at most one operand has a kept dimension of its own");
}

TEST(ContractionFormTest, ChainsOfProductsAreSplitFirst) {
  EXPECT_EQ(FormText(Parsed(R"(
    c := out_view<fp32>( C: (i,j,k,l) -> (i,j) ) o md_hom<16,32,64,8>( f, (++, ++, +, +) ) o
      inp_view<fp32,fp32,fp32>( A: (i,j,k,l) -> (i,k), B: (i,j,k,l) -> (k,l),
                                D: (i,j,k,l) -> (l,j) )
    where f(A, B, D) -> C { C = A * B * D })")),
            "not both operands depend on k, which is reduced");
}

TEST(ContractionFormTest, TooManyFactors) {
  std::string f = "f(A, B) -> C { let a = A * A; let b = a * a; let c = b * b; C = c * B * a * b }";
  EXPECT_EQ(FormText(OfFunction(f)), "f is a product of more than 12 factors");
}

// ---- Properties ----

// The operands and the factor at points of their dimensions, and what the split addresses say.
class FormEvaluator {
 public:
  FormEvaluator(const Expression& expression, const ContractionForm& form,
                const std::vector<BufferBytes>& inputs)
      : e_(expression), form_(form), inputs_(inputs) {}

  // What is stored at a point, through the form alone.
  std::vector<ScalarValue> StoredAt(std::vector<int64_t> point) {
    const bool is_integer = IsInteger(form_.combined);
    double sum = 0;
    int64_t whole = 0;
    ForPointsAlong(form_.k, &point, [&] {
      const ScalarValue a = Value(form_.a.function, Without(form_.n, point)),
                        b = Value(form_.b.function, Without(form_.m, point));
      sum += a.as_double() * b.as_double();
      whole += a.as_int64() * b.as_int64();
    });
    if (form_.factor.has_value()) {
      const ScalarValue factor = Value(*form_.factor, Without(form_.k, point));
      sum *= factor.as_double();
      whole *= factor.as_int64();
    }
    std::vector<const std::byte*> bytes;
    for (const BufferBytes& input : inputs_) bytes.push_back(input.data());
    const ScalarValue result = is_integer ? ScalarValue::Integer(form_.combined, whole)
                                          : ScalarValue::Real(ScalarType::kFloat64, sum);
    return StoredValues(e_, bytes, point, {result});
  }

  template <typename Visit>
  void ForPointsAlong(const std::vector<int>& dimensions, std::vector<int64_t>* point,
                      const Visit& visit) const {
    const int64_t points = PointsAlong(e_, dimensions);
    for (int64_t p = 0; p < points; ++p) {
      int64_t rest = p;
      for (size_t n = dimensions.size(); n-- > 0;) {
        const int d = dimensions[n];
        (*point)[d] = rest % e_.dimensions()[d].size;
        rest /= e_.dimensions()[d].size;
      }
      visit();
    }
  }

 private:
  // What an operand does not depend on may be anything.
  std::vector<int64_t> Without(const std::vector<int>& dimensions,
                               std::vector<int64_t> point) const {
    for (const int d : dimensions) point[d] = e_.dimensions()[d].size - 1 - point[d] / 2;
    return point;
  }

  ScalarValue Value(const ScalarFunction& function, const std::vector<int64_t>& point) {
    std::vector<ScalarValue> arguments;
    for (int p = 0; p < static_cast<int>(function.parameters().size()); ++p) {
      arguments.push_back(Argument(p, point));
    }
    return function.Evaluate(arguments)[0];
  }

  ScalarValue Argument(int parameter, const std::vector<int64_t>& point) const {
    if (e_.is_index(parameter)) {
      return ScalarValue::Integer(ScalarType::kInt64, point[e_.index_dimension(parameter)]);
    }
    const Expression::AccessRef ref = e_.input_access(parameter);
    const Buffer& buffer = e_.inputs()[ref.buffer];
    const ScalarType type = buffer.type.fields()[ref.field].type;
    const auto split = [&](const AffineIndex& index) {
      const SplitIndex parts = Split(e_, index);
      return parts.kept.Evaluate(point) + parts.reduced.Evaluate(point);
    };
    if (buffer.boundary.kind == Boundary::Kind::kNone) {
      const int64_t offset = split(buffer.Linearized(ref.access, ref.field));
      return ScalarValue::Load(type, inputs_[ref.buffer].data() + offset * SizeBytes(type));
    }
    const std::vector<int64_t> strides = buffer.strides();
    int64_t offset = 0;
    for (size_t x = 0; x < buffer.extents.size(); ++x) {
      int64_t index = split(buffer.accesses[ref.access].indices[x]);
      const bool is_outside = index < 0 || index >= buffer.extents[x];
      if (is_outside && buffer.boundary.kind == Boundary::Kind::kConstant) {
        return buffer.boundary.values[ref.field];
      }
      index = std::clamp<int64_t>(index, 0, buffer.extents[x] - 1);
      offset += index * strides[x];
    }
    return ScalarValue::Load(type, inputs_[ref.buffer].data() + offset * SizeBytes(type));
  }

  const Expression& e_;
  const ContractionForm& form_;
  const std::vector<BufferBytes>& inputs_;
};

// Every dimension of more than one index is in one group, and operands depend on theirs.
void ExpectGrouped(const Expression& e, const ContractionForm& form) {
  std::vector<int> all;
  for (const std::vector<int>* group : {&form.batch, &form.m, &form.n, &form.k}) {
    all.insert(all.end(), group->begin(), group->end());
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, Members(ActiveDimensions(e)));
  EXPECT_FALSE(form.m.empty() || form.n.empty() || form.k.empty());
  for (const int d : form.k) EXPECT_TRUE(e.is_reduction(d));
  if (form.a.loaded >= 0) {
    std::vector<int> group = form.batch;
    group.insert(group.end(), form.m.begin(), form.m.end());
    group.insert(group.end(), form.k.begin(), form.k.end());
    for (const int d : Members(DimensionsOfParameter(e, form.a.loaded))) {
      EXPECT_NE(std::find(group.begin(), group.end(), d), group.end());
    }
  }
}

void ExpectSame(Rng& rng, const Expression& e, const ContractionForm& form) {
  ExpectGrouped(e, form);
  const std::vector<BufferBytes> inputs = RandomInputs(rng, e);
  std::vector<const std::byte*> bytes;
  for (const BufferBytes& input : inputs) bytes.push_back(input.data());
  FormEvaluator evaluator(e, form, inputs);
  std::vector<int64_t> point(e.rank());
  std::vector<int> kept = form.batch;
  kept.insert(kept.end(), form.m.begin(), form.m.end());
  kept.insert(kept.end(), form.n.begin(), form.n.end());
  bool are_same = true;
  evaluator.ForPointsAlong(kept, &point, [&] {
    // The sign of a sum that is zero may differ.
    const std::vector<ScalarValue> got = evaluator.StoredAt(point),
                                   expected = InterpretAt(e, bytes, point);
    for (size_t r = 0; r < expected.size(); ++r) {
      are_same = are_same && got[r].as_double() == expected[r].as_double();
    }
  });
  EXPECT_TRUE(are_same) << ToText(e) << ToText(e, form);
}

TEST(ContractionFormTest, RandomContractionsAreComputedAsTheyAre) {
  Rng rng(FreshSeed());
  for (int n = 0; n < TriedCases(100); ++n) {
    const Expression expression = RandomContraction(rng, {.max_points = 2000});
    const Result<ContractionForm> form = FindContractionForm(expression);
    ASSERT_TRUE(form.ok()) << form.status() << ToText(expression);
    ExpectSame(rng, expression, *form);
  }
}

// What random expressions there are is rarely one; where it is, it is computed as it is.
TEST(ContractionFormTest, AnyExpression) {
  Rng rng(FreshSeed());
  RandomExpressionOptions options;
  options.max_points = 500;
  options.prefix_sums = false;
  options.max_operations = 3;
  for (int n = 0; n < TriedCases(500); ++n) {
    const Expression expression = RandomExpression(rng, options);
    const Result<ContractionForm> form = FindContractionForm(expression);
    if (form.ok()) ExpectGrouped(expression, *form);
  }
}

TEST(ContractionFormTest, RandomComputationsThatAreNoneSayWhy) {
  using Defect = ContractionDefect;
  Rng rng(FreshSeed());
  const std::vector<std::pair<Defect, std::string>> reasons = {
      {Defect::kMaximum, "results are combined by max, not by +"},
      {Defect::kSum, "f is a sum"},
      {Defect::kOneSide, "not both operands depend on "},
      {Defect::kNoN, "at most one operand has a kept dimension of its own"},
      {Defect::kRounded, "products are "},
      {Defect::kTwoResults, "f has 2 results, not one"}};
  for (int n = 0; n < 120; ++n) {
    const auto& [defect, reason] = AnyOf(rng, reasons);
    const Expression expression = RandomContraction(rng, {.max_points = 4000, .defect = defect});
    EXPECT_THAT(FormText(expression), StartsWith(reason)) << ToText(expression);
  }
}

}  // namespace
}  // namespace mdh::contraction_form_test
