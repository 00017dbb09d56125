// A valid configuration for CUDA, which tests of constraints break.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "core/decomposition/low_level_expression.h"
#include "tests/core/decomposition/lowering_case.h"
#include "tests/error_message.h"

namespace mdh {

// Blocks of 16 x 16 threads, tiles of k in shared memory, results in registers.
inline constexpr char kParameters[] =
    "model=CUDA; parts=4,3,1|1,1,5|16,16,1|1,1,8|1,1,1; "
    "order=(1,1)(1,2)(1,3)(3,1)(3,2)(3,3)(2,1)(2,2)(2,3)(4,1)(4,2)(4,3)(5,1)(5,2)(5,3); "
    "inputs=in_place:0,1:-1|in_place:0,1:-1; "
    "memory=0,0,0|0,0,0|0,0,0|1,1,1|1,1,1/0,0,0|0,0,0|0,0,0|1,1,1|1,1,1; "
    "results=0,0,0|2,2,2|0,0,0|2,2,2|2,2,2";

using Change = std::function<void(TuningParameters&)>;

class ValidateTest : public ::testing::Test {
 protected:
  ValidateTest() : device_(DeviceFor(CudaModel())), parameters_(Parsed(kParameters, expression_)) {}

  static TuningParameters Parsed(const std::string& text, const Expression& e) {
    const auto p = ParseTuningParameters(text, e);
    EXPECT_TRUE(p.ok()) << p.status();
    return *p;
  }
  // What Validate says to `parameters_` after the change, without its prefix.
  std::string Error(const Change& change) {
    TuningParameters p = parameters_;
    change(p);
    const SystemModel model = *SystemModelNamed(parameters_.system_model);
    const Status status = Validate(expression_, model, device_, p);
    std::string message = ErrorMessage(status);
    const std::string prefix = "tuning parameters: ";
    if (message.starts_with(prefix)) message.erase(0, prefix.size());
    return message;
  }
  // The same for other parameters.
  std::string ErrorOf(const std::string& text) {
    parameters_ = Parsed(text, expression_);
    return Error([](auto&) {});
  }

  Expression expression_ = MatMul(64, 48, 40);
  DeviceDescription device_;
  TuningParameters parameters_;
};

// Four blocks, and then four threads, along k; results in the region that `results` says.
inline std::string AlongK(const std::string& model, bool threads, const std::string& results) {
  return absl::StrCat("model=", model, "; parts=4,3,", threads ? "1" : "4", "|1,1,5|4,16,",
                      threads ? "4" : "1", "|4,1,2|1,1,1; ",
                      "order=0,1,2|0,1,2|0,1,2|0,1,2|0,1,2; "
                      "inputs=in_place:0,1:-1|in_place:0,1:-1; results=",
                      results);
}

// All levels in the order of layers, inputs where they are.
inline std::string Plain(const std::string& model, const std::string& parts,
                         const std::string& more = "") {
  return absl::StrCat("model=", model, "; parts=", parts,
                      "; order=0,1,2|0,1,2|0,1,2|0,1,2|0,1,2; "
                      "inputs=in_place:0,1:-1|in_place:0,1:-1",
                      more);
}

}  // namespace mdh
