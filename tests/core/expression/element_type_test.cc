// Types of buffer elements.
#include "core/expression/element_type.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/error_message.h"

namespace mdh::element_type_test {
namespace {

std::vector<int> Offsets(const ElementType& type) {
  std::vector<int> offsets;
  for (const ElementType::Field& field : type.fields()) offsets.push_back(field.offset_bytes);
  return offsets;
}

ElementType Record(const std::vector<ScalarType>& types) {
  std::vector<TypedName> fields;
  for (const ScalarType type : types) fields.push_back({absl::StrCat("f", fields.size()), type});
  return *ElementType::Record(std::move(fields));
}

TEST(ElementTypeTest, ScalarsHaveOneFieldWithoutAName) {
  for (const ScalarTypeInfo& info : AllScalarTypes()) {
    const ElementType type = info.type;
    EXPECT_FALSE(type.is_record());
    EXPECT_EQ(type.scalar(), info.type);
    EXPECT_EQ(type.fields().size(), 1u);
    EXPECT_EQ(type.size_bytes(), info.size_bytes);
    EXPECT_EQ(type.ToString(), info.name);
  }
}

TEST(ElementTypeTest, RecordsAreLaidOutAsInC) {
  struct Mixed {
    int8_t a;
    double b;
    uint16_t c;
    bool d;
    float e;
  };
  const ElementType mixed = Record({ScalarType::kInt8, ScalarType::kFloat64, ScalarType::kUint16,
                                    ScalarType::kBool, ScalarType::kFloat32});
  EXPECT_EQ(mixed.size_bytes(), static_cast<int>(sizeof(Mixed)));
  EXPECT_EQ(Offsets(mixed),
            (std::vector<int>{offsetof(Mixed, a), offsetof(Mixed, b), offsetof(Mixed, c),
                              offsetof(Mixed, d), offsetof(Mixed, e)}));
  struct Small {
    uint16_t a;  // as fp16
    uint8_t b;
  };
  const ElementType small = Record({ScalarType::kFloat16, ScalarType::kUint8});
  EXPECT_EQ(small.size_bytes(), static_cast<int>(sizeof(Small)));
  EXPECT_EQ(Offsets(small), (std::vector<int>{0, 2}));
  EXPECT_EQ(Record({ScalarType::kInt8, ScalarType::kInt8, ScalarType::kInt8}).size_bytes(), 3);
}

TEST(ElementTypeTest, NamesTypesAndOrderMatter) {
  const auto record = [](const std::string& a, ScalarType ta, const std::string& b, ScalarType tb) {
    return *ElementType::Record({{a, ta}, {b, tb}});
  };
  const ElementType type = record("x", ScalarType::kFloat32, "n", ScalarType::kInt32);
  EXPECT_TRUE(type.is_record());
  EXPECT_EQ(type.ToString(), "{x: fp32, n: int32}");
  EXPECT_EQ(type, record("x", ScalarType::kFloat32, "n", ScalarType::kInt32));
  EXPECT_NE(type, record("y", ScalarType::kFloat32, "n", ScalarType::kInt32));
  EXPECT_NE(type, record("x", ScalarType::kFloat32, "n", ScalarType::kUint32));
  EXPECT_NE(type, record("n", ScalarType::kInt32, "x", ScalarType::kFloat32));
  EXPECT_NE(*ElementType::Record({{"x", ScalarType::kFloat32}}), ElementType(ScalarType::kFloat32));
}

TEST(ElementTypeTest, Errors) {
  EXPECT_EQ(ErrorMessage(ElementType::Record({})), "a record has 0 fields; it must have 1 to 256");
  std::vector<TypedName> many;
  for (int f = 0; f < 256; ++f) many.push_back({absl::StrCat("f", f), ScalarType::kInt8});
  EXPECT_EQ(ErrorMessage(ElementType::Record(many)), "no error");
  many.push_back({"last", ScalarType::kInt8});
  EXPECT_EQ(ErrorMessage(ElementType::Record(many)),
            "a record has 257 fields; it must have 1 to 256");
  EXPECT_EQ(ErrorMessage(ElementType::Record({{"a.b", ScalarType::kInt8}})),
            "'a.b' is no name for a field of a record");
  EXPECT_EQ(
      ErrorMessage(ElementType::Record({{"a", ScalarType::kInt8}, {"a", ScalarType::kInt16}})),
      "two fields of a record are called 'a'");
}

}  // namespace
}  // namespace mdh::element_type_test
