// What tests of front ends share: shipped expressions, and "means the same as this text".
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "core/expression/canonical.h"
#include "core/text/parser.h"
#include "core/text/printer.h"
#include "tests/error_message.h"
#include "tests/source_path.h"

namespace mdh {

inline std::string ReadFileOf(const std::string& path) {
  std::ifstream file(SourcePath(path));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

inline Result<Expression> ShippedExpression(const std::string& name,
                                            const Bindings& bindings = {}) {
  return ParseExpression(ReadFileOf("client/expressions/" + name + ".mdh"), bindings,
                         name + ".mdh");
}

// The text form of what a front end has made is read back.
inline void ExpectPrintsBack(const Expression& expression) {
  const std::string text = ToText(expression);
  const Result<Expression> again = ParseExpression(text, {}, "printed");
  ASSERT_TRUE(again.ok()) << again.status() << "\n" << text;
  EXPECT_EQ(CanonicalForm(*again), CanonicalForm(expression)) << text;
}

// Both exist and have one digest.
inline void ExpectSame(const Result<Expression>& found, const Result<Expression>& expected) {
  ASSERT_TRUE(expected.ok()) << expected.status();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(CanonicalForm(*found), CanonicalForm(*expected)) << ToText(*found);
  EXPECT_EQ(Digest(*found), Digest(*expected));
  ExpectPrintsBack(*found);
}

}  // namespace mdh
