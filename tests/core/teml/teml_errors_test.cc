// Malformed TeML programs. golden/bad_teml.txt has a case per rule that can be broken.
#include <string>

#include "core/teml/teml.h"
#include "gtest/gtest.h"
#include "tests/core/golden_errors.h"
#include "tests/error_message.h"

namespace mdh::teml_errors_test {
namespace {

TEST(TemlErrors, GoldenErrors) {
  const int cases = CheckGoldenErrors("bad_teml.txt", [](const std::string& text) {
    return ErrorMessage(ParseTemlPipeline(text, {}, "bad.teml"));
  });
  EXPECT_GE(cases, 80);
}

TEST(TemlErrors, ValuesFromOutside) {
  const std::string text = "N = 8\nA = tensor([N])\nB = eq(A, [i] -> [i])\n";
  EXPECT_EQ(ErrorMessage(ParseTemlPipeline(text, {{"M", "4"}}, "bad.teml")),
            "bad.teml:1:1: the program has no size 'M'; it has N, and 'type'\nN = 8\n^");
  EXPECT_EQ(ErrorMessage(ParseTemlPipeline(text, {{"N", "many"}}, "bad.teml")),
            "bad.teml:1:1: the value 'many' of 'N' is no 64-bit integer\nN = 8\n^");
  EXPECT_EQ(ErrorMessage(ParseTemlPipeline(text, {{"type", "fp23"}}, "bad.teml")),
            "bad.teml:1:1: the value 'fp23' of 'type' is no scalar type; there are fp64, fp32, "
            "int32, ...\nN = 8\n^");
  // What iterators are called is no size.
  EXPECT_EQ(ErrorMessage(ParseTemlPipeline("A = tensor([4])\nB = eq(A, [i] -> [i])\n", {{"i", "2"}},
                                           "bad.teml")),
            "bad.teml:1:1: the program has no size 'i'; it has none, and 'type'\nA = "
            "tensor([4])\n^");
}

}  // namespace
}  // namespace mdh::teml_errors_test
