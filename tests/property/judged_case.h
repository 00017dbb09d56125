// Expressions with parameters that a test has chosen for them, on the devices of this machine.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/choose/default_parameters.h"
#include "core/expression/interpreter.h"
#include "core/text/parser.h"
#include "tests/property/block_backend.h"
#include "tests/property/block_pairs.h"
#include "tests/property/worker_pool.h"
#include "tests/random_expression.h"
#include "tests/random_parameters.h"

namespace mdh {

struct JudgedCase {
  std::string expression;
  std::map<std::string, std::string> sizes;
  // Changes those of rules; empty: random ones, of the seed.
  std::function<void(TuningParameters&)> choose;
  uint64_t seed;            // of the inputs
  std::string description;  // for messages
};

// What is wrong; empty if nothing is.
inline std::string Judge(JudgedBackend& backend, const JudgedCase& judged) {
  const auto expression = ParseExpression(judged.expression, judged.sizes);
  if (!expression.ok()) return std::string(expression.status().message());
  Rng rng(judged.seed);
  const DeviceDescription device =
      judged.choose ? backend.device()->description() : backend.RandomDevice(rng);
  const SystemModel model = !judged.choose                     ? backend.RandomModel(rng)
                            : device.kind == DeviceKind::kCuda ? CudaModel()
                                                               : OpenClModel();
  TuningParameters parameters;
  if (judged.choose) {
    parameters = DefaultParameters(*expression, model, device, NumericsPolicy::kReassociate);
    judged.choose(parameters);
  } else {
    const auto random =
        RandomNestParameters(rng, *expression, model, device, NumericsPolicy::kReassociate);
    if (!random.has_value()) return "";  // this seed finds none
    parameters = *random;
  }
  const auto low_level = Lower(*expression, model, device, parameters);
  if (!low_level.ok()) return std::string(low_level.status().message());
  const Result<Kernel> kernel = backend.Generate(*low_level, device);
  if (!kernel.ok()) return std::string(kernel.status().message());
  const std::vector<BufferBytes> inputs = RandomInputs(rng, *expression);
  const auto expected = Interpret(*expression, inputs, AccumulationOf(parameters.numerics));
  if (!expected.ok()) return std::string(expected.status().message());
  std::string wrong(backend.Judge(*expression, *kernel, inputs, *expected).message());
  if (!wrong.empty()) absl::StrAppend(&wrong, "\n", ToText(parameters));
  return wrong;
}

// Fails for every case that is not computed as the interpreter does; skips without such a device.
inline void JudgeOn(Backend kind, const std::vector<JudgedCase>& cases) {
  BackendOptions options;
  options.backend = kind;
  if (const auto name = FindBackend(options); !name.ok()) GTEST_SKIP() << name.status().message();
  const TemporaryDirectory cache;
  setenv("POCL_CACHE_DIR", cache.path().c_str(), 1);
  const MakeJob make_job = [&]() -> Job {
    auto backend =
        std::make_shared<Result<std::unique_ptr<JudgedBackend>>>(JudgedBackend::Open(options));
    return [backend, &cases](int job) {
      return backend->ok() ? Judge(***backend, cases[job])
                           : std::string(backend->status().message());
    };
  };
  const Status status = RunInWorkers(
      {.count = static_cast<int>(cases.size()), .processes = 2}, make_job, [&](const JobEnd& end) {
        EXPECT_EQ(end.text, "") << cases[end.job].expression << cases[end.job].description;
      });
  EXPECT_TRUE(status.ok()) << status;
}

}  // namespace mdh
