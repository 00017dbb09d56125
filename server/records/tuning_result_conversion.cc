#include "server/records/tuning_result_conversion.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/device/system_model.h"
#include "core/expression/touched_elements.h"
#include "core/schedule/schedule.h"
#include "core/text/printer.h"
#include "proto/device_conversion.h"
#include "server/records/kernel_key.h"
#include "server/records/resource_names.h"
#include "tuner/measure/results/plausibility.h"
#include "tuner/measure/results/runner_messages.h"

namespace mdh {
namespace {

// What the generated functions ask of `scratch`.
constexpr int kScratchAlignmentBytes = 64;

void AddLaunches(const Kernel& kernel, v1::Kernel& proto) {
  for (const KernelLaunch& launch : kernel.launches) {
    v1::KernelLaunch* to = proto.add_launches();
    to->set_function(launch.function);
    to->mutable_grid()->Add(launch.geometry.grid.begin(), launch.geometry.grid.end());
    to->mutable_block()->Add(launch.geometry.block.begin(), launch.geometry.block.end());
    to->set_dynamic_shared_bytes(launch.dynamic_shared_bytes);
    to->set_starts_early(launch.starts_early);
    for (const TensorMap& map : launch.tensor_maps) *to->add_tensor_maps() = ToMessage(map);
  }
  proto.set_scratch_bytes(kernel.scratch_bytes);
}

// Empty for parameters that are not those of the expression.
std::string ScheduleText(const Expression& expression, const TuningParameters& parameters) {
  const SystemModel* const model = FindSystemModel(parameters.system_model);
  const bool is_whole =
      model != nullptr && parameters.tile.size() == model->layers.size() &&
      std::all_of(parameters.tile.begin(), parameters.tile.end(), [&](const auto& layer) {
        return layer.size() == expression.dimensions().size();
      });
  return is_whole ? Schedule::Of(parameters, expression, *model).CanonicalText() : std::string();
}

}  // namespace

// Of devices with blocks, the second-level cache is one for all.
int64_t LargestCache(const DeviceDescription& device) {
  if (device.kind != DeviceKind::kCpu) return device.l2_bytes;
  return std::max(device.l2_bytes * device.cores, device.l3_bytes);
}

v1::TuningRecord MakeRecord(const Expression& expression, const v1::KernelKey& key,
                            const DeviceDescription& device, const TuningResult& result) {
  v1::TuningRecord record;
  record.set_name(RecordName(KernelId(key)));
  *record.mutable_key() = key;
  record.set_expression_name(expression.name());
  record.set_expression_text(ToText(expression));
  record.set_parameters(ToText(result.parameters));
  record.set_schedule(ScheduleText(expression, result.parameters));
  record.set_time_ns(result.measurement.time_ns());
  record.set_is_disturbed(result.measurement.is_disturbed);
  record.set_loop_nest_time_ns(result.loop_nest_ns);
  record.set_default_time_ns(result.default_ns);
  record.set_trials(result.trials);
  record.set_failed_trials(result.failed_trials);
  record.set_search_time_ns(result.elapsed_ns);
  record.set_flops(expression.FloatingPointOperations());
  record.set_compulsory_bytes(expression.CompulsoryBytes());
  record.set_is_double_precision(IsDoublePrecision(expression));
  record.set_low_level_table(result.low_level_table);
  record.set_fits_in_cache(TouchedLineBytes(expression, device.cache_line_bytes) <=
                           LargestCache(device));
  *record.mutable_device() = ToProto(device);
  return record;
}

v1::Kernel MakeKernel(const v1::KernelKey& key, const Kernel& kernel,
                      const DeviceDescription& device) {
  v1::Kernel proto;
  proto.set_name(KernelName(KernelId(key)));
  proto.set_entry(kernel.entry);
  proto.set_language(std::string(Name(kernel.language)));
  proto.set_source(kernel.source);
  proto.set_header(kernel.header);
  for (const KernelArgument& argument : kernel.arguments) {
    v1::KernelArgument* to = proto.add_arguments();
    to->set_name(argument.name);
    if (!argument.type.is_record()) {
      to->set_type(static_cast<v1::ScalarType>(argument.type.scalar()));
    }
    for (const ElementType::Field& field : argument.type.fields()) {
      if (!argument.type.is_record()) break;
      v1::TypedName* name = to->add_record();
      name->set_name(field.name);
      name->set_type(static_cast<v1::ScalarType>(field.type));
    }
    to->set_elements(argument.elements);
    to->set_size_bytes(argument.elements * argument.type.size_bytes());
    to->set_is_output(argument.is_output);
    to->mutable_extents()->Add(argument.extents.begin(), argument.extents.end());
    to->mutable_strides()->Add(argument.strides.begin(), argument.strides.end());
  }
  proto.set_stages(kernel.stages);
  for (const std::string& option : kernel.compile_options) proto.add_compile_options(option);
  proto.set_scratch_alignment_bytes(kScratchAlignmentBytes);
  const BackendInfo& backend = BackendOf(kernel.language);
  proto.set_compiler(std::string(kernel.compiler == Compiler::kClang  ? "clang"
                                 : kernel.compiler == Compiler::kNvcc ? "nvcc"
                                                                      : backend.compiler));
  if (!backend.has_blocks) {
    proto.set_threads(kernel.threads > 0 ? std::min(kernel.threads, device.cores) : device.cores);
  }
  const bool names_isa = std::any_of(
      kernel.compile_options.begin(), kernel.compile_options.end(),
      [&](const std::string& option) { return absl::StartsWith(option, backend.for_isa); });
  if (!backend.for_isa.empty() && !names_isa) {
    proto.add_compile_options(absl::StrCat(backend.for_isa, device.isa));
  }
  AddLaunches(kernel, proto);
  return proto;
}

}  // namespace mdh
