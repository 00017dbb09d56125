// Which values of parameters are still open while a solver narrows them, and why others are not.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace mdh {

// Positions first..last of a parameter's range.
struct PositionRange {
  uint32_t first;
  uint32_t last;
};

// A set of reasons: numbers of groups of constraints, and of choices behind them.
class Reasons {
 public:
  explicit Reasons(size_t words = 0) : words_(words) {}
  void Add(int reason) { words_[static_cast<size_t>(reason) / 64] |= Bit(reason); }
  void Remove(int reason) { words_[static_cast<size_t>(reason) / 64] &= ~Bit(reason); }
  bool Has(int reason) const {
    return (words_[static_cast<size_t>(reason) / 64] & Bit(reason)) != 0;
  }
  void Add(absl::Span<const uint64_t> others) {
    for (size_t n = 0; n < words_.size(); ++n) words_[n] |= others[n];
  }
  void Clear() { words_.assign(words_.size(), 0); }
  absl::Span<const uint64_t> words() const { return words_; }

 private:
  static uint64_t Bit(int reason) { return uint64_t{1} << (static_cast<unsigned>(reason) % 64); }
  std::vector<uint64_t> words_;
};

// Positions of every parameter's range. Cheap to copy: a solver keeps one for each of its choices.
class OpenValues {
 public:
  // Of longer ranges only the ends are closed.
  static constexpr uint32_t kMostListed = 4096;

  // `sizes`: of ranges; `reason_words`: of the set of reasons of each parameter.
  OpenValues(absl::Span<const uint32_t> sizes, size_t reason_words);

  uint32_t first(int parameter) const { return parameters_[parameter].first; }
  uint32_t last(int parameter) const { return parameters_[parameter].last; }
  uint32_t count(int parameter) const { return parameters_[parameter].count; }
  bool is_listed(int parameter) const { return parameters_[parameter].is_listed; }
  bool IsOpen(int parameter, uint32_t position) const;
  // The next open position behind one that is not the last.
  uint32_t Next(int parameter, uint32_t position) const;

  // Expects an open position, or of parameters that are not listed, the first or the last one.
  void Close(int parameter, uint32_t position);
  // One position, or all at either end up to there.
  void Close(int parameter, PositionRange run);
  // All below, or above; none may be left.
  void CloseBelow(int parameter, uint32_t position);
  void CloseAbove(int parameter, uint32_t position);

  // Why positions are closed.
  absl::Span<const uint64_t> why(int parameter) const {
    return absl::MakeConstSpan(why_).subspan(parameter * reason_words_, reason_words_);
  }
  void AddWhy(int parameter, absl::Span<const uint64_t> reasons);
  void SetWhy(int parameter, absl::Span<const uint64_t> reasons);

 private:
  struct Parameter {
    uint32_t first, last, count;
    uint32_t bits;  // where they begin
    bool is_listed;
  };
  uint32_t FirstFrom(int parameter, uint32_t position) const;  // kNone
  uint32_t LastUpTo(int parameter, uint32_t position) const;   // kNone
  static constexpr uint32_t kNone = 0xffffffff;

  std::vector<Parameter> parameters_;
  std::vector<uint64_t> bits_;
  std::vector<uint64_t> why_;
  size_t reason_words_;
};

}  // namespace mdh
