// What tests of front ends share: shipped expressions, and "means the same as this text".
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "core/canonical.h"
#include "core/text/parser.h"
#include "core/text/printer.h"
#include "tests/error_message.h"

namespace mdh {

inline std::string ReadFileOf(const std::string& path) {
  std::ifstream file(std::string(MDH_SOURCE_DIR) + "/" + path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

inline Result<Expression> ShippedExpression(const std::string& name,
                                            const Bindings& bindings = {}) {
  return ParseExpression(ReadFileOf("client/expressions/" + name + ".mdh"), bindings,
                         name + ".mdh");
}

// Both exist and have one digest.
inline void ExpectSame(const Result<Expression>& found, const Result<Expression>& expected) {
  ASSERT_TRUE(expected.ok()) << expected.status();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(CanonicalForm(*found), CanonicalForm(*expected)) << ToText(*found);
  EXPECT_EQ(Digest(*found), Digest(*expected));
}

}  // namespace mdh
