#include "codegen/print/c_dialect.h"

#include <bit>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"

namespace mdh {

const CDialect& DialectOf(const DeviceDescription& device) {
  switch (BackendOf(device.kind).language) {
    case Language::kOpenMpC:
      break;
    case Language::kOpenClC:
      return OpenClCFor(device);
    case Language::kCudaCxx:
      return CudaCxx();
    case Language::kHipCxx:
      return HipCxx();
  }
  return GnuC();
}

std::string CPointer(const CDialect& dialect, AddressSpace space, bool is_const,
                     absl::string_view type) {
  return absl::StrCat(dialect.spaces[static_cast<size_t>(space)], is_const ? "const " : "", type,
                      "*");
}

std::string NativeVector(const CDialect& dialect, LoopValueType type) {
  const int bytes = SizeBytes(type.scalar);
  if (type.lanes > dialect.largest_vector_lanes ||
      type.lanes * bytes > dialect.largest_vector_bytes) {
    return "";
  }
  if (IsFloatingPoint(type.scalar) && !IsStorageOnly(type.scalar)) {
    return absl::StrCat(bytes == 4 ? "float" : "double", type.lanes);
  }
  const bool is_signed = IsSigned(type.scalar) && !IsStorageOnly(type.scalar);
  const std::array<absl::string_view, 4>& stems =
      is_signed ? dialect.signed_vectors : dialect.unsigned_vectors;
  return absl::StrCat(stems[std::bit_width(static_cast<unsigned>(bytes)) - 1], type.lanes);
}

std::string CLane(const CDialect& dialect, LoopValueType type, absl::string_view vector, int lane) {
  if (NativeVector(dialect, type).empty()) {
    return absl::StrCat(vector, absl::Substitute(dialect.lane, lane));
  }
  return absl::StrCat(vector, absl::Substitute(dialect.native_lane, absl::Hex(lane),
                                               absl::string_view("xyzw").substr(lane % 4, 1)));
}

}  // namespace mdh
