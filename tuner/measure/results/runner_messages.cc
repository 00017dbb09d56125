#include "tuner/measure/results/runner_messages.h"

#include "proto/device_conversion.h"

namespace mdh {
namespace {

template <typename Field>
void Set(const std::array<int64_t, 3>& values, Field* field) {
  field->Add(values.begin(), values.end());
}

template <typename Field>
std::array<int64_t, 3> Get(const Field& field, int64_t missing) {
  std::array<int64_t, 3> values;
  for (int axis = 0; axis < 3; ++axis) values[axis] = axis < field.size() ? field[axis] : missing;
  return values;
}

}  // namespace

v1::TensorMap ToMessage(const TensorMap& map) {
  v1::TensorMap message;
  message.set_argument(map.argument);
  message.set_offset_bytes(map.offset_bytes);
  message.set_element_bytes(map.element_bytes);
  message.mutable_extents()->Add(map.extents.begin(), map.extents.end());
  message.mutable_strides_bytes()->Add(map.strides_bytes.begin(), map.strides_bytes.end());
  message.mutable_box()->Add(map.box.begin(), map.box.end());
  message.set_swizzle_bytes(map.swizzle_bytes);
  return message;
}

TensorMap FromMessage(const v1::TensorMap& message) {
  return {.argument = message.argument(),
          .offset_bytes = message.offset_bytes(),
          .element_bytes = message.element_bytes(),
          .extents = {message.extents().begin(), message.extents().end()},
          .strides_bytes = {message.strides_bytes().begin(), message.strides_bytes().end()},
          .box = {message.box().begin(), message.box().end()},
          .swizzle_bytes = message.swizzle_bytes()};
}

v1::RunnerKernel ToMessage(const Kernel& kernel) {
  v1::RunnerKernel message;
  message.set_entry(kernel.entry);
  message.set_language(std::string(Name(kernel.language)));
  message.set_source(kernel.source);
  message.set_compiler(static_cast<int>(kernel.compiler));
  message.mutable_compile_options()->Add(kernel.compile_options.begin(),
                                         kernel.compile_options.end());
  for (const KernelLaunch& launch : kernel.launches) {
    v1::RunnerLaunch& l = *message.add_launches();
    l.set_function(launch.function);
    Set(launch.geometry.grid, l.mutable_grid());
    Set(launch.geometry.block, l.mutable_block());
    l.set_dynamic_shared_bytes(launch.dynamic_shared_bytes);
    l.set_starts_early(launch.starts_early);
    for (const TensorMap& map : launch.tensor_maps) *l.add_tensor_maps() = ToMessage(map);
  }
  message.set_scratch_bytes(kernel.scratch_bytes);
  message.set_stages(kernel.stages);
  return message;
}

Kernel FromMessage(const v1::RunnerKernel& message) {
  Kernel kernel;
  kernel.entry = message.entry();
  if (const BackendInfo* backend = FindBackend(message.language())) {
    kernel.language = backend->language;
  }
  kernel.source = message.source();
  kernel.compiler = static_cast<Compiler>(message.compiler());
  kernel.compile_options.assign(message.compile_options().begin(), message.compile_options().end());
  for (const v1::RunnerLaunch& l : message.launches()) {
    kernel.launches.push_back({l.function(),
                               {Get(l.grid(), 1), Get(l.block(), 1)},
                               l.dynamic_shared_bytes(),
                               l.starts_early()});
    for (const v1::TensorMap& map : l.tensor_maps()) {
      kernel.launches.back().tensor_maps.push_back(FromMessage(map));
    }
  }
  kernel.stages = message.stages();
  kernel.scratch_bytes = message.scratch_bytes();
  return kernel;
}

v1::RunnerMeasureOptions ToMessage(const MeasureOptions& options) {
  v1::RunnerMeasureOptions message;
  message.set_compile_limit_ns(options.compile_limit_ns);
  message.set_run_limit_ns(options.run_limit_ns);
  message.set_min_repeats(options.min_repeats);
  message.set_target_time_ns(options.target_time_ns);
  message.set_max_repeats(options.max_repeats);
  message.set_best_so_far_ns(options.best_so_far_ns);
  message.set_slow_factor(options.slow_factor);
  message.set_precision(options.precision);
  message.set_max_time_ns(options.max_time_ns);
  message.set_cache(static_cast<int>(options.cache));
  message.set_may_share_unit(options.may_share_unit);
  return message;
}

MeasureOptions FromMessage(const v1::RunnerMeasureOptions& message) {
  return {.compile_limit_ns = message.compile_limit_ns(),
          .run_limit_ns = message.run_limit_ns(),
          .min_repeats = message.min_repeats(),
          .target_time_ns = message.target_time_ns(),
          .max_repeats = message.max_repeats(),
          .precision = message.precision(),
          .max_time_ns = message.max_time_ns(),
          .cache = static_cast<CacheState>(message.cache()),
          .best_so_far_ns = message.best_so_far_ns(),
          .slow_factor = message.slow_factor(),
          .may_share_unit = message.may_share_unit()};
}

v1::RunnerMeasured ToMessage(int64_t number, const Measurement& measurement) {
  v1::RunnerMeasured message;
  message.set_number(number);
  message.set_outcome(static_cast<int>(measurement.outcome));
  message.set_reason(measurement.reason);
  message.mutable_times_ns()->Add(measurement.times_ns.begin(), measurement.times_ns.end());
  message.set_compile_ns(measurement.compile_ns);
  message.set_calls_per_time(measurement.calls_per_time);
  message.set_drift(measurement.drift);
  message.set_is_disturbed(measurement.is_disturbed);
  message.set_device_ns(measurement.device_ns);
  message.set_registers_per_thread(measurement.registers_per_thread);
  message.set_local_bytes_per_thread(measurement.local_bytes_per_thread);
  message.set_shared_bytes_per_block(measurement.shared_bytes_per_block);
  message.set_check(static_cast<int>(measurement.check));
  return message;
}

Measurement FromMessage(const v1::RunnerMeasured& message) {
  Measurement measurement;
  measurement.outcome = static_cast<TrialOutcome>(message.outcome());
  measurement.reason = message.reason();
  measurement.times_ns.assign(message.times_ns().begin(), message.times_ns().end());
  measurement.compile_ns = message.compile_ns();
  measurement.calls_per_time = message.calls_per_time();
  measurement.drift = message.drift();
  measurement.is_disturbed = message.is_disturbed();
  measurement.device_ns = message.device_ns();
  measurement.registers_per_thread = message.registers_per_thread();
  measurement.local_bytes_per_thread = message.local_bytes_per_thread();
  measurement.shared_bytes_per_block = message.shared_bytes_per_block();
  measurement.check = static_cast<ResultCheck>(message.check());
  return measurement;
}

v1::MachinePeaks ToMessage(const MachinePeaks& peaks) {
  v1::MachinePeaks message;
  message.set_fp32_flops_per_s(peaks.fp32_flops_per_s);
  message.set_fp64_flops_per_s(peaks.fp64_flops_per_s);
  message.set_memory_bytes_per_s(peaks.memory_bytes_per_s);
  message.set_copy_bytes_per_s(peaks.copy_bytes_per_s);
  message.set_launch_overhead_ns(peaks.launch_overhead_ns);
  message.set_clock_hz(peaks.clock_hz);
  message.set_is_disturbed(peaks.is_disturbed);
  if (peaks.units != UnitPeaks{}) *message.mutable_units() = ToProto(peaks.units);
  return message;
}

MachinePeaks FromMessage(const v1::MachinePeaks& message) {
  return {.fp32_flops_per_s = message.fp32_flops_per_s(),
          .fp64_flops_per_s = message.fp64_flops_per_s(),
          .memory_bytes_per_s = message.memory_bytes_per_s(),
          .copy_bytes_per_s = message.copy_bytes_per_s(),
          .launch_overhead_ns = message.launch_overhead_ns(),
          .clock_hz = message.clock_hz(),
          .is_disturbed = message.is_disturbed(),
          .units = FromProto(message.units())};
}

v1::FunctionResources ToMessage(const FunctionResources& function) {
  v1::FunctionResources message;
  message.set_function(function.function);
  message.set_registers(function.registers);
  message.set_stack_bytes(function.stack_bytes);
  message.set_spill_store_bytes(function.spill_store_bytes);
  message.set_spill_load_bytes(function.spill_load_bytes);
  message.set_shared_bytes(function.shared_bytes);
  return message;
}

FunctionResources FromMessage(const v1::FunctionResources& message) {
  return {.function = message.function(),
          .registers = message.registers(),
          .stack_bytes = message.stack_bytes(),
          .spill_store_bytes = message.spill_store_bytes(),
          .spill_load_bytes = message.spill_load_bytes(),
          .shared_bytes = message.shared_bytes()};
}

}  // namespace mdh
