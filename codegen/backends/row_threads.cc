#include "codegen/backends/row_threads.h"

#include <algorithm>
#include <utility>

#include "core/decomposition/constraints.h"

namespace mdh {

RowThreads::RowThreads(const RowLayout& layout, const DeviceDescription& device,
                       NameAllocator& names)
    : layout_(layout),
      lanes_(HasShuffles(device) ? std::min<int64_t>(layout.threads, device.blocks.warp_size) : 1),
      names_(names) {}

void RowThreads::Begin(int64_t rows, const std::vector<int64_t>& extents, Block* body) {
  const std::string block = names_.Unique("row_block"), thread = names_.Unique("row_thread");
  body->push_back({HardwareIndex{block, HardwareIndex::Kind::kBlock, 0}});
  if (layout_.threads * layout_.rows > 1) {
    body->push_back({HardwareIndex{thread, HardwareIndex::Kind::kThread, 0}});
  } else {
    body->push_back({DeclareIndex{thread, Index(0)}});
  }
  const Index in_block = Index::Variable(thread);
  if (layout_.rows > 1) row_ = Declared("own_row", in_block / layout_.threads, body);
  lane_ = layout_.rows == 1 ? in_block : Declared("lane", in_block % layout_.threads, body);
  Index row = Index::Variable(block) * layout_.rows + row_;
  if (rows % layout_.rows != 0) row = Min(row, Index(rows - 1));
  row = Declared("row", row, body);
  int64_t inside = rows;
  for (const int64_t extent : extents) {
    Index digit = inside < rows ? row % inside : row;
    inside /= extent;
    digit = extent == 1 ? Index(0) : digit / inside;
    origins_.push_back(Declared("origin", digit, body));
  }
}

Index RowThreads::Declared(const std::string& stem, Index value, Block* body) {
  if (value.IsLeaf()) return value;
  const std::string name = names_.Unique(stem);
  body->push_back({DeclareIndex{name, std::move(value)}});
  return Index::Variable(name);
}

void RowThreads::Combine(ResultTuples& tuples, const Values& sums, Block* body,
                         std::vector<DeclareArray>* arrays) {
  CombineLanes(tuples, sums, lanes_, body);
  const int64_t warps = layout_.threads / lanes_;
  if (warps == 1) return;
  std::vector<std::string> exchange;
  Block store;
  const Index first = row_ * warps;
  for (const LoopValue& sum : sums) {
    exchange.push_back(names_.Unique("exchange"));
    arrays->push_back(
        {exchange.back(), sum->type.scalar, layout_.rows * warps, MemorySpace::kShared});
    store.push_back({StoreElements{exchange.back(), first + lane_ / lanes_, sum, 1}});
  }
  if (lanes_ == 1) {
    Append(std::move(store), body);
    CombineInShared(tuples, exchange, sums, body);
    ResultTuples::Assign(sums, LoadAt(exchange, sums, first), body);
    return;
  }
  body->push_back(When({IsZero(lane_ % lanes_)}, std::move(store)));
  body->push_back({Barrier{}});
  ResultTuples::Assign(sums, LoadAt(exchange, sums, first + lane_ % warps), body);
  CombineLanes(tuples, sums, warps, body);
}

RowThreads::Values RowThreads::LoadAt(const std::vector<std::string>& exchange, const Values& sums,
                                      const Index& at) const {
  Values values;
  for (size_t r = 0; r < sums.size(); ++r) {
    values.push_back(MakeLoad(exchange[r], at, sums[r]->type, 1));
  }
  return values;
}

// Every thread gets what its neighbours by each bit have together.
void RowThreads::CombineLanes(ResultTuples& tuples, const Values& sums, int64_t lanes,
                              Block* body) {
  for (int64_t bit = lanes / 2; bit > 0; bit /= 2) {
    Values others;
    for (const LoopValue& sum : sums) {
      others.push_back(MakeShuffleXor(sum, static_cast<int>(bit), static_cast<int>(lanes)));
    }
    others = tuples.Named(std::move(others), "other", body);
    tuples.AssignSum(sums, sums, others, body);
  }
}

// Without shuffles: the first of the row's places has the result in the end.
void RowThreads::CombineInShared(ResultTuples& tuples, const std::vector<std::string>& exchange,
                                 const Values& sums, Block* body) {
  const Index own = row_ * layout_.threads + lane_;
  for (int64_t half = layout_.threads / 2; half > 0; half /= 2) {
    body->push_back({Barrier{}});
    Block inside;
    const Values here = tuples.Named(LoadAt(exchange, sums, own), "here", &inside);
    const Values there = tuples.Named(LoadAt(exchange, sums, own + Index(half)), "there", &inside);
    const Values both = tuples.Combined(here, there, &inside);
    for (size_t r = 0; r < both.size(); ++r) {
      inside.push_back({StoreElements{exchange[r], own, both[r], 1}});
    }
    body->push_back(When({Less(lane_, Index(half))}, std::move(inside)));
  }
  body->push_back({Barrier{}});
}

}  // namespace mdh
