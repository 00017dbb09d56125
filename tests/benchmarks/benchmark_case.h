// The cases that a group of benchmarks measures: cases.json.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/text/parser.h"

namespace mdh {

struct BenchmarkCase {
  std::string id;               // "matmul_1024"
  std::string expression;       // file under client/expressions
  Bindings bindings;            // sizes of the expression's parameters
  double flops = 0;             // of the computation
  double compulsory_bytes = 0;  // inputs and outputs, each once
};

// The cases of a file whose id matches the shell pattern `pattern` ("*": all), in its order.
// Errors: NotFound (no file, no case matches), InvalidArgument (names file and what is wrong).
Result<std::vector<BenchmarkCase>> LoadCases(const std::string& path, const std::string& pattern);

// Its computation, as the sources below `source_path` say it. Errors: NotFound; as ParseExpression.
Result<Expression> ExpressionOfCase(const std::string& source_path, const BenchmarkCase& one);

// The whole of a file. Errors: NotFound.
Result<std::string> ReadTextFile(const std::string& path);

}  // namespace mdh
