#include "codegen/print/c_spelling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "codegen/print/c_prelude.h"
#include "codegen/program/c_names.h"

namespace mdh::c_spelling_test {
namespace {

using ::testing::HasSubstr;

TEST(CSpellingTest, Types) {
  EXPECT_EQ(CType(ScalarType::kBool), "uint8_t");
  EXPECT_EQ(CType(ScalarType::kInt16), "int16_t");
  EXPECT_EQ(CType(LoopValueType{ScalarType::kFloat32, 8}), "f32x8");
  EXPECT_EQ(CType(LoopValueType{ScalarType::kUint64, 2}), "u64x2");
}

TEST(CSpellingTest, LiteralsKeepTypeAndValue) {
  EXPECT_EQ(CLiteral(ScalarValue::Real(ScalarType::kFloat32, 2)), "2.0f");
  EXPECT_EQ(CLiteral(ScalarValue::Real(ScalarType::kFloat64, 0.1)), "0.10000000000000001");
  EXPECT_EQ(CLiteral(ScalarValue::Real(ScalarType::kFloat32, -INFINITY)), "-__builtin_inff()");
  EXPECT_EQ(CLiteral(ScalarValue::Integer(ScalarType::kInt64, std::numeric_limits<int64_t>::min())),
            "INT64_MIN");
  EXPECT_EQ(CLiteral(ScalarValue::Integer(ScalarType::kUint64, -1)),
            "UINT64_C(18446744073709551615)");
  EXPECT_EQ(CLiteral(ScalarValue::Bool(true)), "1");
}

TEST(CSpellingTest, IdentifiersAvoidKeywordsAndGeneratedNames) {
  for (const char* name : {"A", "IMAGE", "index", "step", "call", "dot", "N1", "a_gender"}) {
    EXPECT_EQ(CIdentifier(name), name);
  }
  for (const char* name : {"for", "class", "I", "part", "thread", "i_cor", "A_packed", "f32x8",
                           "at0", "tile_x", "size_t", "sqrt", "y1", "M_PI", "fmaxf", "log1pl",
                           "omp_get_thread_num", "vload4", "memcpy"}) {
    EXPECT_EQ(CIdentifier(name), std::string(name) + "_");
  }
  EXPECT_EQ(CIdentifier("mdh_min"), "vmdh_min");
  EXPECT_EQ(CIdentifier("lane"), "vlane")
      << "loops over lanes begin so, which passes take for aligned";
  EXPECT_EQ(CIdentifier("lanes_of"), "vlanes_of");
  EXPECT_EQ(CIdentifier("__builtin_trap"), "v__builtin_trap");
}

TEST(CPreludeTest, DefinesEachThingOnceAndWhatItNeedsBeforeIt) {
  CPrelude prelude;
  const LoopValueType type{ScalarType::kInt32, 4};
  EXPECT_EQ(prelude.OperationFunction(ScalarOp::kDiv, type, type), "mdh_div_i32x4");
  EXPECT_EQ(prelude.OperationFunction(ScalarOp::kDiv, type, type), "mdh_div_i32x4");
  const std::string text = prelude.ToString();
  EXPECT_EQ(text.find("mdh_div_i32x4(i32x4"), text.rfind("mdh_div_i32x4(i32x4"));
  EXPECT_LT(text.find("mdh_div_i32(int32_t"), text.find("mdh_div_i32x4(i32x4"));
  EXPECT_THAT(text, HasSubstr("b == 0 ? 0"));
}

// ptxas 13.0 makes one instruction of a clamp, whose two predicates it keeps in one register.
TEST(CPreludeTest, IndicesOfTablesAreNoClampsForPtxas) {
  const std::vector<ScalarValue> table = {ScalarValue::Integer(ScalarType::kInt16, 2),
                                          ScalarValue::Integer(ScalarType::kInt16, 0)};
  const auto printed = [&table](const CDialect& dialect, ScalarType index) {
    CPrelude prelude(dialect);
    prelude.TableFunction(table, {index, 1});
    return prelude.ToString();
  };
  EXPECT_THAT(printed(GnuC(), ScalarType::kInt32),
              HasSubstr("mdh_table1_values[i < 0 ? 0 : i > 1 ? 1 : i]"));
  for (const ScalarType index : {ScalarType::kInt8, ScalarType::kInt16, ScalarType::kInt32}) {
    const std::string text = printed(CudaCxx(), index);
    EXPECT_THAT(text, HasSubstr("int low = i < 0 ? 0 : i;\n  asm("));
    EXPECT_THAT(text, HasSubstr("mdh_table1_values[low > 1 ? 1 : low]"));
  }
  EXPECT_THAT(printed(CudaCxx(), ScalarType::kUint32), HasSubstr("[i > 1 ? 1 : i]"));
}

}  // namespace
}  // namespace mdh::c_spelling_test
