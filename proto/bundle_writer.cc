#include "proto/bundle_writer.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include "core/base/sha256.h"
#include "core/base/text_view.h"
#include "proto/bundle_layout.h"

namespace mdh {
namespace {

using Layout = BundleLayout;

void StoreSum(const Sha256::Sum& sum, char* to) { std::ranges::copy(sum, to); }

// Those with the same identity beside each other, newer generators first.
void SortItems(std::vector<BundleItem>& items) {
  const auto rank = [](const BundleItem& item) {
    return std::make_tuple(std::string_view(item.key.identity()),
                           -int64_t{item.key.generator_version()},
                           std::string_view(item.key.compiler()));
  };
  std::ranges::stable_sort(items, [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
}

void FillRow(const BundleItem& item, uint64_t offset, char* row) {
  const auto store_size = [&](size_t at, const std::string& bytes) {
    StoreLittleEndian(static_cast<uint32_t>(bytes.size()), row + at);
  };
  StoreLittleEndian(offset, row + Layout::Row::kOffsetAt);
  store_size(Layout::Row::kIdentityBytesAt, item.key.identity());
  store_size(Layout::Row::kCompilerBytesAt, item.key.compiler());
  store_size(Layout::Row::kRecordBytesAt, item.record);
  store_size(Layout::Row::kKernelBytesAt, item.kernel);
  StoreLittleEndian(static_cast<uint32_t>(item.key.generator_version()),
                    row + Layout::Row::kGeneratorAt);
  StoreSum(Sha256()
               .Add(View(item.key.identity()))
               .Add(View(item.key.compiler()))
               .Add(View(item.record))
               .Add(View(item.kernel))
               .Finish(),
           row + Layout::Row::kSumAt);
}

void FillSlot(uint64_t hash, uint64_t number, uint64_t slots, char* table) {
  uint64_t slot = hash & (slots - 1);
  const auto at = [&] { return table + slot * Layout::Slot::kBytes; };
  while (LoadLittleEndian<uint64_t>(at() + Layout::Slot::kNumberAt) != 0) {
    slot = (slot + 1) & (slots - 1);
  }
  StoreLittleEndian(hash, at() + Layout::Slot::kHashAt);
  StoreLittleEndian(number + 1, at() + Layout::Slot::kNumberAt);
}

void FillHeader(std::string_view info, uint64_t entries, uint64_t slots, uint64_t contents_at,
                std::string& bytes) {
  Layout::kMagic.copy(bytes.data(), Layout::kMagic.size());
  StoreLittleEndian(Layout::kVersion, bytes.data() + Layout::Header::kVersionAt);
  StoreLittleEndian(uint64_t{bytes.size()}, bytes.data() + Layout::Header::kFileBytesAt);
  StoreLittleEndian(entries, bytes.data() + Layout::Header::kEntriesAt);
  StoreLittleEndian(slots, bytes.data() + Layout::Header::kSlotsAt);
  StoreLittleEndian(uint64_t{info.size()}, bytes.data() + Layout::Header::kInfoBytesAt);
  const std::string_view view = bytes;
  const Sha256::Sum sum =
      Sha256()
          .Add(View(view.substr(0, Layout::Header::kSumAt)))
          .Add(View(view.substr(Layout::Header::kBytes, contents_at - Layout::Header::kBytes)))
          .Finish();
  StoreSum(sum, bytes.data() + Layout::Header::kSumAt);
}

}  // namespace

std::string WriteBundleFile(std::string_view info, std::vector<BundleItem> items) {
  SortItems(items);
  const uint64_t slots = std::bit_ceil(std::max<uint64_t>(2 * items.size(), Layout::kFewestSlots));
  const uint64_t info_at = Layout::InfoAt(slots, items.size());
  const uint64_t contents_at = Layout::RoundUp(info_at + info.size(), Layout::kContentsAlignment);
  std::string bytes(contents_at, '\0');
  info.copy(bytes.data() + info_at, info.size());
  for (size_t n = 0; n < items.size(); ++n) {
    const BundleItem& item = items[n];
    FillRow(item, bytes.size(), bytes.data() + Layout::RowsAt(slots) + n * Layout::Row::kBytes);
    FillSlot(item.key.hash(), n, slots, bytes.data() + Layout::Header::kBytes);
    bytes += item.key.identity();
    bytes += item.key.compiler();
    bytes += item.record;
    bytes += item.kernel;
    bytes.resize(Layout::RoundUp(bytes.size(), Layout::kContentAlignment), '\0');
  }
  FillHeader(info, items.size(), slots, contents_at, bytes);
  return bytes;
}

}  // namespace mdh
