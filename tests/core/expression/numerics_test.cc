// Policies of numerics: what products of fp32 are made of, and what that is about.
#include "core/expression/numerics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "absl/strings/str_cat.h"
#include "core/scalar/scalar_value.h"
#include "core/text/parser.h"

namespace mdh::numerics_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr NumericsPolicy kAll[] = {NumericsPolicy::kReassociate, NumericsPolicy::kExactOrder,
                                   NumericsPolicy::kFixedTree,   NumericsPolicy::kTf32,
                                   NumericsPolicy::kBf16x3,      NumericsPolicy::kBf16x6,
                                   NumericsPolicy::kFp8};

Expression Product(const std::string& a, const std::string& b, const std::string& c,
                   const std::string& combine = "+") {
  return *ParseExpression(absl::StrCat(
      "c := out_view<", c, ">( C: (i,j,k) -> (i,j) ) o md_hom<8,8,8>( f, (++, ++, ", combine,
      ") ) o inp_view<", a, ",", b, ">( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) ) where f(A, B) ",
      "-> (C: ", c, ") { C = ", c, "(A) * ", c, "(B) }"));
}

TEST(Numerics, NamesAreReadBack) {
  for (const NumericsPolicy policy : kAll) {
    EXPECT_EQ(*ParseNumericsPolicy(std::string_view(Name(policy).data(), Name(policy).size())),
              policy);
  }
  EXPECT_THAT(ParseNumericsPolicy("tf33").status().message(),
              HasSubstr("tf32, bf16x3, bf16x6 and fp8"));
}

TEST(Numerics, WhatProductsAreAbout) {
  const auto why = [](const Expression& e) { return ProductsObstacle(e, NumericsPolicy::kTf32); };
  EXPECT_THAT(why(Product("fp32", "fp32", "fp32")), IsEmpty());
  EXPECT_THAT(ProductsObstacle(Product("fp64", "fp64", "fp64"), NumericsPolicy::kReassociate),
              IsEmpty());
  EXPECT_EQ(why(Product("fp64", "fp64", "fp64")),
            "numerics=tf32 is about products of fp32, and operand A is of type fp64");
  EXPECT_EQ(why(Product("fp32", "bf16", "fp32")),
            "numerics=tf32 is about products of fp32, and operand B is of type bf16");
  EXPECT_EQ(why(Product("fp32", "fp32", "fp64")),
            "numerics=tf32 is about products of fp32, and products are of type fp64");
  const auto of_fp8 = [](const Expression& e) { return ProductsObstacle(e, NumericsPolicy::kFp8); };
  EXPECT_THAT(of_fp8(Product("fp8e4m3", "fp8e5m2", "fp32")), IsEmpty());
  EXPECT_EQ(of_fp8(Product("fp8e4m3", "fp16", "fp32")),
            "numerics=fp8 is about products of fp8 in fp32, and operand B is of type fp16");
  EXPECT_EQ(of_fp8(Product("fp8e4m3", "fp8e4m3", "fp16")),
            "numerics=fp8 is about products of fp8 in fp32, and products are of type fp16");
  EXPECT_THAT(why(Product("fp32", "fp32", "fp32", "max")),
              HasSubstr("numerics=tf32 is about products in contractions, and this is none: "));
}

TEST(Numerics, PolicyOfOtherExpressions) {
  for (const NumericsPolicy policy : kAll) {
    const bool is_fp8 = policy == NumericsPolicy::kFp8;
    EXPECT_EQ(
        PolicyFor(Product("fp8e4m3", "fp8e4m3", "fp32"), policy),
        ProductsOf(policy) == Products::kExact || is_fp8 ? policy : NumericsPolicy::kReassociate);
    EXPECT_EQ(PolicyFor(Product("fp32", "fp32", "fp32"), policy),
              is_fp8 ? NumericsPolicy::kReassociate : policy);
    EXPECT_EQ(PolicyFor(Product("fp64", "fp64", "fp64"), policy),
              Reassociates(policy) ? NumericsPolicy::kReassociate : policy);
  }
}

// Of parts as documented: the error bound holds, and is reached within a factor of 16.
TEST(Numerics, ErrorsOfProductsOfParts) {
  std::mt19937 rng(3);
  std::uniform_real_distribution<float> mantissa(1.0F, 2.0F);
  const auto parts_of = [](float x, int count) {
    std::vector<double> parts;
    for (int part = 0; part < count; ++part) {
      parts.push_back(ScalarValue::Real(ScalarType::kBfloat16, x).as_double());
      x -= static_cast<float>(parts.back());
    }
    return parts;
  };
  for (const NumericsPolicy policy : {NumericsPolicy::kBf16x3, NumericsPolicy::kBf16x6}) {
    const Products products = ProductsOf(policy);
    double most = 0;
    for (int n = 0; n < 100000; ++n) {
      const float a = mantissa(rng), b = -mantissa(rng);
      const std::vector<double> of_a = parts_of(a, PartsOf(products)),
                                of_b = parts_of(b, PartsOf(products));
      double sum = 0;
      for (const ProductOfParts& one : ProductsOfParts(products)) sum += of_a[one.a] * of_b[one.b];
      const double right = static_cast<double>(a) * b;
      most = std::max(most, std::abs((sum - right) / right));
    }
    EXPECT_LE(most, ProductError(products)) << Name(policy);
    EXPECT_GE(most, ProductError(products) / 16) << Name(policy);
  }
}

}  // namespace
}  // namespace mdh::numerics_test
