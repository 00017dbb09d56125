#include "tests/random_scaled.h"

#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "core/text/pipeline_parser.h"

namespace mdh {
namespace {

// Dimensions a and i are common, j is streamed.
class ScaledText {
 public:
  ScaledText(Rng& rng, bool may_mask, int64_t points)
      : rng_(rng), may_mask_(may_mask), points_(points) {}

  std::string Run() {
    constexpr int64_t kFew[] = {1, 2, 3, 5}, kRows[] = {1, 2, 4, 6, 7, 8, 11},
                      kKeys[] = {1, 4, 7, 8, 12, 16, 18, 24}, kValues[] = {1, 2, 3, 4, 7};
    a_ = kFew[Below(rng_, std::size(kFew))];
    i_ = kRows[Below(rng_, std::size(kRows))];
    j_ = kKeys[Below(rng_, std::size(kKeys))];
    e_ = kValues[Below(rng_, std::size(kValues))];
    if (points_ > 0) {
      i_ = j_ = 32;
      while (a_ * i_ * j_ < points_) (i_ > j_ ? j_ : i_) *= 2;
      e_ = 64;
    }
    type_ = Below(rng_, 4) == 0 ? "fp64" : "fp32";
    is_least_ = Below(rng_, 5) == 0;
    AddScores();
    AddMaximum();
    const bool is_inlined = Below(rng_, 3) == 0;
    if (!is_inlined) AddWeights();
    const int sums = static_cast<int>(Below(rng_, 3));  // 0: values only, 1: weights only, 2: both
    if (sums != 0) AddTotal(is_inlined, sums == 1);
    if (sums != 1) AddOutput(is_inlined, sums == 2);
    if (sums == 1 || Below(rng_, 4) == 0) outputs_ += outputs_.empty() ? "m" : ", m";
    return absl::StrCat("scaled := pipeline(", inputs_, ") -> (", outputs_, ") {\n", calls_, "}\n",
                        steps_);
  }

 private:
  void Call(const std::string& call) {
    absl::StrAppend(&calls_, calls_.empty() ? "" : ";\n", "  ", call);
  }
  void Input(const std::string& name) {
    absl::StrAppend(&inputs_, inputs_.empty() ? "" : ", ", name);
  }
  void Output(const std::string& name) {
    absl::StrAppend(&outputs_, outputs_.empty() ? "" : ", ", name);
  }
  // A step with dimensions a, i, j and further ones.
  void Step(const std::string& text) {
    absl::StrAppend(&steps_, absl::Substitute(text, type_, a_, i_, j_, e_), "\n");
  }

  // A few powers of two apart. Some rows may have no keys at all.
  std::string Masked(const std::string& score) {
    const std::string none = is_least_ ? "inf" : "-inf";
    std::string condition;
    switch (may_mask_ ? Below(rng_, 6) : 5) {
      case 0:
        condition = "j <= i";
        break;
      case 1:
        condition = "j <= i && j > i - 3";
        break;
      case 2:
        condition = "j < i";
        break;
      case 3:
        condition = "2 * i >= j + 1";
        break;
      default:
        return score;
    }
    return absl::StrCat(condition, " ? ", score, " : ", type_, "(", none, ")");
  }

  void AddScores() {
    const auto clamped = [&](const std::string& x) {
      return absl::StrCat("max(min(floor(", x, "), ", type_, "(4)), ", type_, "(-4))");
    };
    if (Below(rng_, 3) == 0) {
      Input("x");
      Call("s = scores(x)");
      Step(
          absl::StrCat("scores := out_view<$0>( s: (a,i,j) -> (a,i,j) ) o\n"
                       "  md_hom<$1,$2,$3>( f, (++, ++, ++) ) o\n"
                       "  inp_view<$0>( x: (a,i,j) -> (a,i,j) )\n"
                       "where f(x) -> s { s = ",
                       Masked(clamped("x * 2")), " }"));
      return;
    }
    Input("q");
    Input("k");
    Call("s = scores(q, k)");
    const bool is_shared = Below(rng_, 3) == 0;  // keys of all a
    Step(
        absl::StrCat("scores := out_view<$0>( s: (a,i,j,d) -> (a,i,j) ) o\n"
                     "  md_hom<$1,$2,$3,5>( f, (++, ++, ++, +), store clamped ) o\n"
                     "  inp_view<$0,$0>( q: (a,i,j,d) -> (a,i,d), k: (a,i,j,d) -> ",
                     is_shared ? "(j,d)" : "(a,j,d)",
                     " )\nwhere f(q, k) -> (c: $0) { c = q * k },\n"
                     "  clamped(c) -> s { s = ",
                     Masked(clamped("c")), " }"));
    if (Below(rng_, 6) == 0) Output("s");
  }

  void AddMaximum() {
    Call("m = extreme(s)");
    Step(
        absl::StrCat("extreme := out_view<$0>( m: (a,i,j) -> (a,i) ) o\n"
                     "  md_hom<$1,$2,$3>( f, (++, ++, ",
                     is_least_ ? "min" : "max",
                     ") ) o\n  inp_view<$0>( s: (a,i,j) -> (a,i,j) )\n"
                     "where f(s) -> m { m = s }"));
  }

  std::string Weight() const { return is_least_ ? "exp2(m - s)" : "exp2(s - m)"; }

  void AddWeights() {
    Call("p = weights(s, m)");
    Step(
        absl::StrCat("weights := out_view<$0>( p: (a,i,j) -> (a,i,j) ) o\n"
                     "  md_hom<$1,$2,$3>( f, (++, ++, ++) ) o\n"
                     "  inp_view<$0,$0>( s: (a,i,j) -> (a,i,j), m: (a,i,j) -> (a,i) )\n"
                     "where f(s, m) -> p { p = ",
                     Weight(), " }"));
  }

  void AddTotal(bool is_inlined, bool is_last) {
    Call(is_inlined ? "l = total(s, m)" : "l = total(p)");
    Step(is_inlined
             ? absl::StrCat("total := out_view<$0>( l: (a,i,j) -> (a,i) ) o\n"
                            "  md_hom<$1,$2,$3>( f, (++, ++, +) ) o\n"
                            "  inp_view<$0,$0>( s: (a,i,j) -> (a,i,j), m: (a,i,j) -> (a,i) )\n"
                            "where f(s, m) -> l { l = ",
                            Weight(), " }")
             : "total := out_view<$0>( l: (a,i,j) -> (a,i) ) o\n"
               "  md_hom<$1,$2,$3>( f, (++, ++, +) ) o\n"
               "  inp_view<$0>( p: (a,i,j) -> (a,i,j) )\n"
               "where f(p) -> l { l = p }");
    if (is_last || Below(rng_, 2) == 0) Output("l");
  }

  void AddOutput(bool is_inlined, bool has_total) {
    Input("v");
    const bool is_divided =
        has_total && (outputs_.find('l') == std::string::npos || Below(rng_, 2) == 0);
    const std::string weight = is_inlined ? "s, m" : "p";
    Call(absl::StrCat("o = output(", weight, ", v", is_divided ? ", l)" : ")"));
    Step(absl::StrCat(
        "output := out_view<$0>( o: (a,i,e,j) -> (a,i,e) ) o\n"
        "  md_hom<$1,$2,$4,$3>( f, (++, ++, ++, +)",
        is_divided ? ", store share<$0>( l: (a,i,e,j) -> (a,i) )" : "", " ) o\n  inp_view<",
        is_inlined ? "$0,$0,$0" : "$0,$0", ">( ",
        is_inlined ? "s: (a,i,e,j) -> (a,i,j), m: (a,i,e,j) -> (a,i)" : "p: (a,i,e,j) -> (a,i,j)",
        ", v: (a,i,e,j) -> (a,j,e) )\nwhere f(", weight, ", v) -> ",
        is_divided ? "(c: $0) { c" : "o { o", " = ", is_inlined ? Weight() : "p", " * v }",
        is_divided ? ",\n  share(c, l) -> o { o = c / l }" : ""));
    Output("o");
  }

  Rng& rng_;
  const bool may_mask_;
  const int64_t points_;
  int64_t a_ = 1, i_ = 1, j_ = 1, e_ = 1;
  std::string type_, inputs_, outputs_, calls_, steps_;
  bool is_least_ = false;
};

}  // namespace

Pipeline RandomScaledPipeline(Rng& rng, bool may_mask, int64_t points) {
  const std::string text = ScaledText(rng, may_mask, points).Run();
  Result<Pipeline> pipeline = ParsePipeline(text);
  if (!pipeline.ok()) {
    std::fprintf(stderr, "%s\n%s\n", text.c_str(), pipeline.status().ToString().c_str());
    std::abort();
  }
  return *std::move(pipeline);
}

}  // namespace mdh
