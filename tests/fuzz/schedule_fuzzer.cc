// Any bytes as a schedule of a matrix multiplication: it is refused, or its canonical text is read
// again as the same schedule, which says of configurations what the first one says.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "core/decomposition/tuning_parameters.h"
#include "core/pipeline/schedule/fusion_conflict.h"
#include "core/pipeline/schedule/pipeline_schedule.h"
#include "core/schedule/complete_parameters.h"
#include "core/schedule/schedule.h"
#include "core/text/pipeline_parser.h"
#include "tests/core/pipeline/sample_pipelines.h"
#include "tests/core/schedule/matmul.h"

namespace mdh {
namespace {

void Require(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

void Check(std::string_view text, const Expression& product, const SystemModel& model) {
  const Result<Schedule> schedule = Schedule::Parse(text, product, model);
  if (!schedule.ok()) return;
  const std::string canonical = schedule->CanonicalText();
  const Result<Schedule> again = Schedule::Parse(canonical, product, model);
  Require(again.ok(), "the canonical text is refused: " + again.status().ToString() + canonical);
  Require(again->CanonicalText() == canonical, "it reads as something else:\n" + canonical);
  const TuningParameters points = SinglePoints(product, model, NumericsPolicy::kReassociate);
  Require(schedule->Allows(points).ok() == again->Allows(points).ok(),
          "it allows something else:\n" + canonical);
  DeviceDescription device;
  device.kind = model.kind;
  CompleteParameters(*schedule, device);
}

// The same of a pipeline.
void Check(std::string_view text, const Pipeline& layer, const SystemModel& model) {
  const Result<PipelineSchedule> schedule = PipelineSchedule::Parse(text, layer, model);
  if (!schedule.ok()) return;
  const std::string& canonical = schedule->CanonicalText();
  const Result<PipelineSchedule> again = PipelineSchedule::Parse(canonical, layer, model);
  Require(again.ok(), "the canonical text is refused: " + again.status().ToString() + canonical);
  Require(again->CanonicalText() == canonical, "it reads as something else:\n" + canonical);
  Require(again->KeyText() == schedule->KeyText(), "it has another key:\n" + canonical);
  const Result<PipelineSchedule> of_key =
      PipelineSchedule::OfKey(schedule->KeyText(), layer, model);
  Require(of_key.ok(), "the key is refused: " + of_key.status().ToString() + schedule->KeyText());
  FindFusionConflict(*schedule);
}

}  // namespace
}  // namespace mdh

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto* const product = new mdh::Expression(mdh::MatMulOf(12, 8, 6));
  static const auto* const layer = new mdh::Pipeline(*mdh::ParsePipeline(mdh::kLayer));
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto& model : {mdh::OpenMpSimdRegistersModel(), mdh::CudaModel()}) {
    mdh::Check(text, *product, model);
    mdh::Check(text, *layer, model);
  }
  return 0;
}
