// A set of designs of one expression, in few bytes each: hill climbing visits thousands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "absl/types/span.h"
#include "codegen/choose/block_design.h"

namespace mdh {

// Of designs without tiles of lanes, whose resident blocks and early launches are those of a new
// BlockDesign; numbers in their cuts are less than 2^16.
class BlockDesignSet {
 public:
  BlockDesignSet(size_t dimensions, size_t inputs);
  BlockDesignSet(const BlockDesignSet&) = delete;
  BlockDesignSet& operator=(const BlockDesignSet&) = delete;

  // The design's number, in the order in which they came, and whether it is new.
  std::pair<size_t, bool> Insert(const BlockDesign& design);

  BlockDesign At(size_t number) const;
  size_t size() const { return numbers_.size(); }

 private:
  using Code = absl::Span<const uint16_t>;
  struct Hash {
    const BlockDesignSet* set;
    size_t operator()(uint32_t number) const { return absl::Hash<Code>()(set->CodeOf(number)); }
  };
  struct Equal {
    const BlockDesignSet* set;
    bool operator()(uint32_t a, uint32_t b) const { return set->CodeOf(a) == set->CodeOf(b); }
  };

  Code CodeOf(size_t number) const { return {codes_.data() + number * length_, length_}; }

  const size_t dimensions_, inputs_;
  const size_t length_;  // of a code
  std::vector<uint16_t> codes_;
  absl::flat_hash_set<uint32_t, Hash, Equal> numbers_;
};

}  // namespace mdh
