#include "tests/core/decomposition/low_level_input.h"

#include <algorithm>
#include <utility>

namespace mdh {
namespace {

class User : public LowLevelInput {
 public:
  User(const Buffer& buffer, const BufferBytes& bytes)
      : buffer_(buffer), bytes_(bytes), strides_(buffer.strides()), outside_(size()) {
    if (buffer.boundary.kind != Boundary::Kind::kConstant) return;
    for (size_t f = 0; f < buffer.boundary.values.size(); ++f) {
      buffer.boundary.values[f].Store(outside_.data() + buffer.type.fields()[f].offset_bytes);
    }
  }

  const std::byte* Read(const std::vector<int64_t>& index) const override {
    int64_t element = 0;
    for (size_t x = 0; x < index.size(); ++x) {
      const int64_t inside = std::clamp<int64_t>(index[x], 0, buffer_.extents[x] - 1);
      if (inside != index[x] && buffer_.boundary.kind == Boundary::Kind::kConstant) {
        return outside_.data();
      }
      element += inside * strides_[x];
    }
    return bytes_.data() + element * static_cast<int64_t>(size());
  }

 private:
  size_t size() const { return static_cast<size_t>(buffer_.type.size_bytes()); }

  const Buffer& buffer_;
  const BufferBytes& bytes_;
  const std::vector<int64_t> strides_;
  BufferBytes outside_;
};

class Copy : public LowLevelInput {
 public:
  Copy(const Buffer& buffer, IndexBox box, std::vector<int> layout, const LowLevelInput& from)
      : box_(std::move(box)),
        layout_(std::move(layout)),
        size_(buffer.type.size_bytes()),
        bytes_(static_cast<size_t>(ElementsOf(box_) * size_)) {
    ForEachIndex(box_, [&](const std::vector<int64_t>& index) {
      const std::byte* element = from.Read(index);
      std::copy(element, element + size_,
                bytes_.begin() + PlaceInLayout(box_, layout_, index) * size_);
    });
  }

  const std::byte* Read(const std::vector<int64_t>& index) const override {
    return bytes_.data() + PlaceInLayout(box_, layout_, index) * size_;
  }

 private:
  const IndexBox box_;
  const std::vector<int> layout_;
  const int64_t size_;
  BufferBytes bytes_;
};

}  // namespace

int64_t PlaceInLayout(const IndexBox& box, const std::vector<int>& layout,
                      const std::vector<int64_t>& index) {
  int64_t place = 0;
  for (const int x : layout) {
    place = place * (box.last[x] - box.first[x] + 1) + index[x] - box.first[x];
  }
  return place;
}

std::unique_ptr<LowLevelInput> UserInput(const Buffer& buffer, const BufferBytes& bytes) {
  return std::make_unique<User>(buffer, bytes);
}

std::unique_ptr<LowLevelInput> CopiedInput(const Buffer& buffer, IndexBox box,
                                           std::vector<int> layout, const LowLevelInput& from) {
  return std::make_unique<Copy>(buffer, std::move(box), std::move(layout), from);
}

}  // namespace mdh
