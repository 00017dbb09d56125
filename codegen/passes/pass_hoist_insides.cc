#include "codegen/passes/pass_hoist_insides.h"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/program/loop_program_walk.h"
#include "codegen/program/scalar_code.h"

namespace mdh {
namespace {

// Constants that stay in the first-level cache beside what the loop reads.
constexpr int64_t kMostBytesOutside = 8192;

// Where a load in a loop reads: `moving` elements beyond a place that the loop does not change,
// which is inside if all conditions hold.
struct PlaceInLoop {
  Index place;
  Index moving;
  int64_t elements = 1;  // from the place to the last one that can be reached
  std::vector<Condition> all_of = {};
};

// The body of one loop, after those of the loops in it.
class BodyOfLoop : public Rewriter {
 public:
  BodyOfLoop(const For& loop, NameAllocator& names) : names_(names), changing_({loop.variable}) {
    CollectDeclaredNames(*loop.body, changing_);
  }

  // What is declared in front of the loop.
  Block TakeDeclarations() { return std::move(declarations_); }

 protected:
  LoopValue RewriteValue(const LoopValue& value) override {
    const auto* load = std::get_if<LoadInside>(&value->form);
    if (load == nullptr) return Rewriter::RewriteValue(value);
    const LoopValueType type = value->type;
    const int64_t stride = StrideOfLanes(*load);
    std::optional<PlaceInLoop> at = PlaceOf(*load);
    if (!at.has_value() || stride < 0 || IsStorageOnly(type.scalar)) return value;
    at->elements += (type.lanes - 1) * stride;
    if (at->elements * SizeBytes(type.scalar) > kMostBytesOutside) return value;
    const Index moving = at->moving;
    return MakeLoad(PointerTo(*load, type.scalar, *std::move(at)), moving, type,
                    type.lanes == 1 ? 1 : stride);
  }

 private:
  bool Changes(const Index& index) const {
    bool changes = false;
    index.VisitVariables(
        [&](const std::string& name) { changes = changes || changing_.contains(name); });
    return changes;
  }

  // Elements from lane to lane; negative if they are not all inside or outside, or go back.
  static int64_t StrideOfLanes(const LoadInside& load) {
    int64_t stride = 0;
    for (const LoadInside::Dimension& d : load.dimensions) {
      if (d.lane_step != 0 && (!d.is_inside || d.lane_step < 0)) return -1;
      stride += d.lane_step * d.stride;
    }
    return stride;
  }

  // nullopt: the loop changes whether the element is inside, or nothing has to be asked for.
  std::optional<PlaceInLoop> PlaceOf(const LoadInside& load) const {
    if (!load.outside.has_value()) return std::nullopt;
    PlaceInLoop at{.place = Index(load.constant), .moving = Index(0)};
    for (const LoadInside::Dimension& d : load.dimensions) {
      if (d.is_inside && Changes(d.index)) {
        at.moving = at.moving + d.index * d.stride;
        at.elements += (d.extent - 1) * d.stride;
        continue;
      }
      if (Changes(d.index)) return std::nullopt;
      at.place = at.place + d.index * d.stride;
      if (d.is_inside) continue;
      at.all_of.push_back(Less(Index(-1), d.index));
      at.all_of.push_back(Less(d.index, Index(d.extent)));
    }
    if (at.all_of.empty()) return std::nullopt;
    return at;
  }

  std::string PointerTo(const LoadInside& load, ScalarType type, PlaceInLoop at) {
    std::string key = absl::StrCat(load.pointer, "|", at.place.ToString(), "|", at.elements);
    for (const Condition& c : at.all_of) {
      absl::StrAppend(&key, "|", c.a.ToString(), "<", c.b.ToString());
    }
    std::string& name = known_[key];
    if (name.empty()) {
      const std::string flag = names_.Unique(absl::StrCat(load.pointer, "_inside"));
      name = names_.Unique(absl::StrCat(load.pointer, "_row"));
      declarations_.push_back({DeclareFlag{flag, std::move(at.all_of)}});
      declarations_.push_back({DeclarePointer{.name = name,
                                              .type = type,
                                              .is_const = true,
                                              .base = load.pointer,
                                              .offset = std::move(at.place),
                                              .flag = flag,
                                              .outside = load.outside,
                                              .elements = at.elements}});
    }
    return name;
  }

  NameAllocator& names_;
  std::set<std::string> changing_;
  std::map<std::string, std::string> known_;  // pointers by where they point
  Block declarations_;
};

class InsidesHoister : public Rewriter {
 public:
  explicit InsidesHoister(const Block& block) { ReserveNamesIn(block, names_); }

 protected:
  void RewriteStatement(const Statement& statement, Block& out) override {
    Block rewritten;
    Rewriter::RewriteStatement(statement, rewritten);
    for (Statement& each : rewritten) {
      if (auto* loop = std::get_if<For>(&each.form); loop != nullptr && !loop->unroll) {
        BodyOfLoop body(*loop, names_);
        loop->body = std::make_shared<const Block>(body.RewriteBlock(*loop->body));
        Append(body.TakeDeclarations(), &out);
      }
      out.push_back(std::move(each));
    }
  }

 private:
  NameAllocator names_;
};

}  // namespace

LoopProgram HoistInsides(LoopProgram program) {
  return RewriteBodies(std::move(program), [](const Block& block) {
    return InsidesHoister(block).RewriteBlock(block);
  });
}

}  // namespace mdh
