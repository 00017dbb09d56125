#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/c_interface/c_interface_fixture.h"

namespace mdh::query_test {
namespace {

using ::testing::HasSubstr;

TEST(CQueryTest, OneMeaningHasOneDigest) {
  const CQuery query = MatMulQuery(48);
  const CQuery einsum = MakeHandle<CQuery, mdh_query>(mdh_query_create_einsum, "ik,kj->ij",
                                                      "i=48,j=48,k=48", "fp32", nullptr);
  EXPECT_EQ(std::string(mdh_query_digest(query.get())), mdh_query_digest(einsum.get()));
  EXPECT_EQ(std::string(mdh_query_digest(query.get())).size(), 64u);
  EXPECT_NE(std::string(mdh_query_digest(query.get())), mdh_query_digest(MatMulQuery(49).get()));
}

mdh_einsum_options EinsumWith() {
  mdh_einsum_options with = {};
  with.struct_bytes = sizeof(with);
  return with;
}

TEST(CQueryTest, EinsumHasTypesAndShapes) {
  const auto digest = [](const char* einsum, const mdh_einsum_options& with) {
    const CQuery query =
        MakeHandle<CQuery, mdh_query>(mdh_query_create_einsum_with, einsum, &with, nullptr);
    return std::string(mdh_query_digest(query.get()));
  };
  mdh_einsum_options sizes = EinsumWith();
  sizes.sizes = "i=48,j=48,k=48";
  EXPECT_EQ(digest("ik,kj->ij", sizes), mdh_query_digest(MatMulQuery(48).get()));
  const char* const shapes[] = {"48,48", "48,48", nullptr};
  mdh_einsum_options shaped = EinsumWith();
  shaped.shapes = shapes;
  EXPECT_EQ(digest("ik,kj->ij", shaped), digest("ik,kj->ij", sizes));
  EXPECT_EQ(digest("...k,kj->...j", shaped), digest("ik,kj->ij", sizes));
  mdh_einsum_options typed = sizes;
  typed.type = "fp16";
  const std::string all_fp16 = digest("ik,kj->ij", typed);
  typed.accumulate = "fp32";
  const std::string added_in_fp32 = digest("ik,kj->ij", typed);
  typed.out_type = "fp32";
  const std::string to_fp32 = digest("ik,kj->ij", typed);
  EXPECT_NE(all_fp16, added_in_fp32);
  EXPECT_NE(added_in_fp32, to_fp32);
  typed.accumulate = nullptr;
  EXPECT_EQ(digest("ik,kj->ij", typed), to_fp32) << "the wider of both";
}

TEST(CQueryTest, EinsumHasAnEpilogue) {
  mdh_einsum_options with = EinsumWith();
  with.sizes = "i=48,j=48,k=48";
  with.epilogue = "max(out + bias[j], 0)";
  const CQuery query =
      MakeHandle<CQuery, mdh_query>(mdh_query_create_einsum_with, "ik,kj->ij", &with, nullptr);
  const CQuery text = MakeHandle<CQuery, mdh_query>(
      mdh_query_create,
      "e := out_view<fp32>( c: (i,j,k) -> (i,j) ) o "
      "md_hom<48,48,48>( f, (++, ++, +), store s<fp32>( bias: (i,j,k) -> (j) ) ) o "
      "inp_view<fp32,fp32>( a: (i,j,k) -> (i,k), b: (i,j,k) -> (k,j) ) "
      "where f(a, b) -> c { c = a * b }, s(c, bias) -> y { y = max(c + bias, 0) }",
      nullptr, nullptr);
  EXPECT_STREQ(mdh_query_digest(query.get()), mdh_query_digest(text.get()));
  // Who knows nothing of epilogues has smaller options.
  with.struct_bytes = offsetof(mdh_einsum_options, epilogue);
  const CQuery older =
      MakeHandle<CQuery, mdh_query>(mdh_query_create_einsum_with, "ik,kj->ij", &with, nullptr);
  EXPECT_STREQ(mdh_query_digest(older.get()), mdh_query_digest(MatMulQuery(48).get()));
}

TEST(CQueryTest, TextsMayBeTemlPrograms) {
  const char* const sizes[] = {"N=48", "type=fp32", nullptr};
  const CQuery program = MakeHandle<CQuery, mdh_query>(
      mdh_query_create, "A = tensor([N, N]) B = tensor([N, N]) C = contract(A, B, [2, 1])", sizes,
      nullptr);
  EXPECT_STREQ(mdh_query_digest(program.get()), mdh_query_digest(MatMulQuery(48).get()));
  mdh_query* query = nullptr;
  EXPECT_THAT(Ask(mdh_query_create, "A = tensor([4])", nullptr, nullptr, &query).message,
              HasSubstr("the program assigns nothing"));
}

TEST(CQueryTest, EinsumSaysWhatDoesNotFit) {
  mdh_query* query = nullptr;
  const auto message = [&](const char* einsum, const mdh_einsum_options& with) {
    return Ask(mdh_query_create_einsum_with, einsum, &with, nullptr, &query).message;
  };
  const char* const one[] = {"48,48", nullptr};
  const char* const wrong[] = {"48,x", nullptr};
  mdh_einsum_options with = EinsumWith();
  EXPECT_THAT(message("...i->...", with), HasSubstr("..."));
  with.shapes = one;
  EXPECT_THAT(message("ik,kj->ij", with), HasSubstr("2 operands"));
  with.shapes = wrong;
  EXPECT_THAT(message("ij->i", with), HasSubstr("x"));
  with = EinsumWith();
  with.sizes = "i=4";
  with.accumulate = "fp31";
  EXPECT_EQ(message("i->i", with), "there is no type 'fp31'");
  with.accumulate = nullptr;
  with.epilogue = "out +";
  EXPECT_THAT(message("i->i", with), HasSubstr("<epilogue>:1:6: expected a value"));
  with.struct_bytes = 0;
  EXPECT_THAT(message("i->i", with), HasSubstr("struct_bytes must be"));
  EXPECT_EQ(query, nullptr);
}

TEST(CQueryTest, ErrorsSayWhatIsWrong) {
  mdh_query* query = nullptr;
  const Answer text = Ask(mdh_query_create, "matmul := nonsense", nullptr, nullptr, &query);
  EXPECT_EQ(text.code, MDH_INVALID_ARGUMENT);
  EXPECT_THAT(text.message, HasSubstr("1:"));
  const char* const wrong[] = {"I", nullptr};
  EXPECT_THAT(Ask(mdh_query_create, "", wrong, nullptr, &query).message,
              HasSubstr("'I' is not of the form NAME=VALUE"));
  EXPECT_THAT(Ask(mdh_query_create_einsum, "i->i", "i=4", "fp31", nullptr, &query).message,
              HasSubstr("there is no type 'fp31'"));
  EXPECT_EQ(Ask(mdh_query_create_einsum, "i->j", "i=4", "fp32", nullptr, &query).code,
            MDH_INVALID_ARGUMENT);
  EXPECT_EQ(Ask(mdh_query_create_einsum, "i->i", "4", "fp32", nullptr, &query).code,
            MDH_INVALID_ARGUMENT);
  EXPECT_EQ(query, nullptr);
  // Who does not want to know what is wrong gets the code.
  EXPECT_EQ(mdh_query_create("", nullptr, nullptr, &query, nullptr), MDH_INVALID_ARGUMENT);
}

TEST(CQueryTest, OptionsHaveASizeAndNothingUnknown) {
  mdh_query* query = nullptr;
  const auto create = [&](const mdh_query_options* options) {
    return Ask(mdh_query_create_einsum, "i->i", "i=4", "fp32", options, &query);
  };
  mdh_query_options options = {};
  EXPECT_THAT(create(&options).message, HasSubstr("struct_bytes must be"));
  options.struct_bytes = sizeof(options);
  options.numerics = static_cast<mdh_numerics>(9);
  EXPECT_THAT(create(&options).message, HasSubstr("9 is no policy of numerics"));
  // A program that was compiled with a newer header.
  struct {
    mdh_query_options known;
    int64_t unknown;
  } newer = {{sizeof(newer), MDH_NUMERICS_EXACT_ORDER, nullptr, nullptr}, 1};
  EXPECT_EQ(create(&newer.known).code, MDH_UNIMPLEMENTED);
  newer.unknown = 0;
  EXPECT_EQ(create(&newer.known).code, MDH_OK);
  mdh_query_free(query);
  // And one with an older one, which had the size alone.
  query = nullptr;
  options = {sizeof(size_t), static_cast<mdh_numerics>(9), nullptr, nullptr};
  EXPECT_EQ(create(&options).code, MDH_OK);
  mdh_query_free(query);
}

TEST(CQueryTest, NothingCanBeFreed) {
  mdh_error_free(nullptr);
  mdh_query_free(nullptr);
  mdh_kernel_free(nullptr);
  mdh_function_free(nullptr);
  mdh_bundle_close(nullptr);
  mdh_client_free(nullptr);
  mdh_job_free(nullptr);
  mdh_cache_free(nullptr);
  mdh_record_free(nullptr);
}

}  // namespace
}  // namespace mdh::query_test
