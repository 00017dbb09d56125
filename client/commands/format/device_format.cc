#include "client/commands/format/device_format.h"

#include <google/protobuf/util/time_util.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/text/formatting.h"

namespace mdh {
namespace {

std::string Line(const char* what, const std::string& text) {
  return absl::StrFormat("  %-12s %s\n", what, text);
}

std::string FormatCpu(const v1::DeviceDescription& device) {
  return Line("cores", absl::StrFormat("%d hardware threads, %.2f GHz", device.cores(),
                                       device.clock_hz() / 1e9)) +
         Line("instructions", absl::StrFormat("%s, %d vector registers of %d bytes", device.isa(),
                                              device.vector_registers(), device.simd_bytes())) +
         Line("caches",
              absl::StrFormat("L1 %s, L2 %s, L3 %s", FormatBytes(device.l1_bytes()),
                              FormatBytes(device.l2_bytes()), FormatBytes(device.l3_bytes())));
}

std::string FormatBlocks(const v1::DeviceDescription& device) {
  const v1::BlockLimits& blocks = device.blocks();
  const std::string registers =
      blocks.registers_per_block() == 0
          ? "not limited"
          : absl::StrFormat("%d a thread, %d a block", blocks.registers_per_thread(),
                            blocks.registers_per_block());
  return Line("processors", absl::StrFormat("%d, %.2f GHz, %s%s", blocks.multiprocessors(),
                                            device.clock_hz() / 1e9, device.isa(),
                                            blocks.has_fp64() ? "" : ", no fp64")) +
         Line("blocks",
              absl::StrFormat("%d threads, at most %s; warps of %d; grids of %s",
                              blocks.max_threads_per_block(),
                              absl::StrJoin(blocks.max_block(), " x "), blocks.warp_size(),
                              absl::StrJoin(blocks.max_grid(), " x "))) +
         Line("memory",
              absl::StrFormat("%s, shared %s a block, L2 %s", FormatBytes(blocks.memory_bytes()),
                              FormatBytes(blocks.shared_bytes_per_block()),
                              FormatBytes(device.l2_bytes()))) +
         Line("registers", registers);
}

std::string FormatPeaks(const v1::MachinePeaks& peaks) {
  std::string text = absl::StrCat("fp32 ", FormatFlops(peaks.fp32_flops_per_s()), ", fp64 ",
                                  FormatFlops(peaks.fp64_flops_per_s()), ", memory ",
                                  FormatBandwidth(peaks.memory_bytes_per_s()));
  if (peaks.copy_bytes_per_s() > 0) {
    absl::StrAppend(&text, ", copies ", FormatBandwidth(peaks.copy_bytes_per_s()));
  }
  return text;
}

// Those that were measured; empty: none.
std::string FormatUnits(const v1::MatrixUnitPeaks& units) {
  std::vector<std::string> parts;
  const auto add = [&](const char* operands, double per_s) {
    if (per_s > 0) parts.push_back(absl::StrCat(operands, " ", FormatFlops(per_s)));
  };
  add("fp16", units.half_flops_per_s());
  add("tf32", units.tf32_flops_per_s());
  add("fp8", units.fp8_flops_per_s());
  add("int8", units.int8_ops_per_s());
  add("fp64", units.fp64_flops_per_s());
  return absl::StrJoin(parts, ", ");
}

std::string FormatHealth(const v1::Device& device) {
  switch (device.health()) {
    case v1::DEVICE_HEALTH_STARTING:
      return "starting";
    case v1::DEVICE_HEALTH_UNHEALTHY:
      return absl::StrCat("unhealthy: ", device.health_reason());
    default:
      return "healthy";
  }
}

std::string FormatLoad(const v1::DeviceLoad& load) {
  return absl::StrCat(load.running_job().empty() ? "idle" : load.running_job(), ", ",
                      load.queued_jobs(), " queued");
}

}  // namespace

std::string FormatDevice(const v1::Device& device) {
  const v1::DeviceDescription& description = device.description();
  std::string text = absl::StrCat(device.name(), ": ", description.model(), "\n");
  if (!device.node().empty()) absl::StrAppend(&text, Line("daemon", device.node()));
  if (!device.platform().empty()) {
    absl::StrAppend(&text,
                    Line("platform", absl::StrCat(device.platform(), ", ", device.driver())));
  }
  absl::StrAppend(&text, description.kind() == v1::DEVICE_KIND_CPU ? FormatCpu(description)
                                                                   : FormatBlocks(description));
  if (device.has_peaks()) absl::StrAppend(&text, Line("peaks", FormatPeaks(device.peaks())));
  if (const std::string units = FormatUnits(device.peaks().units()); !units.empty()) {
    absl::StrAppend(&text, Line("matrix units", units));
  }
  if (device.peaks().launch_overhead_ns() > 0) {
    absl::StrAppend(
        &text,
        Line("launch", FormatTime(static_cast<int64_t>(device.peaks().launch_overhead_ns()))));
  }
  const std::string& compiler = description.compiler();
  absl::StrAppend(&text, Line("compilers", compiler.empty() ? "none" : compiler),
                  Line("tuning", device.can_tune() ? "yes" : device.cannot_tune_reason()),
                  Line("confinement", device.confinement().empty() ? "-" : device.confinement()),
                  Line("health", FormatHealth(device)), Line("load", FormatLoad(device.load())),
                  Line("fingerprint", device.fingerprint()));
  return text;
}

std::string FormatNode(const v1::Node& node) {
  std::string text = absl::StrCat(node.name(), ": mdhd ", node.server_version(), ", generator ",
                                  node.generator_version());
  if (node.is_gone()) {
    absl::StrAppend(&text, ", gone: last heard of at ",
                    google::protobuf::util::TimeUtil::ToString(node.seen_time()));
  }
  return text + "\n";
}

std::string FormatKnownDevice(const v1::KnownDevice& device) {
  const v1::DeviceDescription& description = device.description();
  const bool is_cpu = description.kind() == v1::DEVICE_KIND_CPU;
  return absl::StrFormat("%s: %s (%s, %d %s)\n", device.name(), description.model(),
                         description.isa(),
                         is_cpu ? description.cores() : description.blocks().multiprocessors(),
                         is_cpu ? "hardware threads" : "multiprocessors");
}

}  // namespace mdh
