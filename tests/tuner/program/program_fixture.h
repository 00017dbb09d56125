// Programs for tests, from the text of their specifications.
#pragma once

#include <sstream>
#include <string>

#include "gtest/gtest.h"
#include "tests/server/temporary_directory.h"
#include "tuner/program/evaluator.h"
#include "tuner/program/program.h"
#include "tuner/program/spec_text.h"

namespace mdh {

inline v1::ProgramSpec SpecFrom(const std::string& text) {
  v1::ProgramSpec spec;
  const auto lines = ReadSpecText("spec", text, spec);
  EXPECT_TRUE(lines.ok()) << lines.status().message();
  return spec;
}

inline TunableProgram ProgramFrom(const std::string& text, const std::string& folder = "/") {
  auto program = TunableProgram::Create(SpecFrom(text), folder);
  EXPECT_TRUE(program.ok()) << program.status().message();
  return program.ok() ? *std::move(program) : TunableProgram();
}

// "X: 3, MODE: fast", as YAML.
inline v1::NamedConfiguration ConfigurationFrom(const std::string& text) {
  v1::NamedConfiguration configuration;
  const auto lines = ReadSpecText("configuration", "values: {" + text + "}", configuration);
  EXPECT_TRUE(lines.ok()) << lines.status().message();
  return configuration;
}

// "cost 3", or the failure.
inline std::string Outcome(const Result<v1::EvaluateResponse>& response) {
  if (!response.ok()) return std::string(response.status().message());
  if (!response->has_cost()) return response->failure();
  std::ostringstream text;
  text << "cost " << response->cost();
  return text.str();
}

}  // namespace mdh
