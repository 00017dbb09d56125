// The table of targets: what holds for every device of a kind, and for kernels in its language.
// What belongs to a target above core is in tables of the folders there, by the same enums: how
// kernels are printed (codegen/backends), how devices are opened (tuner/measure/compile).
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/device/features.h"

namespace mdh {

enum class DeviceKind : uint8_t { kCpu = 1, kOpenCl = 2, kCuda = 3, kHip = 4 };
enum class Language : uint8_t { kOpenMpC, kOpenClC, kCudaCxx, kHipCxx };

struct BackendInfo {
  DeviceKind kind;
  absl::string_view name;          // in names of devices and in fingerprints: "cuda"
  absl::string_view title;         // for people: "CUDA"
  absl::string_view system_model;  // that kernels are tuned in
  bool is_attached = true;         // whether the project opens and measures such devices
  bool has_blocks = true;          // of threads
  bool limits_registers = false;   // descriptions say how many registers there are
  int lanes = 32;                  // threads of a warp, at most, that shuffles reach
  DeviceFeatures features = {};    // that there are words for, if the architecture has them
  DeviceFeatures with_ptx = {};    // that NVIDIA's compiler adds (ComputeCapability)

  Language language;
  absl::string_view language_name;  // "CUDA C++": in answers of the service and in files
  absl::string_view suffix;         // of sources
  absl::string_view compiler = "";  // unless Kernel::compiler says another; empty: the driver
  absl::string_view for_isa = "";   // the option before the device's `isa`; empty: there is none
  // Makes a binary of source $2 with options $1, each with a blank before it; $0: the compiler.
  absl::string_view compile_command = "";
};

absl::Span<const BackendInfo> Backends();

// nullptr if there is none, as of a number that somebody sent.
const BackendInfo* FindBackend(DeviceKind kind);
const BackendInfo* FindBackend(absl::string_view language_name);
const BackendInfo& BackendOf(DeviceKind kind);
const BackendInfo& BackendOf(Language language);

inline absl::string_view Name(Language language) { return BackendOf(language).language_name; }

}  // namespace mdh
