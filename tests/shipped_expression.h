// The expressions that ship with the project, for tests.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "core/text/parser.h"
#include "tests/source_path.h"

namespace mdh {

// File `name` of client/expressions with these sizes and types; a test that names no such file
// fails.
inline Expression Shipped(const std::string& name, const Bindings& bindings = {}) {
  std::ifstream file(SourcePath("client/expressions/") + name);
  std::stringstream text;
  text << file.rdbuf();
  Result<Expression> expression = ParseExpression(text.str(), bindings, name);
  EXPECT_TRUE(expression.ok()) << expression.status();
  return *std::move(expression);
}

}  // namespace mdh
