#include "codegen/choose/block_design_set.h"

namespace mdh {
namespace {

using Cut = BlockDesign::Cut;

constexpr int64_t Cut::*kFields[] = {&Cut::threads, &Cut::vector, &Cut::strided, &Cut::loops,
                                     &Cut::blocks};
constexpr size_t kUsualDesigns = 1024;
constexpr int kByte = 8, kMirrors = 1 << 15;

}  // namespace

BlockDesignSet::BlockDesignSet(size_t dimensions, size_t inputs)
    : dimensions_(dimensions),
      inputs_(inputs),
      length_(dimensions * std::size(kFields) + inputs + 2),
      numbers_(kUsualDesigns, Hash{this}, Equal{this}) {
  codes_.reserve(kUsualDesigns * length_);
}

std::pair<size_t, bool> BlockDesignSet::Insert(const BlockDesign& design) {
  const size_t number = size();
  codes_.resize((number + 1) * length_);
  uint16_t* at = codes_.data() + number * length_;
  for (const Cut& cut : design.cuts) {
    for (const auto field : kFields) *at++ = static_cast<uint16_t>(cut.*field);
  }
  for (size_t b = 0; b < inputs_; ++b) {
    const int stages = design.AsyncStages(static_cast<int>(b));
    *at++ = static_cast<uint16_t>(static_cast<int>(design.copies[b]) | stages << kByte);
  }
  *at++ = static_cast<uint16_t>(design.lane_dimension);
  *at++ = static_cast<uint16_t>(design.unrolled | static_cast<int>(design.combine_blocks) << kByte |
                                (design.mirrors ? kMirrors : 0));
  const auto [known, is_new] = numbers_.insert(static_cast<uint32_t>(number));
  if (!is_new) codes_.resize(number * length_);
  return {*known, is_new};
}

BlockDesign BlockDesignSet::At(size_t number) const {
  constexpr int kLow = (1 << kByte) - 1;
  const uint16_t* at = CodeOf(number).data();
  BlockDesign design;
  design.cuts.resize(dimensions_);
  for (Cut& cut : design.cuts) {
    for (const auto field : kFields) cut.*field = *at++;
  }
  for (size_t b = 0; b < inputs_; ++b, ++at) {
    design.copies.push_back(static_cast<BlockDesign::Copy>(*at & kLow));
    if (*at >> kByte == 0) continue;
    design.async_stages.resize(inputs_, 0);
    design.async_stages[b] = *at >> kByte;
  }
  design.lane_dimension = *at++;
  design.unrolled = *at & kLow;
  design.combine_blocks = static_cast<CombineBlocks>((*at & ~kMirrors) >> kByte);
  design.mirrors = (*at & kMirrors) != 0;
  return design;
}

}  // namespace mdh
