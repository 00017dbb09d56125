// write_corpus EXPRESSIONS OUT: what the fuzzers start from, as OUT/text/*, OUT/teml/*,
// OUT/schedule/*, OUT/proto/*, OUT/service/* and OUT/bundle/*: the .mdh files of the folder
// EXPRESSIONS and random expressions; the TeML programs of its folder teml and random ones;
// schedules; requests of every method with them; bundles of records for them.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "core/schedule/schedule.h"
#include "core/text/parser.h"
#include "core/text/printer.h"
#include "mdh/v1/admin.pb.h"
#include "mdh/v1/record.pb.h"
#include "proto/expression_conversion.h"
#include "server/records/kernel_key.h"
#include "server/records/kernel_prediction.h"
#include "server/store/bundle.h"
#include "tests/core/schedule/matmul.h"
#include "tests/fuzz/request.h"
#include "tests/random_expression.h"
#include "tests/random_teml.h"
#include "tests/server/fake_devices.h"
#include "tests/server/old_bundle.h"

namespace mdh {
namespace {

namespace fs = std::filesystem;

void Write(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

void WriteExpression(const fs::path& out, const std::string& name, const Expression& expression) {
  Write(out / "text" / name, ToText(expression));
  Write(out / "proto" / name, ToProto(expression).SerializeAsString());
}

// A record that could have been measured on the device of the tests.
v1::TuningRecord RecordFor(const Expression& expression) {
  const v1::KernelKey key = MakeKernelKey(expression, KeyEnvironment::Of(FakeCpu()));
  v1::TuningRecord record = PredictKernel(expression, FakeCpu(), key, {})->record;
  record.set_time_ns(10'000'000);
  return record;
}

std::string BundleOf(const std::vector<v1::TuningRecord>& records) {
  std::vector<StoredResult> results;
  for (const v1::TuningRecord& record : records) {
    v1::Kernel kernel;
    kernel.set_name("kernels/1");
    results.push_back({record, kernel});
  }
  return WriteBundle({}, results);
}

// Fills every field, down to some depth: expressions and records with the given ones.
void Fill(google::protobuf::Message* message, const v1::Expression& expression,
          const v1::TuningRecord& record, int depth) {
  using google::protobuf::FieldDescriptor;
  if (message->GetDescriptor() == v1::Expression::descriptor()) {
    message->CopyFrom(expression);
    return;
  }
  if (message->GetDescriptor() == v1::TuningRecord::descriptor()) {
    message->CopyFrom(record);
    return;
  }
  const auto* const reflection = message->GetReflection();
  for (int n = 0; n < message->GetDescriptor()->field_count() && depth > 0; ++n) {
    const FieldDescriptor* field = message->GetDescriptor()->field(n);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      Fill(field->is_repeated() ? reflection->AddMessage(message, field)
                                : reflection->MutableMessage(message, field),
           expression, record, depth - 1);
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING && !field->is_repeated()) {
      const bool is_bundle = field->type() == FieldDescriptor::TYPE_BYTES;
      reflection->SetString(message, field, is_bundle ? BundleOf({record}) : record.name());
    }
  }
}

// Requests of every method: with the expression alone, and with something everywhere.
void WriteRequests(const fs::path& out, const std::string& name, const Expression& expression) {
  const v1::TuningRecord record = RecordFor(expression);
  const v1::Expression message = ToProto(expression);
  v1::TuningRecord other = record;
  other.mutable_key()->set_compiler("another");
  Write(out / "bundle" / name, BundleOf({record, other}));
  Write(out / "bundle" / (name + "-old"), WriteOldBundle({}, {record, other}));
  for (size_t method = 0; method < AllMethods().size(); ++method) {
    for (const int depth : {1, 3}) {
      const auto request = MakeRequest(*AllMethods()[method]);
      Fill(request.get(), message, record, depth);
      Write(out / "service" / (name + "-" + std::to_string(method) + "-" + std::to_string(depth)),
            ToInput(method, *request));
    }
  }
}

// Every so many shipped expressions: there are requests of many methods with each.
constexpr int kExpressionsForRequests = 6;

// False if a shipped expression is not accepted.
bool WriteShipped(const fs::path& folder, const fs::path& out) {
  int read = 0;
  for (const fs::directory_entry& file : fs::directory_iterator(folder)) {
    if (file.path().extension() != ".mdh") continue;
    std::stringstream text;
    text << std::ifstream(file.path()).rdbuf();
    const std::string name = file.path().stem().string();
    Write(out / "text" / (name + ".mdh"), text.str());
    const Result<Expression> expression = ParseExpression(text.str(), {}, name);
    if (!expression.ok()) {
      std::cerr << "write_corpus: error: " << expression.status().message() << "\n";
      return false;
    }
    WriteExpression(out, name, *expression);
    if (++read % kExpressionsForRequests == 1) WriteRequests(out, name, *expression);
  }
  return true;
}

void WriteTeml(const fs::path& folder, const fs::path& out) {
  for (const fs::directory_entry& file : fs::recursive_directory_iterator(folder)) {
    if (file.path().extension() != ".teml") continue;
    std::stringstream text;
    text << std::ifstream(file.path()).rdbuf();
    Write(out / (file.path().parent_path().filename().string() + file.path().filename().string()),
          text.str());
  }
  Rng rng(2);
  for (int n = 0; n < 200; ++n) {
    Write(out / ("random" + std::to_string(n)), RandomTemlProgram(rng));
  }
}

// One with most of what there is, and those of configurations.
void WriteSchedules(const fs::path& out) {
  Write(out / "most", R"(for OpenMP+SIMD+RM:
cores: tile i=2..8*2, j=whole; parts i=!3
L2: tile k={2, 3}; order k, .., j
lanes: along j
input A: copy at L2; strips i; layout (k, i)
remainder=!overlap; prefetch=0..8 step 4
require bytes(A, L2) + bytes(B, L2) <= 100 and not (threads() == 3)
for CUDA:
BLK: tile i=8, j=j/2; on i=y, j=x
order DEV.k, SHR.k, .., DEV.i
input A: in SM from SHR.k; in RM inside; padding=1; width=1; stages=2; mode=async
output C: in RM from DEV.k; across THR.k in SM
fuse (i, j)
)");
  const Expression product = MatMulOf(12, 8, 6);
  for (const SystemModel& model : {OpenMpSimdRegistersModel(), CudaModel()}) {
    const TuningParameters p = SinglePoints(product, model, NumericsPolicy::kReassociate);
    Write(out / model.name, Schedule::Of(p, product, model).CanonicalText());
  }
}

}  // namespace
}  // namespace mdh

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: write_corpus EXPRESSIONS OUT\n";
    return 2;
  }
  const std::filesystem::path out = argv[2];
  for (const char* fuzzer : {"text", "teml", "schedule", "proto", "service", "bundle"}) {
    std::filesystem::create_directories(out / fuzzer);
  }
  if (!mdh::WriteShipped(argv[1], out)) return 1;
  mdh::WriteTeml(std::filesystem::path(argv[1]) / "teml", out / "teml");
  mdh::WriteSchedules(out / "schedule");
  mdh::Rng rng(1);
  mdh::RandomExpressionOptions options;
  options.max_rank = 3;
  for (int n = 0; n < 200; ++n) {
    options.exact = n % 2 == 0;
    mdh::WriteExpression(out, "random" + std::to_string(n), mdh::RandomExpression(rng, options));
  }
  return 0;
}
