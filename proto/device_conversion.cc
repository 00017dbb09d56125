#include "proto/device_conversion.h"

#include <array>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

constexpr size_t kMaxTextBytes = 256;
// Generous, and small enough that products of a few of them do not overflow.
constexpr int kMaxCount = 1 << 20;
constexpr int kMaxThreads = 1 << 16;
constexpr int64_t kMaxBytes = int64_t{1} << 46;

v1::BlockLimits LimitsToProto(const BlockLimits& blocks) {
  v1::BlockLimits proto;
  proto.set_multiprocessors(blocks.multiprocessors);
  proto.set_max_threads_per_block(blocks.max_threads_per_block);
  proto.mutable_max_block()->Add(blocks.max_block.begin(), blocks.max_block.end());
  proto.mutable_max_grid()->Add(blocks.max_grid.begin(), blocks.max_grid.end());
  proto.set_warp_size(blocks.warp_size);
  proto.set_shared_bytes_per_block(blocks.shared_bytes_per_block);
  proto.set_registers_per_thread(blocks.registers_per_thread);
  proto.set_registers_per_block(blocks.registers_per_block);
  proto.set_memory_bytes(blocks.memory_bytes);
  proto.set_has_fp64(blocks.has_fp64);
  return proto;
}

// Fields of the message are called as the rows of FeatureNames.
const google::protobuf::FieldDescriptor* FieldOf(const FeatureName& feature) {
  return v1::DeviceFeatures::descriptor()->FindFieldByName(feature.name);
}

v1::DeviceFeatures FeaturesToProto(const DeviceFeatures& features) {
  v1::DeviceFeatures proto;
  for (const FeatureName& feature : FeatureNames()) {
    proto.GetReflection()->SetBool(&proto, FieldOf(feature), features.*feature.field);
  }
  return proto;
}

// Those of the architecture, where the message says nothing.
DeviceFeatures FeaturesFromProto(const v1::DeviceFeatures& proto, DeviceFeatures features) {
  const google::protobuf::Reflection& reflection = *proto.GetReflection();
  for (const FeatureName& feature : FeatureNames()) {
    if (!reflection.HasField(proto, FieldOf(feature))) continue;
    features.*feature.field = reflection.GetBool(proto, FieldOf(feature));
  }
  return features;
}

Status CheckText(absl::string_view field, const std::string& text) {
  if (text.size() <= kMaxTextBytes) return absl::OkStatus();
  return InvalidArgument("device description: ", field, " is longer than ", kMaxTextBytes,
                         " bytes");
}

Status CheckAtMost(absl::string_view field, int64_t value, int64_t most) {
  if (value <= most) return absl::OkStatus();
  return InvalidArgument("device description: ", field, " is ", value, ", more than ", most);
}

Status CheckTexts(const v1::DeviceDescription& proto) {
  MDH_RETURN_IF_ERROR(CheckText("model", proto.model()));
  MDH_RETURN_IF_ERROR(CheckText("isa", proto.isa()));
  return CheckText("compiler", proto.compiler());
}

Status CheckNumbers(const v1::DeviceDescription& proto) {
  const v1::BlockLimits& blocks = proto.blocks();
  MDH_RETURN_IF_ERROR(CheckAtMost("cores", proto.cores(), kMaxCount));
  MDH_RETURN_IF_ERROR(CheckAtMost("simd_bytes", proto.simd_bytes(), kMaxThreads));
  MDH_RETURN_IF_ERROR(CheckAtMost("vector_registers", proto.vector_registers(), kMaxThreads));
  MDH_RETURN_IF_ERROR(CheckAtMost("l1_bytes", proto.l1_bytes(), kMaxBytes));
  MDH_RETURN_IF_ERROR(CheckAtMost("l2_bytes", proto.l2_bytes(), kMaxBytes));
  MDH_RETURN_IF_ERROR(CheckAtMost("l3_bytes", proto.l3_bytes(), kMaxBytes));
  MDH_RETURN_IF_ERROR(CheckAtMost("cache_line_bytes", proto.cache_line_bytes(), kMaxThreads));
  MDH_RETURN_IF_ERROR(CheckAtMost("limits.unit_bytes", proto.limits().unit_bytes(), kMaxThreads));
  MDH_RETURN_IF_ERROR(CheckAtMost("multiprocessors", blocks.multiprocessors(), kMaxCount));
  MDH_RETURN_IF_ERROR(
      CheckAtMost("max_threads_per_block", blocks.max_threads_per_block(), kMaxThreads));
  MDH_RETURN_IF_ERROR(
      CheckAtMost("shared_bytes_per_block", blocks.shared_bytes_per_block(), kMaxBytes));
  MDH_RETURN_IF_ERROR(CheckAtMost("registers_per_block", blocks.registers_per_block(),
                                  std::numeric_limits<int32_t>::max()));
  return CheckAtMost("memory_bytes", blocks.memory_bytes(), kMaxBytes);
}

Status ReadAxes(absl::string_view field, const google::protobuf::RepeatedField<int64_t>& values,
                int64_t most, std::array<int64_t, 3>& axes) {
  if (values.size() != 3) {
    return InvalidArgument("device description: ", field, " has ", values.size(),
                           " values, not 3: x, y, z");
  }
  for (int axis = 0; axis < 3; ++axis) {
    MDH_RETURN_IF_ERROR(CheckAtMost(absl::StrCat(field, "[", axis, "]"), values[axis], most));
    axes[axis] = values[axis];
  }
  return absl::OkStatus();
}

Result<BlockLimits> LimitsFromProto(const v1::BlockLimits& proto) {
  BlockLimits blocks;
  blocks.multiprocessors = proto.multiprocessors();
  blocks.max_threads_per_block = proto.max_threads_per_block();
  MDH_RETURN_IF_ERROR(ReadAxes("max_block", proto.max_block(), kMaxThreads, blocks.max_block));
  MDH_RETURN_IF_ERROR(ReadAxes("max_grid", proto.max_grid(), std::numeric_limits<uint32_t>::max(),
                               blocks.max_grid));
  blocks.warp_size = proto.warp_size();
  blocks.shared_bytes_per_block = proto.shared_bytes_per_block();
  blocks.registers_per_thread = proto.registers_per_thread();
  blocks.registers_per_block = proto.registers_per_block();
  blocks.memory_bytes = proto.memory_bytes();
  blocks.has_fp64 = !proto.has_has_fp64() || proto.has_fp64();
  return blocks;
}

void SetIfGiven(int value, int& field) {
  if (value != 0) field = value;
}

}  // namespace

v1::DeviceDescription ToProto(const DeviceDescription& device) {
  v1::DeviceDescription proto;
  proto.set_kind(static_cast<v1::DeviceKind>(device.kind));
  proto.set_model(device.name);
  proto.set_cores(device.cores);
  proto.set_simd_bytes(device.simd_bytes);
  proto.set_vector_registers(device.vector_registers);
  proto.set_l1_bytes(device.l1_bytes);
  proto.set_l2_bytes(device.l2_bytes);
  proto.set_l3_bytes(device.l3_bytes);
  proto.set_cache_line_bytes(device.cache_line_bytes);
  proto.set_isa(device.isa);
  proto.set_compiler(device.compiler);
  proto.set_clock_hz(device.clock_hz);
  if (device.limits != MachineLimits()) {
    v1::MachineLimits& limits = *proto.mutable_limits();
    limits.set_clock_hz(device.limits.clock_hz);
    limits.set_memory_bytes_per_s(device.limits.memory_bytes_per_s);
    limits.set_cache_bytes(device.limits.cache_bytes);
    limits.set_unit_bytes(device.limits.unit_bytes);
  }
  if (BackendOf(device.kind).has_blocks) {
    *proto.mutable_blocks() = LimitsToProto(device.blocks);
    *proto.mutable_features() = FeaturesToProto(device.features);
  }
  return proto;
}

Result<DeviceDescription> FromProto(const v1::DeviceDescription& proto) {
  MDH_RETURN_IF_ERROR(CheckTexts(proto));
  MDH_RETURN_IF_ERROR(CheckNumbers(proto));
  DeviceDescription device;
  device.kind = static_cast<DeviceKind>(proto.kind());
  device.name = proto.model();
  SetIfGiven(proto.cores(), device.cores);
  SetIfGiven(proto.simd_bytes(), device.simd_bytes);
  SetIfGiven(proto.vector_registers(), device.vector_registers);
  device.l1_bytes = proto.l1_bytes();
  device.l2_bytes = proto.l2_bytes();
  device.l3_bytes = proto.l3_bytes();
  SetIfGiven(proto.cache_line_bytes(), device.cache_line_bytes);
  device.isa = proto.isa();
  device.compiler = proto.compiler();
  device.clock_hz = proto.clock_hz();
  device.limits = {.clock_hz = proto.limits().clock_hz(),
                   .memory_bytes_per_s = proto.limits().memory_bytes_per_s(),
                   .cache_bytes = proto.limits().cache_bytes(),
                   .unit_bytes = proto.limits().unit_bytes()};
  if (const BackendInfo* backend = FindBackend(device.kind); backend != nullptr) {
    if (backend->has_blocks) {
      MDH_ASSIGN_OR_RETURN(device.blocks, LimitsFromProto(proto.blocks()));
      if (proto.cores() == 0) device.cores = device.blocks.multiprocessors;
    }
    device.features = FeaturesFromProto(proto.features(), FeaturesOf(device));
  }
  if (device.name.empty()) return InvalidArgument("device description: model is empty");
  MDH_RETURN_IF_ERROR(ValidateDevice(device));
  return device;
}

v1::MatrixUnitPeaks ToProto(const UnitPeaks& peaks) {
  v1::MatrixUnitPeaks proto;
  proto.set_half_flops_per_s(peaks.half_flops_per_s);
  proto.set_tf32_flops_per_s(peaks.tf32_flops_per_s);
  proto.set_fp8_flops_per_s(peaks.fp8_flops_per_s);
  proto.set_int8_ops_per_s(peaks.int8_ops_per_s);
  proto.set_fp64_flops_per_s(peaks.fp64_flops_per_s);
  return proto;
}

UnitPeaks FromProto(const v1::MatrixUnitPeaks& proto) {
  return {.half_flops_per_s = proto.half_flops_per_s(),
          .tf32_flops_per_s = proto.tf32_flops_per_s(),
          .fp8_flops_per_s = proto.fp8_flops_per_s(),
          .int8_ops_per_s = proto.int8_ops_per_s(),
          .fp64_flops_per_s = proto.fp64_flops_per_s()};
}

}  // namespace mdh
