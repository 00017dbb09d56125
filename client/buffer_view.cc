#include "client/buffer_view.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace mdh {
namespace {

using Numbers = std::vector<int64_t>;

std::string Text(const Numbers& numbers) {  // as Python writes tuples
  return absl::StrCat("(", absl::StrJoin(numbers, ", "), numbers.size() == 1 ? ",)" : ")");
}

int64_t ElementBytes(const BufferView& buffer) {
  return buffer.record_bytes > 0 ? buffer.record_bytes : SizeBytes(buffer.type);
}

Numbers StridesOf(const Numbers& extents, const Numbers& given) {
  if (!given.empty()) return given;
  Numbers strides(extents.size());
  int64_t step = 1;
  for (size_t d = extents.size(); d-- > 0;) {
    strides[d] = step;
    step *= extents[d];
  }
  return strides;
}

// What is expected of one argument.
class Expected {
 public:
  explicit Expected(const v1::KernelArgument& argument)
      : argument_(argument),
        extents_(argument.extents().begin(), argument.extents().end()),
        strides_(StridesOf(extents_, {argument.strides().begin(), argument.strides().end()})) {}

  Status Check(const BufferView& buffer) const {
    if (buffer.data == nullptr && argument_.size_bytes() > 0) return Wrong("is NULL");
    MDH_RETURN_IF_ERROR(CheckType(buffer));
    MDH_RETURN_IF_ERROR(CheckShape(buffer));
    const int64_t alignment = Alignment();
    if (reinterpret_cast<uintptr_t>(buffer.data) % alignment != 0) {
      return Wrong(
          absl::StrFormat("starts at %p, but must be aligned to %d bytes", buffer.data, alignment));
    }
    if (argument_.is_output() && buffer.is_read_only) {
      return Wrong("is an output, but the buffer is read-only");
    }
    return absl::OkStatus();
  }

 private:
  template <typename... Parts>
  Status Wrong(const Parts&... what) const {
    return InvalidArgument("the argument '", argument_.name(), "' ", what...);
  }

  Status CheckType(const BufferView& buffer) const {
    if (argument_.record().empty()) {
      const auto type = static_cast<ScalarType>(argument_.type());
      if (buffer.record_bytes == 0 && buffer.type == type) return absl::OkStatus();
      return Wrong("has elements of type ", buffer.record_bytes > 0 ? "record" : Name(buffer.type),
                   ", but the kernel expects ", Name(type));
    }
    const int64_t bytes = argument_.size_bytes() / std::max<int64_t>(argument_.elements(), 1);
    if (argument_.elements() == 0 || ElementBytes(buffer) == bytes) return absl::OkStatus();
    return Wrong("has elements of ", ElementBytes(buffer),
                 " bytes, but the kernel expects records of ", bytes);
  }

  Status CheckShape(const BufferView& buffer) const {
    int64_t elements = 1;
    for (const int64_t extent : buffer.extents) elements *= extent;
    if (!buffer.strides.empty() && buffer.strides.size() != buffer.extents.size()) {
      return Wrong("has shape ", Text(buffer.extents), " and strides of ", Text(buffer.strides),
                   " elements: one per dimension");
    }
    const bool is_single = extents_.empty() && argument_.elements() == 1;
    if (is_single && elements == 1) return absl::OkStatus();
    if (extents_.empty() && !is_single) {  // an earlier version's: the shape is not known
      if (elements == argument_.elements()) return CheckStrides(buffer, buffer.extents, {});
      return Wrong("has ", elements, " elements, but the kernel expects ", argument_.elements());
    }
    if (buffer.extents != extents_) {
      return Wrong("has shape ", Text(buffer.extents), ", but the kernel expects ", Text(extents_));
    }
    return CheckStrides(buffer, extents_, strides_);
  }

  Status CheckStrides(const BufferView& buffer, const Numbers& extents,
                      const Numbers& strides) const {
    const Numbers found = StridesOf(buffer.extents, buffer.strides);
    const Numbers expected = StridesOf(extents, strides);
    for (size_t d = 0; d < extents.size(); ++d) {
      if (extents[d] > 1 && found[d] != expected[d] && argument_.elements() > 0) {
        return Wrong("has strides of ", Text(found), " elements, but the kernel expects ",
                     Text(expected));
      }
    }
    return absl::OkStatus();
  }

  int64_t Alignment() const {
    if (argument_.record().empty()) return SizeBytes(static_cast<ScalarType>(argument_.type()));
    int64_t largest = 1;
    for (const v1::TypedName& field : argument_.record()) {
      largest = std::max<int64_t>(largest, SizeBytes(static_cast<ScalarType>(field.type())));
    }
    return largest;
  }

  const v1::KernelArgument& argument_;
  const Numbers extents_, strides_;
};

// Bytes from the first to the last one, and what all distances of elements are multiples of.
struct Reach {
  uintptr_t begin;
  int64_t bytes;
  int64_t element_bytes;
  int64_t step_bytes;  // 0: of a single element
};

Reach ReachOf(const BufferView& buffer) {
  const int64_t each = ElementBytes(buffer);
  const Numbers strides = StridesOf(buffer.extents, buffer.strides);
  Reach reach = {reinterpret_cast<uintptr_t>(buffer.data), each, each, 0};
  for (size_t d = 0; d < buffer.extents.size(); ++d) {
    if (buffer.extents[d] == 0) return {reach.begin, 0, each, 0};
    if (buffer.extents[d] == 1) continue;
    reach.bytes += (buffer.extents[d] - 1) * strides[d] * each;
    reach.step_bytes = std::gcd(reach.step_bytes, strides[d] * each);
  }
  return reach;
}

// Elements between those of the other, as columns of one matrix, share no memory with them.
bool Overlap(const Reach& a, const Reach& b) {
  if (a.bytes == 0 || b.bytes == 0) return false;
  if (a.begin + a.bytes <= b.begin || b.begin + b.bytes <= a.begin) return false;
  const int64_t step = std::gcd(a.step_bytes, b.step_bytes);
  if (step == 0) return true;
  const int64_t from_a = static_cast<int64_t>(b.begin - a.begin) % step;
  const int64_t distance = from_a < 0 ? from_a + step : from_a;
  return distance < a.element_bytes || step - distance < b.element_bytes;
}

}  // namespace

Status CheckArguments(const std::string& kernel, absl::Span<const v1::KernelArgument> arguments,
                      absl::Span<const BufferView> buffers) {
  if (buffers.size() != arguments.size()) {
    return InvalidArgument(
        kernel, " has ", arguments.size(), " arguments (",
        absl::StrJoin(arguments, ", ", [](auto* out, const auto& a) { out->append(a.name()); }),
        "), not ", buffers.size());
  }
  for (size_t n = 0; n < buffers.size(); ++n) {
    const Status status = Expected(arguments[n]).Check(buffers[n]);
    if (!status.ok()) return InvalidArgument(kernel, ": ", status.message());
  }
  for (size_t n = 0; n < buffers.size(); ++n) {
    for (size_t other = 0; other < buffers.size(); ++other) {
      const bool matters = arguments[n].is_output() && (other < n || !arguments[other].is_output());
      if (!matters || other == n || !Overlap(ReachOf(buffers[n]), ReachOf(buffers[other])))
        continue;
      return InvalidArgument(kernel, ": the output '", arguments[n].name(),
                             "' overlaps with the argument '", arguments[other].name(),
                             "': outputs share memory with nothing else");
    }
  }
  return absl::OkStatus();
}

}  // namespace mdh
