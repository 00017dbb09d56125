#include "codegen/lower/levels/nest_context.h"

#include <numeric>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "codegen/program/digits.h"

namespace mdh {

NestContext::NestContext(const LowLevelExpression& low_level, NestPlan plan,
                         const DeviceFeatures& features)
    : low_level_(low_level),
      sums_(WithWideSums(low_level.expression(), low_level.parameters().numerics)),
      plan_(std::move(plan)),
      features_(features),
      kernel_names_(NamesOf(low_level.expression(), names_)),
      first_points_(low_level.shape().count()),
      is_whole_(low_level.expression().rank(), false) {
  for (const char* reserved : {"tid", "thread", "threads", "scratch", "part", "slot"}) {
    names_.Reserve(reserved);
  }
  for (NestCopy& copy : plan_.copies) copy.name = names_.Unique(copy.name);
  for (int n = 0; n < count(); ++n) {
    const std::string layer =
        absl::AsciiStrToLower(low_level.model().layers[level(n).assigned.layer].name);
    variables_.push_back(
        names_.Unique(absl::StrCat(index_names()[level(n).level.dimension], "_", layer)));
  }
}

std::string NestContext::Describe(int n) const {
  const NestShape::Level& at = level(n);
  return absl::StrCat(index_names()[at.level.dimension], " on ",
                      low_level_.model().layers[at.assigned.layer].name, ": ", at.parts,
                      " parts of ", at.tile, at.tile == 1 ? " point." : " points.");
}

Index NestContext::Part(int n) const {
  return level(n).parts == 1 ? Index(0) : Index::Variable(variables_[n]);
}

int64_t NestContext::DeclareParts(const std::vector<int>& places, Index number,
                                  Block* block) const {
  int64_t parts = 1;
  for (const int n : places) parts *= level(n).parts;
  Digits digits(std::move(number), parts);
  for (const int n : places) {
    block->push_back({DeclareIndex{variables_[n], digits.Next(level(n).parts)}});
  }
  return parts;
}

Index NestContext::Sum(const std::function<int64_t(int n)>& factor) const {
  Index sum(0);
  for (int n = 0; n < count(); ++n) {
    if (level(n).parts == 1) continue;
    sum = sum + (first_points_[n].empty()
                     ? Part(n) * factor(n)
                     : Index::Variable(first_points_[n]) * (factor(n) / level(n).tile));
  }
  return sum;
}

void NestContext::OverlapParts(int n) {
  const int d = level(n).level.dimension;
  first_points_[n] = names_.Unique(absl::StrCat(index_names()[d], "_first"));
  is_whole_[d] = true;
}

std::vector<Condition> NestContext::PartsAreApart() const {
  std::vector<Condition> conditions;
  for (int n = 0; n < count(); ++n) {
    if (first_points_[n].empty()) continue;
    conditions.push_back(Less(Part(n) * level(n).tile, Index(LargestFirstPoint(n) + 1)));
  }
  return conditions;
}

// Of the largest parts inside of which first points cut nothing, all points are new or none is:
// neighbours stay together.
std::vector<Condition> NestContext::PointIsNew() const {
  std::vector<Condition> conditions;
  for (int n = 0; n < count(); ++n) {
    if (first_points_[n].empty()) continue;
    const int d = level(n).level.dimension;
    int64_t whole = 1;
    for (const NestShape::Level& inner : shape().levels()) {
      if (inner.level.dimension == d && Step(n) % inner.tile == 0) {
        whole = std::max(whole, inner.tile);
      }
    }
    const Index point = Sum([&](int m) {
      const NestShape::Level& at = level(m);
      return at.level.dimension == d && at.tile >= whole ? at.tile : 0;
    });
    conditions.push_back(Less(Part(n) * level(n).tile, point + Index(1)));
  }
  return conditions;
}

void NestContext::DeclareFirstPoints(Block* block) const {
  for (int n = 0; n < count(); ++n) {
    if (first_points_[n].empty()) continue;
    block->push_back({DeclareIndex{first_points_[n],
                                   Min(Part(n) * level(n).tile, Index(LargestFirstPoint(n)))}});
  }
}

int64_t NestContext::Step(int n) const { return std::gcd(level(n).tile, LargestFirstPoint(n)); }

int64_t NestContext::LargestFirstPoint(int n) const {
  const NestShape::Level& at = level(n);
  return first_points_[n].empty() ? (at.parts - 1) * at.tile : size(at.level.dimension) - at.tile;
}

Index NestContext::Point(int d) const {
  return Sum([&](int n) { return level(n).level.dimension == d ? level(n).tile : 0; });
}

Index NestContext::FirstPoint(int d, int place) const {
  return Sum([&](int n) {
    const bool runs = !shape().is_parallel(n) && n >= place;
    return level(n).level.dimension == d && !runs ? level(n).tile : 0;
  });
}

void NestContext::AppendGuard(int d, std::vector<Condition>* conditions) const {
  if (!IsGuarded(d)) return;
  conditions->push_back(Less(Point(d), Index(size(d))));
}

// Levels nest in any order: the last row of a block is that of the last parts of all levels inside
// of it, which need not be neighbours.
Condition NestContext::BlockIsKept() const {
  const auto first = [&](int d) {
    return Sum([&](int n) {
      return level(n).level.dimension == d && shape().is_core(n) ? level(n).tile : 0;
    });
  };
  int64_t rows = 1;  // from its first one to its last one
  for (int n = 0; n < count(); ++n) {
    if (level(n).level.dimension == mirror_->row && !shape().is_core(n)) {
      rows += (level(n).parts - 1) * level(n).tile;
    }
  }
  return Less(first(mirror_->column), first(mirror_->row) + Index(rows));
}

Condition NestContext::PointIsKept() const {
  return Less(Point(mirror_->column), Point(mirror_->row) + Index(1));
}

Condition NestContext::PointIsBelow() const {
  return Less(Point(mirror_->column), Point(mirror_->row));
}

Index NestContext::Thread() const {
  if (threads() == 1) return Index(0);
  return Index::Variable("tid");
}

}  // namespace mdh
