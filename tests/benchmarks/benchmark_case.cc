#include "tests/benchmarks/benchmark_case.h"

#include <fnmatch.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "absl/strings/str_cat.h"

namespace mdh {

Result<std::string> ReadTextFile(const std::string& path) {
  std::ifstream stream(path);
  if (!stream) return absl::NotFoundError(absl::StrCat(path, " cannot be read"));
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

Result<std::vector<BenchmarkCase>> LoadCases(const std::string& path, const std::string& pattern) {
  MDH_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path));
  std::vector<BenchmarkCase> cases;
  try {
    for (const nlohmann::json& entry : nlohmann::json::parse(text)) {
      BenchmarkCase one;
      one.id = entry.at("id").get<std::string>();
      if (fnmatch(pattern.c_str(), one.id.c_str(), 0) != 0) continue;
      one.expression = entry.at("expression").get<std::string>();
      for (const auto& [name, size] : entry.at("bindings").items()) {
        one.bindings[name] = absl::StrCat(size.get<int64_t>());
      }
      one.flops = entry.at("flops").get<double>();
      one.compulsory_bytes = entry.at("compulsory_bytes").get<double>();
      cases.push_back(std::move(one));
    }
  } catch (const nlohmann::json::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", error.what()));
  }
  if (cases.empty()) {
    return absl::NotFoundError(absl::StrCat("no case of ", path, " matches '", pattern, "'"));
  }
  return cases;
}

Result<Expression> ExpressionOfCase(const std::string& source_path, const BenchmarkCase& one) {
  MDH_ASSIGN_OR_RETURN(
      const std::string text,
      ReadTextFile(absl::StrCat(source_path, "/client/expressions/", one.expression)));
  return ParseExpression(text, one.bindings);
}

}  // namespace mdh
