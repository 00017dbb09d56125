#include "codegen/lower/levels/nest_context.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "codegen/program/c_names.h"

namespace mdh {

NestContext::NestContext(const LowLevelExpression& low_level, NestPlan plan,
                         const DeviceFeatures& features)
    : low_level_(low_level),
      plan_(std::move(plan)),
      shape_(low_level.expression(), low_level.model(), low_level.parameters()),
      features_(features),
      is_whole_(low_level.expression().rank(), false) {
  for (const char* reserved : {"tid", "thread", "threads", "scratch", "part", "slot"}) {
    names_.Reserve(reserved);
  }
  for (const Dimension& d : expression().dimensions()) {
    index_names_.push_back(names_.Unique(CIdentifier(d.name)));
  }
  for (const Buffer& b : expression().passed_inputs()) {
    input_names_.push_back(names_.Unique(CIdentifier(b.name)));
  }
  for (const Buffer& b : expression().outputs()) {
    output_names_.push_back(names_.Unique(CIdentifier(b.name)));
  }
  for (NestCopy& copy : plan_.copies) copy.name = names_.Unique(copy.name);
  for (int n = 0; n < count(); ++n) {
    const std::string layer =
        absl::AsciiStrToLower(low_level.model().layers[level(n).assigned.layer].name);
    variables_.push_back(
        names_.Unique(absl::StrCat(index_names_[level(n).level.dimension], "_", layer)));
  }
}

std::string NestContext::Describe(int n) const {
  const NestShape::Level& at = level(n);
  return absl::StrCat(index_names_[at.level.dimension], " on ",
                      low_level_.model().layers[at.assigned.layer].name, ": ", at.parts,
                      " parts of ", at.tile, at.tile == 1 ? " point." : " points.");
}

Index NestContext::Part(int n) const {
  return level(n).parts == 1 ? Index(0) : Index::Variable(variables_[n]);
}

Index NestContext::Sum(const std::function<int64_t(int n)>& factor) const {
  Index sum(0);
  for (int n = 0; n < count(); ++n) {
    if (level(n).parts > 1) sum = sum + Part(n) * factor(n);
  }
  return sum;
}

Index NestContext::Point(int d) const {
  return Sum([&](int n) { return level(n).level.dimension == d ? level(n).tile : 0; });
}

Index NestContext::FirstPoint(int d, int place) const {
  return Sum([&](int n) {
    const bool runs = !shape_.is_parallel(n) && n >= place;
    return level(n).level.dimension == d && !runs ? level(n).tile : 0;
  });
}

void NestContext::AppendGuard(int d, std::vector<Condition>* conditions) const {
  if (!IsGuarded(d)) return;
  conditions->push_back({Condition::Kind::kLess, Point(d), Index(size(d)), ""});
}

Index NestContext::Thread() const {
  if (threads() == 1) return Index(0);
  return Index::Variable("tid");
}

std::string NestContext::FieldView(const Buffer& buffer, const std::string& base, ScalarType type,
                                   bool is_const) {
  if (!buffer.type.is_record()) return base;
  const std::string key = absl::StrCat(base, "|", ShortName(type));
  auto found = views_.find(key);
  if (found == views_.end()) {
    const std::string name = names_.Unique(absl::StrCat(base, "_", ShortName(type)));
    found = views_.emplace(key, DeclareView{name, type, is_const, base}).first;
  }
  return found->second.name;
}

StorePointers NestContext::StoreViews() {
  StorePointers pointers;
  ForEachStoreAccess(expression(), [&](const Buffer& buffer, int passed, ScalarType type) {
    pointers.push_back(FieldView(buffer, input_name(passed), type, /*is_const=*/true));
  });
  return pointers;
}

Block NestContext::ViewDeclarations() const {
  Block block;
  for (const auto& entry : views_) block.push_back({entry.second});
  return block;
}

}  // namespace mdh
