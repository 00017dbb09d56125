// Running shipped expressions.
#include "tests/examples/example.h"

#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "tests/source_path.h"

namespace mdh {
namespace {

Expression Shipped(const std::string& name, const Bindings& bindings) {
  std::ifstream file(absl::StrCat(SourcePath("client/expressions/"), name, ".mdh"));
  std::stringstream text;
  text << file.rdbuf();
  Result<Expression> expression = ParseExpression(text.str(), bindings, name);
  EXPECT_TRUE(expression.ok()) << expression.status();
  return *std::move(expression);
}

ScalarValue FromDouble(ScalarType type, double value) {
  if (type == ScalarType::kBool) return ScalarValue::Bool(value != 0);
  if (IsFloatingPoint(type)) return ScalarValue::Real(type, value);
  return ScalarValue::Integer(type, static_cast<int64_t>(value));
}

std::vector<double> Read(const Buffer& buffer, const BufferBytes& bytes, int field) {
  const ElementType::Field& at = buffer.type.fields()[field];
  std::vector<double> values;
  for (int64_t n = 0; n < buffer.elements(); ++n) {
    const std::byte* element = bytes.data() + n * buffer.type.size_bytes() + at.offset_bytes;
    values.push_back(ScalarValue::Load(at.type, element).as_double());
  }
  return values;
}

}  // namespace

Example::Example(const std::string& name, const Bindings& bindings)
    : expression_(Shipped(name, bindings)) {
  for (const Buffer& buffer : expression_.inputs()) inputs_.emplace_back(buffer.size_bytes());
  Fill(-4, 4);
}

void Example::Fill(int64_t smallest, int64_t largest) {
  std::mt19937_64 rng(1);
  for (size_t b = 0; b < inputs_.size(); ++b) {
    const Buffer& buffer = expression_.inputs()[b];
    for (size_t f = 0; f < buffer.type.fields().size(); ++f) {
      std::vector<double> values;
      for (int64_t n = 0; n < buffer.elements(); ++n) {
        const auto steps = static_cast<int64_t>(rng() % (largest - smallest + 1));
        values.push_back(static_cast<double>(smallest + steps));
      }
      SetInput(static_cast<int>(b), values, static_cast<int>(f));
    }
  }
}

void Example::SetInput(int buffer, const std::vector<double>& values, int field) {
  const ElementType& type = expression_.inputs()[buffer].type;
  const ElementType::Field& at = type.fields()[field];
  for (size_t n = 0; n < values.size(); ++n) {
    FromDouble(at.type, values[n])
        .Store(inputs_[buffer].data() + n * type.size_bytes() + at.offset_bytes);
  }
}

std::vector<double> Example::Input(int buffer, int field) const {
  return Read(expression_.inputs()[buffer], inputs_[buffer], field);
}

std::vector<double> Example::Output(int buffer, int field) const {
  const Result<std::vector<BufferBytes>> outputs = Interpret(expression_, inputs_);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return Read(expression_.outputs()[buffer], (*outputs)[buffer], field);
}

void ExpectOutput(const Example& example, const std::vector<double>& expected, double tolerance,
                  int buffer, int field) {
  const std::vector<double> found = example.Output(buffer, field);
  ASSERT_EQ(found.size(), expected.size());
  for (size_t n = 0; n < found.size(); ++n) {
    if (found[n] == expected[n]) continue;  // also infinite ones
    EXPECT_NEAR(found[n], expected[n], tolerance)
        << example.expression().name() << ", output " << buffer << ", element " << n;
  }
}

}  // namespace mdh
