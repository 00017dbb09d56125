// Random TeML programs: statements are made up and kept if the program is still well-formed.
#include "tests/random_teml.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/teml/program.h"

namespace mdh {
namespace {

using TemlWords = std::vector<std::string>;

class TemlMaker {
 public:
  TemlMaker(Rng& rng, const RandomTemlOptions& options) : rng_(rng), options_(options) {}

  std::string Make() {
    text_ = "type = int64\n";
    const int64_t inputs = 2 + Below(rng_, 3);
    for (int64_t n = 0; n < inputs; ++n) {
      TemlWords extents;
      for (int64_t d = Below(rng_, 4); d > 0; --d) extents.push_back(Extent());
      const std::string name = NewName();
      absl::StrAppend(&text_, name, " = ",
                      extents.empty()
                          ? "scalar()"
                          : absl::StrCat("tensor([", absl::StrJoin(extents, ", "), "])"),
                      "\n");
      shapes_[name] = {};
      for (const std::string& extent : extents) shapes_[name].push_back(extent[0] - '0');
    }
    int kept = 0;
    constexpr int kTries = 150;
    for (int n = 0; n < kTries && kept < options_.statements; ++n) {
      const bool has_assignment = !assigned_.empty();
      const bool is_loop = has_assignment && Below(rng_, 2) == 0;
      if (is_loop ? TryLoop() : TryTensor(!has_assignment)) ++kept;
    }
    if (assigned_.empty()) {
      const std::string& first = shapes_.begin()->first;
      absl::StrAppend(&text_, NewName(), " = entrywise_neg(", first, ")\n");
    }
    if (loops_.size() > 1 && Below(rng_, 3) == 0) TryCodegen();
    return text_;
  }

 private:
  // Often the same, so that shapes fit each other.
  std::string Extent() { return absl::StrCat(Below(rng_, 3) == 0 ? 2 + Below(rng_, 3) : 3); }

  std::string NewName() { return absl::StrCat("x", ++names_); }

  // Appends the statement if the program is well-formed with it.
  bool Keeps(const std::string& statement) {
    const std::string with = text_ + statement + "\n";
    const Result<TemlProgram> program = ParseTemlProgram(with);
    if (!program.ok()) return false;
    for (const TensorPointer& tensor : program->tensors) {
      int64_t elements = 1;
      for (const int64_t extent : tensor->shape) elements *= extent;
      if (elements > options_.max_points) return false;
    }
    for (const AssignmentPointer& assignment : program->assignments) {
      int64_t points = 1;
      for (const auto& [iterator, range] : assignment->ranges) points *= range;
      if (points > options_.max_points || assignment->iterators.size() > 8) return false;
    }
    for (const TensorPointer& tensor : program->tensors) shapes_[tensor->name] = tensor->shape;
    text_ = with;
    return true;
  }

  // A tensor of either kind.
  std::string AnyTensor() {
    TemlWords names = virtual_;
    for (const auto& [name, shape] : shapes_) names.push_back(name);
    return AnyOf(rng_, names);
  }

  std::string Iterator() { return AnyOf(rng_, TemlWords{"i", "j", "k", "l", "i1", "i2"}); }

  std::string Index(int64_t extent) {
    switch (Below(rng_, 12)) {
      case 0:
        return absl::StrCat(Iterator(), " + ", Iterator());
      case 1:
        return absl::StrCat(extent - 1, " - ", Iterator());
      case 2:
        return absl::StrCat(Iterator(), " + 1");
      case 3:
        return absl::StrCat("2*", Iterator());
      case 4:
        return absl::StrCat(Below(rng_, extent));
      default:
        return Iterator();
    }
  }

  // "[i, j]" for a real tensor, nothing for a virtual one or a scalar.
  std::string List(const std::string& name) {
    const auto shape = shapes_.find(name);
    if (shape == shapes_.end() || shape->second.empty()) return "";
    TemlWords indices;
    for (const int64_t extent : shape->second) indices.push_back(Index(extent));
    return absl::StrCat("[", absl::StrJoin(indices, ", "), "]");
  }

  std::string TargetList() {
    TemlWords iterators = {"i", "j", "k", "l", "i1", "i2"};
    std::shuffle(iterators.begin(), iterators.end(), rng_);
    iterators.resize(Below(rng_, 4));
    if (!iterators.empty() && Below(rng_, 10) == 0) iterators[0] += " + 1";
    return absl::StrCat("[", absl::StrJoin(iterators, ", "), "]");
  }

  std::string Pair() {
    return absl::StrCat("[", 1 + Below(rng_, 3), ", ", 1 + Below(rng_, 3), "]");
  }

  bool TryTensor(bool must_assign) {
    if (!virtual_.empty() && Below(rng_, 6) == 0) return TryTwice();
    const bool is_virtual = !must_assign && Below(rng_, 3) == 0;
    const std::string v = is_virtual ? "v" : "";
    std::string name = NewName();
    std::string right;
    const std::string operation = AnyOf(
        rng_, TemlWords{"add", "add", "mul", "mul", "sub", "min", "max", "div", "neg", "abs"});
    const bool is_unary = operation == "neg" || operation == "abs";
    TemlWords operands = {AnyTensor()};
    while (!is_unary && (operands.size() < 2 || Below(rng_, 4) == 0))
      operands.push_back(AnyTensor());
    switch (Below(rng_, 10)) {
      case 8:
      case 0:
        right = absl::StrCat(v, "entrywise_", operation, "(", absl::StrJoin(operands, ", "), ")");
        break;
      case 1:
        right = absl::StrCat(v, "transpose(", operands[0], ", [", Pair(), ", ", Pair(), "])");
        break;
      case 9:
      case 2:
        right = absl::StrCat(v, "contract(", operands[0], ", ", AnyTensor(), ", ", Pair(), ")");
        break;
      case 3:
        right = absl::StrCat(v, "outerproduct(", operands[0], ", ", AnyTensor(), ")");
        break;
      case 4:
        if (is_virtual) return false;
        right =
            absl::StrCat("eq(", operands[0], ", ", List(operands[0]), " -> ", TargetList(), ")");
        break;
      default:
        right = Operation(v, operation, &operands, &name);
    }
    // Now and then what was assigned before is assigned again.
    if (!is_virtual && !assigned_.empty() && Below(rng_, 6) == 0) name = AnyOf(rng_, assigned_);
    const std::string at = !is_virtual && !assigned_.empty() && Below(rng_, 8) == 0
                               ? absl::StrCat("@", AnyOf(rng_, assigned_), ": ")
                               : "";
    const bool is_known = shapes_.count(name) > 0;
    if (!Keeps(absl::StrCat(name, " = ", at, right))) return false;
    if (is_virtual) virtual_.push_back(name);
    if (!is_virtual && at.empty() && !is_known) assigned_.push_back(name);
    if (!is_virtual) built_from_.push_back(name);
    return true;
  }

  // A virtual tensor combined with itself, whatever its shape is.
  bool TryTwice() {
    const std::string name = NewName(), operand = virtual_.back();
    if (!Keeps(absl::StrCat(name, " = entrywise_", AnyOf(rng_, TemlWords{"add", "max", "mul"}), "(",
                            operand, ", ", operand, ")"))) {
      return false;
    }
    assigned_.push_back(name);
    built_from_.push_back(name);
    return true;
  }

  // May accumulate in a new tensor, which is `name` then.
  std::string Operation(const std::string& v, const std::string& operation, TemlWords* operands,
                        std::string* name) {
    const std::string target = TargetList();
    TemlWords lists;
    for (const std::string& operand : *operands) lists.push_back(List(operand));
    if (v.empty() && Below(rng_, 2) == 0) {
      // Of a shape that may fit.
      TemlWords extents;
      for (int64_t d = std::count(target.begin(), target.end(), ',') + (target == "[]" ? 0 : 1);
           d > 0; --d) {
        extents.push_back(Extent());
      }
      if (Keeps(absl::StrCat(*name, " = ",
                             extents.empty()
                                 ? "scalar()"
                                 : absl::StrCat("tensor([", absl::StrJoin(extents, ", "), "])"))) ||
          assigned_.empty()) {
        if (Below(rng_, 6) == 0) Keeps(absl::StrCat("init(", *name, ", ", Below(rng_, 7) - 3, ")"));
        operands->insert(operands->begin(), *name);
        lists.insert(lists.begin(), extents.empty() ? "" : target);
      }
    }
    return absl::StrCat(v, operation, "(", absl::StrJoin(*operands, ", "), ", [",
                        absl::StrJoin(lists, ", "), "]", v.empty() ? " -> " + target : "", ")");
  }

  // Nests of two assignments, fused as far as may be.
  bool TryFusion() {
    const size_t n = Below(rng_, static_cast<int64_t>(built_from_.size()) - 1);
    const std::string first = NewName(), second = NewName(), name = NewName();
    for (int level = 3; level > 0; --level) {
      if (!Keeps(absl::StrCat(first, " = build(", built_from_[n], ")\n", second, " = build(",
                              built_from_[n + 1], ")\n", name, " = fuse_outer(", first, ", ",
                              second, ", ", level, ")"))) {
        continue;
      }
      loops_.insert(loops_.end(), {first, second, name});
      return true;
    }
    return false;
  }

  bool TryLoop() {
    if (built_from_.size() > 1 && Below(rng_, 3) == 0) return TryFusion();
    const bool is_build = loops_.size() < 2 || Below(rng_, 4) == 0;
    const std::string l = loops_.empty() ? "" : AnyOf(rng_, loops_);
    const std::string name = !is_build && Below(rng_, 2) == 0 ? l : NewName();
    const auto level = [&] { return absl::StrCat(1 + Below(rng_, 4)); };
    std::string right;
    if (is_build) {
      right = absl::StrCat("build(", built_from_.back(), ")");
      if (Below(rng_, 2) == 0) right = absl::StrCat("build(", AnyOf(rng_, built_from_), ")");
    } else {
      switch (Below(rng_, 11)) {
        case 0:
          right = absl::StrCat("stripmine(", l, ", ", level(), ", ", level(), ")");
          break;
        case 1:
          right = absl::StrCat("interchange(", l, ", ", level(), ", ", level(), ")");
          break;
        case 2:
          right = absl::StrCat("unroll(", l, ", ", level(), ")");
          break;
        case 3:
          right = absl::StrCat("fuse_inner(", l, ", ", level(), ")");
          break;
        case 4:
          right = absl::StrCat("parallelize(", l, ", ", level(), ")");
          break;
        case 5:
          right = absl::StrCat("vectorize(", l, ", ", level(), ")");
          break;
        case 6:
          right = absl::StrCat("tile(", l, ", ", level(), ")");
          break;
        case 7:
          right = absl::StrCat("interchange_n(", l, ", ", level(), ", ", level(), ")");
          break;
        default:
          right = absl::StrCat("fuse_outer(", l, ", ", AnyOf(rng_, loops_), ", ",
                               1 + Below(rng_, 2), ")");
      }
    }
    if (!Keeps(absl::StrCat(name, " = ", right))) return false;
    if (std::find(loops_.begin(), loops_.end(), name) == loops_.end()) loops_.push_back(name);
    return true;
  }

  void TryCodegen() {
    for (int n = 0; n < 8; ++n) {
      TemlWords some = loops_;
      std::shuffle(some.begin(), some.end(), rng_);
      some.resize(1 + Below(rng_, static_cast<int64_t>(some.size())));
      if (Keeps(absl::StrCat("codegen(", absl::StrJoin(some, ", "), ")"))) return;
    }
  }

  Rng& rng_;
  const RandomTemlOptions& options_;
  std::string text_;
  int names_ = 0;
  std::map<std::string, std::vector<int64_t>> shapes_;  // of real tensors
  TemlWords virtual_, assigned_, built_from_, loops_;
};

}  // namespace

std::string RandomTemlProgram(Rng& rng, const RandomTemlOptions& options) {
  return TemlMaker(rng, options).Make();
}

}  // namespace mdh
