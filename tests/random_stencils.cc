#include "tests/random_stencils.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/text/pipeline_parser.h"

namespace mdh {
namespace {

constexpr int64_t kExtents[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13};
constexpr int64_t kMostOffset = 3;

class StencilChainWriter {
 public:
  StencilChainWriter(Rng& rng, int64_t points) : rng_(rng), points_(points) {}

  Pipeline Run() {
    rank_ = 1 + static_cast<int>(Below(rng_, 3));
    type_ = Below(rng_, 4) == 0 ? "int32" : "fp32";
    const int steps = 2 + static_cast<int>(Below(rng_, 3));
    // From the last one on, each as large as those behind it need it.
    std::vector<int64_t> extents;
    const auto side = static_cast<int64_t>(std::pow(static_cast<double>(points_), 1.0 / rank_));
    for (int d = 0; d < rank_; ++d) {
      extents.push_back(points_ > 0 ? side : kExtents[Below(rng_, std::size(kExtents))]);
    }
    std::vector<std::string> definitions, calls;
    for (int s = steps - 1; s >= 0; --s) {
      definitions.push_back(Step(s, extents));
      for (int64_t& extent : extents) extent += kMostOffset;
    }
    for (int s = 0; s < steps; ++s) {
      const bool reads_input = s > 0 && reads_input_[static_cast<size_t>(steps - 1 - s)];
      calls.push_back(absl::StrCat("  ", Buffer(s), " = step", s, "(", s == 0 ? "x" : Buffer(s - 1),
                                   reads_input ? ", x" : "", ")"));
    }
    const std::string text =
        absl::StrCat("chain := pipeline(x) -> (", Buffer(steps - 1), ") {\n",
                     absl::StrJoin(calls, ";\n"), "\n}\n\n", absl::StrJoin(definitions, "\n"));
    const auto parsed = ParsePipeline(text);
    if (!parsed.ok()) {
      std::cerr << parsed.status().message() << "\n" << text;
      std::abort();
    }
    return *parsed;
  }

 private:
  static std::string Buffer(int s) { return absl::StrCat("t", s); }
  std::string Indices() const {
    constexpr const char* kNames[] = {"i", "j", "k"};
    return absl::StrJoin(std::vector<std::string>(kNames, kNames + rank_), ", ");
  }
  std::string Access() {
    constexpr const char* kNames[] = {"i", "j", "k"};
    std::vector<std::string> indices;
    for (int d = 0; d < rank_; ++d) {
      indices.push_back(absl::StrCat(kNames[d], " + ", Below(rng_, kMostOffset + 1)));
    }
    return absl::StrCat("(", Indices(), ") -> (", absl::StrJoin(indices, ", "), ")");
  }
  // Of the buffer `name`, so many accesses, whose parameters come to `value`.
  std::string View(const std::string& name, int64_t accesses, int* parameters, std::string* value) {
    std::vector<std::string> views;
    for (int64_t a = 0; a < accesses; ++a) {
      views.push_back(Access());
      const std::string own =
          absl::StrCat("max(min(p", (*parameters)++, ", ", type_, "(9)), ", type_, "(-9))");
      constexpr const char* kSums[] = {" + ", " - "};
      *value = value->empty() ? own : absl::StrCat(*value, kSums[Below(rng_, 2)], own);
    }
    return absl::StrCat(name, ": ", absl::StrJoin(views, ", "));
  }

  std::string Step(int s, const std::vector<int64_t>& extents) {
    int parameters = 0;
    std::string value;
    const bool reads_input = s > 0 && Below(rng_, 4) == 0;
    reads_input_.push_back(reads_input);
    std::vector<std::string> views = {
        View(s == 0 ? "x" : Buffer(s - 1), 1 + Below(rng_, 4), &parameters, &value)};
    if (reads_input) views.push_back(View("x", 1, &parameters, &value));
    std::vector<std::string> names;
    for (int p = 0; p < parameters; ++p) names.push_back(absl::StrCat("p", p));
    if (Below(rng_, 3) == 0) absl::StrAppend(&value, " + ", type_, "(i % 3)");
    return absl::StrCat(
        "step", s, " :=\n  out_view<", type_, ">( ", Buffer(s), ": (", Indices(), ") -> (",
        Indices(), ") ) o\n  md_hom<", absl::StrJoin(extents, ","), ">( f, (",
        absl::StrJoin(std::vector<std::string>(static_cast<size_t>(rank_), "++"), ", "),
        ") ) o\n  inp_view<", type_, reads_input ? "," + type_ : "", ">( ",
        absl::StrJoin(views, ",\n    "), " )\nwhere f(", absl::StrJoin(names, ", "),
        ") -> (r: ", type_, ") { r = ", value, " }\n");
  }

  Rng& rng_;
  const int64_t points_;
  int rank_ = 1;
  std::string type_;
  std::vector<bool> reads_input_;  // from the last step on
};

}  // namespace

Pipeline RandomStencilChain(Rng& rng, int64_t points) {
  return StencilChainWriter(rng, points).Run();
}

}  // namespace mdh
