// The expressions that come with the client parse with their defaults and print to themselves.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "core/expression/canonical.h"
#include "core/text/parser.h"
#include "core/text/printer.h"
#include "tests/source_path.h"

namespace mdh::shipped_expressions_test {
namespace {

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

const std::filesystem::path kFolder = std::filesystem::path(SourcePath("client/expressions"));

Expression Shipped(const std::string& name, const Bindings& bindings = {}) {
  const Result<Expression> expression =
      ParseExpression(ReadFile(kFolder / (name + ".mdh")), bindings, name + ".mdh");
  EXPECT_TRUE(expression.ok()) << expression.status();
  return *expression;
}

TEST(ShippedExpressionsTest, AllParseAndPrintBack) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() != ".mdh") continue;
    const Expression expression = Shipped(entry.path().stem());
    EXPECT_EQ(expression.name(), entry.path().stem());
    const std::string text = ToText(expression);
    const Result<Expression> again = ParseExpression(text, {}, "printed");
    ASSERT_TRUE(again.ok()) << again.status() << "\n" << text;
    EXPECT_EQ(CanonicalForm(*again), CanonicalForm(expression)) << text;
    EXPECT_EQ(ToText(*again), text);
    ++files;
  }
  EXPECT_GE(files, 44);
}

// Operations and bytes as the paper's evaluation counts them.
TEST(ShippedExpressionsTest, OperationsAndBytesAreThoseOfTheBenchmarks) {
  EXPECT_EQ(Shipped("matmul").FloatingPointOperations(), 2'147'483'648);
  EXPECT_EQ(Shipped("matmul").CompulsoryBytes(), 12'582'912);
  EXPECT_EQ(Shipped("matvec").CompulsoryBytes(), 67'141'632);
  EXPECT_EQ(Shipped("matmul_t").CompulsoryBytes(), 150'560);
  EXPECT_EQ(Shipped("bmatmul").FloatingPointOperations(), 10'240'000);
  EXPECT_EQ(Shipped("jacobi3d").FloatingPointOperations(), 218'103'808);
  EXPECT_EQ(Shipped("conv2d").FloatingPointOperations(), 2'508'800);
  EXPECT_EQ(Shipped("conv2d").CompulsoryBytes(), 408'740);
  const Expression training = Shipped("mcc", {{"N", "16"}});
  EXPECT_EQ(training.FloatingPointOperations(), 3'776'446'464);
  EXPECT_EQ(training.CompulsoryBytes(), 61'486'528);
}

}  // namespace
}  // namespace mdh::shipped_expressions_test
