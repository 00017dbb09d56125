// The table of types, and values of every type.
#include "core/scalar/scalar_type.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "core/scalar/scalar_value.h"

namespace mdh::scalar_type_test {
namespace {

TEST(ScalarTypeTest, EveryTypeIsFoundByItsName) {
  EXPECT_EQ(AllScalarTypes().size(), 15u);
  for (const ScalarTypeInfo& info : AllScalarTypes()) {
    EXPECT_EQ(ScalarTypeFromName(std::string(info.name)), info.type);
    EXPECT_EQ(&Info(info.type), &info);
  }
  EXPECT_EQ(ScalarTypeFromName("float"), ScalarType::kFloat32);
  EXPECT_EQ(ScalarTypeFromName("double"), ScalarType::kFloat64);
  EXPECT_EQ(ScalarTypeFromName("int"), ScalarType::kInt32);
  EXPECT_EQ(ScalarTypeFromName("long"), std::nullopt);
  EXPECT_EQ(ScalarTypeFromName(""), std::nullopt);
}

TEST(ScalarTypeTest, ValuesOfTheWireFormatDoNotChange) {
  EXPECT_EQ(static_cast<int>(ScalarType::kBool), 1);
  EXPECT_EQ(static_cast<int>(ScalarType::kInt8), 2);
  EXPECT_EQ(static_cast<int>(ScalarType::kUint64), 9);
  EXPECT_EQ(static_cast<int>(ScalarType::kFloat32), 10);
  EXPECT_EQ(static_cast<int>(ScalarType::kFloat64), 11);
  EXPECT_EQ(static_cast<int>(ScalarType::kFloat16), 12);
  EXPECT_EQ(static_cast<int>(ScalarType::kBfloat16), 13);
  EXPECT_EQ(static_cast<int>(ScalarType::kFloat8E4m3), 14);
  EXPECT_EQ(static_cast<int>(ScalarType::kFloat8E5m2), 15);
}

TEST(ScalarValueTest, IntegersWrap) {
  EXPECT_EQ(ScalarValue::Integer(ScalarType::kInt8, 128).as_int64(), -128);
  EXPECT_EQ(ScalarValue::Integer(ScalarType::kUint8, -1).as_int64(), 255);
  EXPECT_EQ(ScalarValue::Integer(ScalarType::kInt16, 0x18000).as_int64(), -0x8000);
  EXPECT_EQ(ScalarValue::Integer(ScalarType::kUint16, -2).as_int64(), 65534);
  EXPECT_EQ(ScalarValue::Integer(ScalarType::kInt32, int64_t{1} << 31).as_int64(),
            std::numeric_limits<int32_t>::min());
  EXPECT_EQ(ScalarValue::Integer(ScalarType::kUint32, -1).as_int64(), 4294967295);
  EXPECT_EQ(ScalarValue::Integer(ScalarType::kUint64, -1).as_uint64(),
            std::numeric_limits<uint64_t>::max());
}

TEST(ScalarValueTest, RealsRoundToTheirType) {
  EXPECT_EQ(ScalarValue::Real(ScalarType::kFloat32, 0.1).as_double(), double{0.1f});
  EXPECT_EQ(ScalarValue::Real(ScalarType::kFloat64, 0.1).as_double(), 0.1);
  EXPECT_EQ(ScalarValue::Real(ScalarType::kFloat32, 1e300).as_double(),
            std::numeric_limits<double>::infinity());
}

TEST(ScalarValueTest, EqualityIsIdentity) {
  const ScalarType type = ScalarType::kFloat32;
  EXPECT_EQ(ScalarValue::Real(type, std::nan("1")), ScalarValue::Real(type, -std::nan("2")));
  EXPECT_FALSE(ScalarValue::Real(type, 0.0) == ScalarValue::Real(type, -0.0));
  EXPECT_FALSE(ScalarValue::Integer(ScalarType::kInt8, 1) ==
               ScalarValue::Integer(ScalarType::kInt16, 1));
}

TEST(ScalarValueTest, StoredBytesLoadAsTheSameValue) {
  for (const ScalarTypeInfo& info : AllScalarTypes()) {
    for (int64_t number : {0, 1, -1, 100, -100}) {
      const ScalarValue value =
          IsFloatingPoint(info.type) ? ScalarValue::Real(info.type, static_cast<double>(number))
          : info.type == ScalarType::kBool ? ScalarValue::Bool(number > 0)
                                           : ScalarValue::Integer(info.type, number);
      std::array<unsigned char, 9> bytes;
      bytes.fill(0xa5);
      value.Store(bytes.data());
      EXPECT_EQ(ScalarValue::Load(info.type, bytes.data()), value) << info.name;
      EXPECT_EQ(bytes[info.size_bytes], 0xa5) << info.name << " writes too much";
    }
  }
}

TEST(ScalarValueTest, AnyByteOfABoolThatIsNotZeroIsTrue) {
  const unsigned char byte = 2;
  EXPECT_EQ(ScalarValue::Load(ScalarType::kBool, &byte), ScalarValue::Bool(true));
}

TEST(ScalarValueTest, LiteralsAreShort) {
  EXPECT_EQ(ScalarValue::Real(ScalarType::kFloat32, 0.161).ToString(), "0.161");
  EXPECT_EQ(ScalarValue::Real(ScalarType::kFloat64, -1.67).ToString(), "-1.67");
  EXPECT_EQ(ScalarValue::Real(ScalarType::kFloat32, 2).ToString(), "2");
  EXPECT_EQ(ScalarValue::Real(ScalarType::kFloat32, -0.0).ToString(), "-0");
  EXPECT_EQ(ScalarValue::Real(ScalarType::kFloat64, -INFINITY).ToString(), "-inf");
  EXPECT_EQ(ScalarValue::Real(ScalarType::kFloat64, NAN).ToString(), "nan");
  EXPECT_EQ(
      ScalarValue::Integer(ScalarType::kInt64, std::numeric_limits<int64_t>::min()).ToString(),
      "-9223372036854775808");
  EXPECT_EQ(ScalarValue::Integer(ScalarType::kUint64, -1).ToString(), "18446744073709551615");
  EXPECT_EQ(ScalarValue::Bool(true).ToString(), "true");
}

}  // namespace
}  // namespace mdh::scalar_type_test
