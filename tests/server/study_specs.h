// Specifications of studies for tests, and what their configurations cost.
#pragma once

#include <optional>
#include <string>

#include "mdh/v1/study.pb.h"

namespace mdh {

inline void AddInterval(const std::string& name, int64_t first, int64_t last, v1::StudySpec& spec) {
  v1::StudyParameter& parameter = *spec.add_parameters();
  parameter.set_name(name);
  parameter.mutable_interval()->set_first(first);
  parameter.mutable_interval()->set_last(last);
}

// a, b of 1..10 with a * b <= 40, which are 72, with a string beside them: 144.
inline v1::StudySpec ProductSpec(const std::string& abort = "", int lookahead = 0) {
  v1::StudySpec spec;
  spec.set_display_name("product");
  AddInterval("a", 1, 10, spec);
  AddInterval("b", 1, 10, spec);
  v1::StudyParameter& mode = *spec.add_parameters();
  mode.set_name("mode");
  mode.mutable_set()->add_values()->set_string_value("fast");
  mode.mutable_set()->add_values()->set_string_value("slow, safe");
  spec.add_constraints("a * b <= limit");
  (*spec.mutable_definitions())["limit"] = "40";
  spec.set_seed(7);
  spec.set_abort(abort);
  spec.set_lookahead(lookahead);
  return spec;
}

// nullopt: it fails, where a and b are equal.
inline std::optional<double> ProductCost(const v1::NamedConfiguration& configuration) {
  const auto& values = configuration.values().fields();
  const double a = values.at("a").number_value();
  const double b = values.at("b").number_value();
  if (a == b) return std::nullopt;
  const bool is_fast = values.at("mode").string_value() == "fast";
  return (a - 3) * (a - 3) + (b - 7) * (b - 7) + (is_fast ? 0.5 : 0.75);
}

// The trial, told.
inline v1::StudyTrial Outcome(const v1::StudyTrial& trial) {
  v1::StudyTrial outcome;
  outcome.set_number(trial.number());
  if (const std::optional<double> cost = ProductCost(trial.configuration()); cost.has_value()) {
    outcome.set_cost(*cost);
  } else {
    outcome.set_failure("a equals b");
  }
  return outcome;
}

}  // namespace mdh
