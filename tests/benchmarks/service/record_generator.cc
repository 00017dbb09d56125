#include "tests/benchmarks/service/record_generator.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/text/parser.h"
#include "core/text/printer.h"
#include "server/records/kernel_key.h"
#include "server/records/kernel_prediction.h"
#include "server/records/resource_names.h"
#include "tests/benchmarks/benchmark_case.h"

namespace mdh {
namespace {

struct Template {
  const char* file;
  std::vector<std::string> sizes;
};

const std::vector<Template>& Templates() {
  static const auto* templates = new std::vector<Template>{
      {"matmul.mdh", {"I", "J", "K"}},
      {"conv2d.mdh", {"P", "Q"}},
      {"matvec.mdh", {"I", "K"}},
      {"jacobi3d.mdh", {"I1", "I2", "I3"}},
  };
  return *templates;
}

// Sizes of one number: digits of it, so that no two numbers have the same.
constexpr int64_t kSmallest = 16;
constexpr int64_t kSteps = 640;
constexpr int64_t kTransaction = 5'000;

}  // namespace

Result<RecordGenerator> RecordGenerator::Create(const std::string& expressions,
                                                const DeviceDescription& device) {
  RecordGenerator generator(device);
  for (const Template& known : Templates()) {
    Computation computation;
    MDH_ASSIGN_OR_RETURN(computation.text,
                         ReadTextFile(absl::StrCat(expressions, "/", known.file)));
    computation.sizes = known.sizes;
    Bindings bindings;
    for (const std::string& size : known.sizes) bindings[size] = "128";
    MDH_ASSIGN_OR_RETURN(const Expression expression,
                         ParseExpression(computation.text, bindings, known.file));
    const v1::KernelKey key = MakeKernelKey(expression, KeyEnvironment::Of(device));
    MDH_ASSIGN_OR_RETURN(PredictedKernel made, PredictKernel(expression, device, key, {}));
    computation.common = {std::move(made.record), std::move(made.kernel)};
    computation.common.kernel.clear_source();
    generator.computations_.push_back(std::move(computation));
  }
  return generator;
}

Result<Expression> RecordGenerator::ExpressionOf(int64_t number) const {
  const int64_t computations = static_cast<int64_t>(computations_.size());
  const Computation& computation = computations_[number % computations];
  int64_t digits = number / computations;
  Bindings bindings;
  for (const std::string& size : computation.sizes) {
    bindings[size] = absl::StrCat(kSmallest + digits % kSteps);
    digits /= kSteps;
  }
  return ParseExpression(computation.text, bindings);
}

Result<StoredResult> RecordGenerator::Generate(int64_t number) const {
  MDH_ASSIGN_OR_RETURN(const Expression expression, ExpressionOf(number));
  StoredResult result = computations_[number % static_cast<int64_t>(computations_.size())].common;
  v1::TuningRecord& record = result.record;
  *record.mutable_key() = MakeKernelKey(expression, KeyEnvironment::Of(device_));
  record.set_expression_text(ToText(expression));
  record.set_time_ns(10'000 + number % 1'000'000);
  record.set_trials(500);
  record.set_technique("annealing");
  record.mutable_create_time()->set_seconds(1'700'000'000 + number);
  const std::string id = KernelId(record.key());
  record.set_name(RecordName(id));
  result.kernel.set_name(KernelName(id));
  return result;
}

Status RecordGenerator::Fill(Store& store, int64_t count) const {
  for (int64_t first = 0; first < count; first += kTransaction) {
    std::vector<StoredResult> results;
    for (int64_t n = first; n < std::min(count, first + kTransaction); ++n) {
      MDH_ASSIGN_OR_RETURN(StoredResult result, Generate(n));
      results.push_back(std::move(result));
    }
    MDH_RETURN_IF_ERROR(store.PutResults(results).status());
  }
  return absl::OkStatus();
}

}  // namespace mdh
