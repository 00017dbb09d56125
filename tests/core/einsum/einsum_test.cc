// Summation strings mean the same as the text form of the same computation.
#include "core/einsum/einsum.h"

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/core/expect_same.h"

namespace mdh::einsum_test {
namespace {

constexpr ScalarType kFloat = ScalarType::kFloat32;

std::string ErrorOf(std::string_view text, const Bindings& sizes) {
  return ErrorMessage(ParseEinsum(text, sizes, kFloat));
}

TEST(EinsumTest, ShippedExpressions) {
  ExpectSame(ParseEinsum("ik,kj->ij", {{"i", "1024"}, {"j", "1024"}, {"k", "1024"}}, kFloat),
             ShippedExpression("matmul"));
  ExpectSame(
      ParseEinsum("bik, bkj -> bij", {{"b", "16"}, {"i", "10"}, {"j", "500"}, {"k", "64"}}, kFloat),
      ShippedExpression("bmatmul"));
  ExpectSame(ParseEinsum("k,k->", {{"k", "16777216"}}, kFloat), ShippedExpression("dot"));
  ExpectSame(ParseEinsum("ik,k", {{"i", "4096"}, {"k", "4096"}}, ScalarType::kFloat64),
             ShippedExpression("matvec", {{"T", "fp64"}}));
}

// The nine contractions of CCSD(T).
TEST(EinsumTest, CoupledCluster) {
  for (const char* operands : {"gdab,efgc", "gdac,efgb", "gdbc,efga", "geab,dfgc", "geac,dfgb",
                               "gebc,dfga", "gfab,degc", "gfac,degb", "gfbc,dega"}) {
    Bindings sizes, upper;
    ASSERT_TRUE(AddSizes("a=3,b=4,c=5,d=6,e=7,f=8,g=9", &sizes).ok());
    for (const auto& [letter, size] : sizes) upper[absl::AsciiStrToUpper(letter)] = size;
    const std::string file = absl::StrCat("ccsdt_", absl::StrReplaceAll(operands, {{",", "_"}}));
    ExpectSame(ParseEinsum(absl::StrCat(operands, "->abcdef"), sizes, kFloat),
               ShippedExpression(file, upper));
  }
}

TEST(EinsumTest, OneOperand) {
  ExpectSame(ParseEinsum("ii", {{"i", "7"}}, kFloat),
             ParseExpression("trace := out_view<fp32>( s: (i) -> () ) o md_hom<7>( f, (+) ) o "
                             "inp_view<fp32>( A: (i) -> (i,i) ) where f(A) -> s { s = A }"));
  ExpectSame(ParseEinsum("ba", {{"a", "7"}, {"b", "3"}}, kFloat),
             ParseExpression("t := out_view<fp32>( B: (a,b) -> (a,b) ) o md_hom<7,3>( f, (++,++) ) "
                             "o inp_view<fp32>( A: (a,b) -> (b,a) ) where f(A) -> B { B = A }"));
}

TEST(EinsumTest, ManyOperandsAndScalars) {
  ExpectSame(
      ParseEinsum("ijk,jl,kl->il", {{"i", "3"}, {"j", "4"}, {"k", "5"}, {"l", "6"}}, kFloat),
      ParseExpression("mttkrp := out_view<fp32>( out: (i,l,j,k) -> (i,l) ) o "
                      "md_hom<3,6,4,5>( f, (++,++,+,+) ) o inp_view<fp32,fp32,fp32>("
                      " A: (i,l,j,k) -> (i,j,k), B: (i,l,j,k) -> (j,l), C: (i,l,j,k) -> (k,l) ) "
                      "where f(A, B, C) -> out { out = A * B * C }"));
  ExpectSame(ParseEinsum(",i->i", {{"i", "3"}}, kFloat),
             ParseExpression("scale := out_view<fp32>( out: (i) -> (i) ) o md_hom<3>( f, (++) ) o "
                             "inp_view<fp32,fp32>( A: (i) -> (), B: (i) -> (i) ) "
                             "where f(A, B) -> out { out = A * B }"));
}

TEST(EinsumTest, BoolUsesAndAndOr) {
  ExpectSame(ParseEinsum("ik,kj->ij", {{"i", "2"}, {"j", "3"}, {"k", "4"}}, ScalarType::kBool),
             ParseExpression("reach := out_view<bool>( C: (i,j,k) -> (i,j) ) o "
                             "md_hom<2,3,4>( f, (++,++,||) ) o inp_view<bool,bool>("
                             " A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) ) "
                             "where f(A, B) -> C { C = A && B }"));
}

TEST(EinsumTest, NamesDoNotClash) {
  const Result<Expression> expression =
      ParseEinsum("AB,BC->AC", {{"A", "2"}, {"B", "3"}, {"C", "4"}}, kFloat);
  ASSERT_TRUE(expression.ok()) << expression.status();
  EXPECT_EQ(expression->inputs()[0].name, "D");
  EXPECT_EQ(expression->inputs()[1].name, "E");
  EXPECT_EQ(expression->outputs()[0].name, "out");
  // The printed form is read back.
  ExpectSame(ParseExpression(ToText(*expression)), expression);
}

TEST(EinsumTest, WrongStrings) {
  const Bindings sizes = {{"i", "2"}, {"j", "3"}};
  EXPECT_EQ(ErrorOf("...i,ij->j", sizes),
            "<einsum>:1:1: what '...' stands for follows from the shapes of the operands; give "
            "them, as in --shape 8,16,32 once for each\n...i,ij->j\n^");
  EXPECT_EQ(ErrorOf("ij->...j", sizes).substr(0, 26), "<einsum>:1:5: what '...' s");
  EXPECT_EQ(ErrorOf("i..,ij->j", sizes),
            "<einsum>:1:2: an ellipsis has three points: '...'\ni..,ij->j\n ^");
  EXPECT_EQ(ErrorOf("...i...->i", sizes),
            "<einsum>:1:5: '...' is twice in one operand\n...i...->i\n    ^");
  EXPECT_EQ(ErrorOf("i,ij->jk", sizes), "<einsum>:1:8: 'k' is in no operand\ni,ij->jk\n       ^");
  EXPECT_EQ(ErrorOf("i,ij->jj", sizes),
            "<einsum>:1:8: 'j' is twice in the output\ni,ij->jj\n"
            "       ^");
  EXPECT_EQ(
      ErrorOf("i;ij", sizes),
      "<einsum>:1:2: expected ',', '->' or the end of the einsum string, found ';'\ni;ij\n ^");
  EXPECT_EQ(ErrorOf("ij->j->i", sizes),
            "<einsum>:1:6: expected the end of the einsum string, found '-'\nij->j->i\n     ^");
  EXPECT_EQ(ErrorOf("i2,ij", sizes),
            "<einsum>:1:2: expected ',', '->' or the end of the einsum string, found '2'\ni2,ij\n"
            " ^");
  EXPECT_EQ(ErrorOf("", {}), "<einsum>:1:1: there is no letter: nothing to compute\n\n^");
  EXPECT_EQ(ErrorOf(",->", {}), "<einsum>:1:1: there is no letter: nothing to compute\n,->\n^");
  EXPECT_EQ(ErrorOf(std::string(70'000, 'i'), {}),
            "the einsum string has 70000 bytes; at most 65536 are allowed");
}

TEST(EinsumTest, SizesMayBeZero) {
  ExpectSame(ParseEinsum("ik,kj->ij", {{"i", "4"}, {"j", "3"}, {"k", "0"}}, kFloat),
             ShippedExpression("matmul", {{"I", "4"}, {"J", "3"}, {"K", "0"}}));
}

TEST(EinsumTest, WrongSizes) {
  EXPECT_EQ(ErrorOf("i,ij->j", {{"i", "2"}}),
            "<einsum>:1:4: 'j' has no size; give one, as in j=16\ni,ij->j\n   ^");
  EXPECT_EQ(ErrorOf("i->i", {{"i", "2"}, {"k", "2"}}),
            "<einsum>:1:1: there is a size for 'k', which does not occur; the letters are i\n"
            "i->i\n^");
  for (const char* size : {"-1", "many", "9223372036854775808", ""}) {
    EXPECT_EQ(ErrorOf("i->i", {{"i", size}}),
              absl::StrCat("<einsum>:1:1: the size '", size,
                           "' of 'i' is no 64-bit integer from 0 on\ni->i\n^"));
  }
  const std::string large = "4000000000";
  EXPECT_EQ(ErrorOf("ij->ij", {{"i", large}, {"j", large}}),
            "<einsum>:1:1: the number of points of all dimensions up to 'j' does not fit in 63 "
            "bits\nij->ij\n^");
}

TEST(EinsumTest, SizeLists) {
  Bindings sizes;
  EXPECT_TRUE(AddSizes("a=24, b=16", &sizes).ok());
  EXPECT_TRUE(AddSizes("a=24", &sizes).ok());
  EXPECT_EQ(sizes, (Bindings{{"a", "24"}, {"b", "16"}}));
  EXPECT_EQ(ErrorMessage(AddSizes("a=25", &sizes)), "'a' has two sizes, 24 and 25");
  for (const char* wrong : {"", "a", "ab=3", "=3", "1=3", "a=3,"}) {
    EXPECT_FALSE(AddSizes(wrong, &sizes).ok()) << wrong;
  }
  EXPECT_EQ(ErrorMessage(AddSizes("c=1,ab=3", &sizes)),
            "'ab=3' is no size; sizes are given as in a=24,b=16");
}

std::string ShapeError(const std::string& text, std::vector<std::vector<int64_t>> shapes,
                       Bindings sizes = {}) {
  return ErrorMessage(ParseEinsum(text, {.sizes = std::move(sizes), .shapes = std::move(shapes)}));
}

TEST(EinsumTest, SizesFollowFromShapes) {
  ExpectSame(ParseEinsum("ik,kj->ij", {.shapes = {{2, 4}, {4, 3}}}),
             ParseEinsum("ik,kj->ij", {{"i", "2"}, {"j", "3"}, {"k", "4"}}, kFloat));
  ExpectSame(ParseEinsum("ik,kj", {.sizes = {{"i", "2"}}, .shapes = {{2, 4}, {4, 3}}}),
             ParseEinsum("ik,kj->ij", {{"i", "2"}, {"j", "3"}, {"k", "4"}}, kFloat));
  ExpectSame(ParseEinsum(",i->i", {.shapes = {{}, {3}}}),
             ParseEinsum(",i->i", {{"i", "3"}}, kFloat));
  ExpectSame(ParseEinsum("i,i->i", {.shapes = {{0}, {0}}}),
             ParseEinsum("i,i->i", {{"i", "0"}}, kFloat));
}

TEST(EinsumTest, OneElementFitsAnySize) {
  const Result<Expression> expression = ParseEinsum("ij,ij->i", {.shapes = {{1, 4}, {3, 1}}});
  ExpectSame(expression, ParseExpression("e := out_view<fp32>( out: (i,j) -> (i) ) o "
                                         "md_hom<3,4>( f, (++, +) ) o inp_view<fp32,fp32>( "
                                         "A: (i,j) -> (0,j), B: (i,j) -> (i,0) ) where f(A, B) -> "
                                         "out { out = A * B }"));
  EXPECT_EQ(expression->inputs()[0].extents, (std::vector<int64_t>{1, 4}));
}

TEST(EinsumTest, AnEllipsisStandsForTheOtherDimensions) {
  ExpectSame(ParseEinsum("...ik,kj->...ij", {.shapes = {{7, 5, 2, 4}, {4, 3}}}),
             ParseEinsum("abik,kj->abij",
                         {{"a", "7"}, {"b", "5"}, {"i", "2"}, {"j", "3"}, {"k", "4"}}, kFloat));
  // Aligned at the last dimension, with one element for any number.
  ExpectSame(ParseEinsum("...,...->...", {.shapes = {{7, 1}, {5}}}),
             ParseExpression("e := out_view<fp32>( out: (a,b) -> (a,b) ) o md_hom<7,5>( f, (++, "
                             "++) ) o inp_view<fp32,fp32>( A: (a,b) -> (a,0), B: (a,b) -> (b) ) "
                             "where f(A, B) -> out { out = A * B }"));
  // Without "->": the dimensions of the ellipsis come first.
  ExpectSame(ParseEinsum("k...j,k", {.shapes = {{4, 7, 3}, {4}}}),
             ParseEinsum("kaj,k->aj", {{"a", "7"}, {"j", "3"}, {"k", "4"}}, kFloat));
  // Of an ellipsis that stands for nothing, nothing is left.
  ExpectSame(ParseEinsum("...i,...i->...", {.shapes = {{4}, {4}}}),
             ParseEinsum("i,i->", {{"i", "4"}}, kFloat));
  const Result<Expression> twelve =
      ParseEinsum("...", {.shapes = {{1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 3}}});
  ASSERT_TRUE(twelve.ok());
  EXPECT_EQ(twelve->dimensions()[11].size, 3) << "e12 is behind e2";
}

TEST(EinsumTest, WrongShapes) {
  EXPECT_EQ(ShapeError("ik,kj->ij", {{2, 4}}),
            "<einsum>:1:1: there are 2 operands, but 1 shape\nik,kj->ij\n^");
  EXPECT_EQ(
      ShapeError("ik,kj->ij", {{2, 4}, {4}}),
      "<einsum>:1:4: operand 2 has 2 letters, but its shape has 1 dimension\nik,kj->ij\n   ^");
  EXPECT_EQ(ShapeError("...ik->i", {{2}}).substr(0, 79),
            "<einsum>:1:1: operand 1 has 2 letters and '...', but its shape has 1 dimension\n");
  EXPECT_EQ(ShapeError("ik,kj->ij", {{2, 4}, {5, 3}}),
            "<einsum>:1:4: 'k' has 5 elements in operand 2, but 4 before\nik,kj->ij\n   ^");
  EXPECT_EQ(ShapeError("ii->i", {{1, 3}}),
            "<einsum>:1:2: 'i' has 3 elements in operand 1, but 1 before\nii->i\n ^");
  EXPECT_EQ(ShapeError("i->i", {{3}}, {{"i", "4"}}),
            "<einsum>:1:1: 'i' has the size 4, but 3 elements in its operands\ni->i\n^");
  EXPECT_EQ(ShapeError("i->i", {{-3}}),
            "<einsum>:1:1: an extent of operand 1 is -3, which is negative\ni->i\n^");
  EXPECT_EQ(ShapeError("...i->i", {{2, 3}}),
            "<einsum>:1:5: the output lacks '...', which stands for 1 dimensions of the operands\n"
            "...i->i\n    ^");
}

TEST(EinsumTest, ShapesAreNumbersWithCommas) {
  EXPECT_EQ(*ParseShape("8,16, 32"), (std::vector<int64_t>{8, 16, 32}));
  EXPECT_EQ(*ParseShape(" "), std::vector<int64_t>());
  for (const char* wrong : {"8x16", "8,", ",", "-1", "9223372036854775808", "a"}) {
    EXPECT_EQ(
        ErrorMessage(ParseShape(wrong)),
        absl::StrCat("'", wrong, "' is no shape; shapes are given as in 8,16,32, in elements"));
  }
}

TEST(EinsumTest, TypesOfTheOutputAndOfSums) {
  const auto same = [](EinsumOptions options, const std::string& views, const std::string& f) {
    options.sizes = {{"k", "5"}};
    ExpectSame(
        ParseEinsum("k,k->", options),
        ParseExpression(absl::StrCat("e := out_view<", views.substr(0, views.find('/')),
                                     ">( out: (k) -> () ) o md_hom<5>( f, (+) ) o inp_view<",
                                     views.substr(views.find('/') + 1),
                                     ">( A: (k) -> (k), B: (k) -> (k) ) where f(A, B) -> ", f)));
  };
  constexpr ScalarType kHalf = ScalarType::kFloat16, kByte = ScalarType::kInt8;
  same({.type = kHalf, .accumulate = kFloat}, "fp16/fp16,fp16",
       "(out: fp32) { out = fp32(A) * fp32(B) }");
  same({.type = kHalf, .out_type = kFloat}, "fp32/fp16,fp16", "out { out = fp32(A) * fp32(B) }");
  same({.type = kFloat, .out_type = kHalf}, "fp16/fp32,fp32", "(out: fp32) { out = A * B }");
  same({.type = kByte, .out_type = kByte, .accumulate = ScalarType::kInt32}, "int8/int8,int8",
       "(out: int32) { out = int32(A) * int32(B) }");
  same({.type = kHalf, .out_type = ScalarType::kBfloat16}, "bf16/fp16,fp16",
       "(out: fp32) { out = fp32(A) * fp32(B) }");
  constexpr ScalarType kE4m3 = ScalarType::kFloat8E4m3, kE5m2 = ScalarType::kFloat8E5m2;
  same({.type = kE4m3, .out_type = kE5m2}, "fp8e5m2/fp8e4m3,fp8e4m3",
       "(out: fp32) { out = fp32(A) * fp32(B) }");
  same({.type = kE4m3, .out_type = ScalarType::kBfloat16}, "bf16/fp8e4m3,fp8e4m3",
       "out { out = bf16(A) * bf16(B) }");
  same({.type = ScalarType::kBool, .out_type = ScalarType::kInt64}, "int64/bool,bool",
       "out { out = int64(A) * int64(B) }");
}

Result<Expression> WithEpilogue(const std::string& epilogue, ScalarType type = kFloat,
                                ScalarType accumulate = kFloat) {
  return ParseEinsum("ik,kj->ij", EinsumOptions{.sizes = {{"i", "4"}, {"j", "5"}, {"k", "6"}},
                                                .type = type,
                                                .accumulate = accumulate,
                                                .epilogue = epilogue});
}

TEST(EinsumEpilogueTest, IsAStoreFunction) {
  ExpectSame(WithEpilogue("max(out + bias[j], 0) + skip[i,j]", ScalarType::kFloat16),
             ParseExpression(R"(e := out_view<fp16>( out: (i,j,k) -> (i,j) ) o
  md_hom<4,5,6>( f, (++, ++, +), store s<fp16,fp16>( bias: (i,j,k) -> (j), skip: (i,j,k) -> (i,j) ) ) o
  inp_view<fp16,fp16>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) )
  where f(A, B) -> (c: fp32) { c = fp32(A) * fp32(B) },
        s(c, bias, skip) -> (y: fp32) { y = max(c + fp32(bias), 0) + fp32(skip) })"));
  // Single values, several accesses of a buffer, operands, indices.
  ExpectSame(
      WithEpilogue("i < 2 ? alpha[] * out : out * x[j] + x[2*j+1] + A[i,0] * fp32(i) + x[j]"),
      ParseExpression(R"(e := out_view<fp32>( out: (i,j,k) -> (i,j) ) o
  md_hom<4,5,6>( f, (++, ++, +), store s<fp32,fp32,fp32>( alpha: (i,j,k) -> (),
    x: (i,j,k) -> (j), (2*j+1), A: (i,j,k) -> (i,0) ) ) o
  inp_view<fp32,fp32>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) )
  where f(A, B) -> (c: fp32) { c = A * B },
        s(c, alpha, x, y, a) -> z { z = i < 2 ? alpha * c : c * x + y + a * fp32(i) + x })"));
}

TEST(EinsumEpilogueTest, ErrorsSayWhere) {
  const auto error = [](const std::string& epilogue) {
    return ErrorMessage(WithEpilogue(epilogue));
  };
  EXPECT_EQ(error("out + x[k]"),
            "<epilogue>:1:9: 'k' is summed over: there is one sum for all 'k', and what depends on "
            "'k' belongs among the operands\nout + x[k]\n        ^");
  for (const auto& [epilogue, message] : std::vector<std::pair<std::string, std::string>>{
           {"out * fp32(k)", "1:12: 'k' is summed over"},
           {"out + bias", "1:7: unknown name 'bias'"},
           {"bias + bias[j]",
            "1:1: 'bias' is a buffer, which has indices; a single value is bias[]"},
           {"max(out", "1:8: expected ')', found the end of the text"},
           {"out + x[i*j]", "1:10: the product of two dimensions is not affine"},
           {"out + x[i", "1:10: expected ']'"},
           {"out + x[y]", "1:9: "},
           {"out[i]", "1:1: 'out' is the sum, which has no indices"},
           {"i[j]", "1:1: 'i' is an index, which has no indices"},
           {"out + x[i] + x[i,j]", "1:14: 'x' has 1 index elsewhere, but 2 here"},
           {"out; 1", "1:4: expected the end of the value, found ';'"},
           {"out + A[i]", "buffer 'A'"},
           {"fp16(out)", "1:1: result 'stored' has type fp32, but the value has type fp16"}}) {
    EXPECT_THAT(error(epilogue), testing::HasSubstr(message)) << epilogue;
  }
}

TEST(EinsumEpilogueTest, AnyTextIsNoDanger) {
  const std::string text = "max(out+b[j],0)*s[i,j]";
  for (size_t at = 0; at < text.size(); ++at) {
    for (const char byte : absl::string_view("()[],.+-*/<?:{};=\"'#@ 0kjix_\n\xff")) {
      std::string damaged = text;
      damaged[at] = byte;
      const Result<Expression> expression = WithEpilogue(damaged);
      EXPECT_TRUE(expression.ok() || !expression.status().message().empty());
    }
  }
}

// All letters at once; a string with any byte changed is parsed or refused.
TEST(EinsumTest, AnyTextIsNoDanger) {
  std::string all;
  Bindings sizes;
  for (char c = 'a'; c <= 'z'; ++c) {
    for (const char letter : {c, static_cast<char>(c - 'a' + 'A')}) {
      all += letter;
      sizes[std::string(1, letter)] = "1";
    }
  }
  EXPECT_TRUE(ParseEinsum(all, sizes, kFloat).ok());
  const std::string text = "ik,kj->ij";
  for (size_t at = 0; at < text.size(); ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string damaged = text;
      damaged[at] = static_cast<char>(byte);
      const Result<Expression> expression =
          ParseEinsum(damaged, {{"i", "2"}, {"j", "3"}, {"k", "4"}}, kFloat);
      EXPECT_TRUE(expression.ok() || !expression.status().message().empty());
    }
  }
}

}  // namespace
}  // namespace mdh::einsum_test
