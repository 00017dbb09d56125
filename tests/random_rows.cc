#include "tests/random_rows.h"

#include <algorithm>
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

constexpr int64_t kLengths[] = {2, 3, 5, 7, 8, 12, 16, 31, 32, 48, 64, 67, 100, 128, 130};
constexpr int64_t kRows[] = {1, 2, 3, 4, 5, 7, 8, 12};
constexpr int64_t kLongLengths[] = {128, 500, 1024, 1536, 4096};

class RowPipelineWriter {
 public:
  RowPipelineWriter(Rng& rng, int64_t points) : rng_(rng), points_(points) {}

  Pipeline Run() {
    is_deep_ = Below(rng_, 3) == 0;
    const char* const kTypes[] = {"fp32", "fp32", "fp32", "fp64", "int32"};
    type_ = kTypes[Below(rng_, std::size(kTypes))];
    length_ = kLengths[Below(rng_, std::size(kLengths))];
    rows_ = kRows[Below(rng_, std::size(kRows))];
    depth_ = is_deep_ ? kRows[Below(rng_, 4)] : 1;
    if (points_ > 0) {
      length_ = kLongLengths[Below(rng_, std::size(kLongLengths))];
      rows_ = std::max<int64_t>(points_ / length_ / depth_, 1);
    }
    const int64_t inputs = 1 + Below(rng_, 3);
    for (int64_t n = 0; n < inputs; ++n) AddInput(n == 0);
    const int64_t steps = 2 + Below(rng_, 4);
    for (int64_t n = 0; n < steps || calls_.empty(); ++n) AddStep();  // some have nothing to read
    const std::string text = Text();
    const auto parsed = ParsePipeline(text);
    if (!parsed.ok()) {
      std::cerr << parsed.status().message() << "\n" << text;
      std::abort();
    }
    return *parsed;
  }

 private:
  struct Source {
    std::string name, type, accesses = {};
    int parameters = 1;
    bool has_row = false, is_input = false, is_read = false;
  };

  std::vector<std::string> Common() const {
    return is_deep_ ? std::vector<std::string>{"i", "h"} : std::vector<std::string>{"i"};
  }
  std::string Indices(std::vector<std::string> names) {
    if (Below(rng_, 3) == 0) std::swap(names[Below(rng_, names.size())], names[0]);
    return absl::StrJoin(names, ", ");
  }
  std::string View(const Source& source) const {
    std::vector<std::string> views;
    for (const std::string& access : Accesses(source)) {
      views.push_back(absl::StrCat("(", dims_, ") -> (", access, ")"));
    }
    return absl::StrCat(source.name, ": ", absl::StrJoin(views, ", "));
  }
  static std::vector<std::string> Accesses(const Source& source) {
    if (source.parameters == 1) return {source.accesses};
    return {source.accesses, absl::StrCat(source.accesses, "+1")};
  }

  void AddInput(bool has_row) {
    Source input{.name = absl::StrCat("x", sources_.size()), .type = type_, .is_input = true};
    const bool is_real = type_ != "int32";
    if (Below(rng_, 3) == 0) input.type = !is_real ? "int8" : Below(rng_, 2) == 0 ? "fp16" : "bf16";
    std::vector<std::string> all = Common();
    all.push_back("j");
    input.has_row = true;
    switch (has_row ? Below(rng_, 5) : Below(rng_, 8)) {
      case 0:
        input.accesses = Indices(all);
        break;
      case 1:
        all.back() = "2*j+1";
        input.accesses = absl::StrJoin(all, ", ");
        break;
      case 2:
        input.accesses = absl::StrJoin(all, ", ");
        input.parameters = 2;
        break;
      case 5:
        input.accesses = "j";
        break;
      case 6:
      case 7:
        input.accesses = absl::StrJoin(Common(), ", ");
        input.has_row = false;
        break;
      default:
        input.accesses = absl::StrJoin(all, ", ");
    }
    sources_.push_back(std::move(input));
  }

  // Of what there is, the last result among it more often than not.
  std::vector<size_t> Chosen(bool has_row) {
    std::vector<size_t> chosen, offered;
    for (size_t n = 0; n < sources_.size(); ++n) {
      if (has_row || !sources_[n].has_row) offered.push_back(n);
    }
    const int64_t count = 1 + Below(rng_, 3);
    for (int64_t n = 0; n < count && !offered.empty(); ++n) {
      const size_t one =
          n == 0 && Below(rng_, 4) != 0 ? offered.back() : offered[Below(rng_, offered.size())];
      if (std::find(chosen.begin(), chosen.end(), one) == chosen.end()) chosen.push_back(one);
    }
    return chosen;
  }

  std::string Clamped(const std::string& parameter) const {
    return absl::StrCat("max(min(", type_, "(", parameter, "), ", type_, "(9)), ", type_, "(-9))");
  }

  void AddStep() {
    enum Kind { kSum, kLargest, kSmallest, kStatistics, kMap, kOfRow };
    constexpr Kind kKinds[] = {kSum, kLargest, kSmallest, kStatistics, kMap, kMap, kMap, kOfRow};
    const Kind kind = kKinds[Below(rng_, std::size(kKinds))];
    const bool is_along = kind != kOfRow;
    const std::vector<size_t> chosen = Chosen(is_along);
    if (chosen.empty()) return;
    const bool has_row =
        std::any_of(chosen.begin(), chosen.end(), [&](size_t n) { return sources_[n].has_row; });
    std::vector<std::string> dims = Common();
    if (is_along) dims.insert(dims.begin() + Below(rng_, dims.size() + 1), "j");
    dims_ = absl::StrJoin(dims, ", ");
    std::vector<std::string> sizes, operators;
    for (const std::string& d : dims) {
      sizes.push_back(absl::StrCat(d == "j" ? length_ : d == "i" ? rows_ : depth_));
      constexpr const char* kOperators[] = {"+", "max", "min", "both", "++"};
      operators.push_back(d == "j" && is_along ? kOperators[kind] : "++");
    }
    std::vector<std::string> types, views, parameters;
    std::string value;
    for (const size_t n : chosen) {
      Source& source = sources_[n];
      source.is_read = true;
      types.push_back(source.type);
      views.push_back(View(source));
      for (int a = 0; a < source.parameters; ++a) {
        parameters.push_back(absl::StrCat("p", parameters.size()));
        const std::string own = Clamped(parameters.back());
        constexpr const char* kSums[] = {" + ", " - "};
        value = value.empty()         ? own
                : Below(rng_, 3) == 0 ? absl::StrCat("max(", value, ", ", own, ")")
                                      : absl::StrCat(value, kSums[Below(rng_, 2)], own);
      }
    }
    if (is_along && (!has_row || Below(rng_, 5) == 0)) {
      value = absl::StrCat(value, " + ", type_, "(j % 3)");
    }
    const std::string name = absl::StrCat("t", steps_.size());
    const bool is_vector = kind == kMap;
    std::vector<std::string> out = Common();
    if (is_vector) out.push_back("j");
    const std::string indices = Indices(out);
    const bool stores = kind != kStatistics && Below(rng_, 4) == 0;
    std::string text = absl::StrCat("step", steps_.size(), " :=\n  out_view<", type_);
    const bool is_pair = kind == kStatistics;
    if (is_pair) absl::StrAppend(&text, ",", type_);
    absl::StrAppend(&text, ">( ", name, ": (", dims_, ") -> (", indices, ")");
    if (is_pair) absl::StrAppend(&text, ", ", name, "b: (", dims_, ") -> (", indices, ")");
    absl::StrAppend(&text, " ) o\n  md_hom<", absl::StrJoin(sizes, ","), ">( f, (",
                    absl::StrJoin(operators, ", "), ")", stores ? ", store s" : "",
                    " ) o\n  inp_view<", absl::StrJoin(types, ","), ">( ",
                    absl::StrJoin(views, ",\n    "), " )\nwhere f(",
                    absl::StrJoin(parameters, ", "), ") -> ");
    if (is_pair) {
      const std::string low = type_ == "int32" ? "-1000" : "-inf";
      absl::StrAppend(&text, "(r: ", type_, ", q: ", type_, ") { r = ", value, "; q = ", value,
                      " },\n  both(r1, q1, r2, q2) -> (r, q) identity (0, ", low,
                      ") { r = r1 + r2; q = max(q1, q2) }\n");
    } else if (stores) {
      absl::StrAppend(&text, "(r: ", type_, ") { r = ", value, " },\n  s(r) -> ", name, " { ", name,
                      " = ", Clamped("r"), " + ", type_, "(i) }\n");
    } else {
      absl::StrAppend(&text, "(r: ", type_, ") { r = ", value, " }\n");
    }
    std::vector<std::string> given;
    for (const size_t n : chosen) given.push_back(sources_[n].name);
    const std::string written = is_pair ? absl::StrCat("(", name, ", ", name, "b)") : name;
    calls_.push_back(absl::StrCat("  ", written, " = step", steps_.size(), "(",
                                  absl::StrJoin(given, ", "), ")"));
    steps_.push_back(std::move(text));
    sources_.push_back({.name = name, .type = type_, .accesses = indices, .has_row = is_vector});
    if (is_pair) sources_.push_back({.name = name + "b", .type = type_, .accesses = indices});
  }

  std::string Text() {
    std::vector<std::string> inputs, outputs;
    for (const Source& source : sources_) {
      if (source.is_input && source.is_read) inputs.push_back(source.name);
      const bool is_output = !source.is_read || Below(rng_, 6) == 0;
      if (!source.is_input && is_output) outputs.push_back(source.name);
    }
    return absl::StrCat("rows := pipeline(", absl::StrJoin(inputs, ", "), ") -> (",
                        absl::StrJoin(outputs, ", "), ") {\n", absl::StrJoin(calls_, ";\n"),
                        "\n}\n\n", absl::StrJoin(steps_, "\n"));
  }

  Rng& rng_;
  const int64_t points_;
  bool is_deep_ = false;  // two common dimensions
  std::string type_, dims_;
  int64_t length_ = 0, rows_ = 0, depth_ = 0;
  std::vector<Source> sources_;
  std::vector<std::string> steps_, calls_;
};

}  // namespace

Pipeline RandomRowPipeline(Rng& rng, int64_t points) {
  return RowPipelineWriter(rng, points).Run();
}

RowLayout RandomRowLayout(Rng& rng, int64_t length, const DeviceDescription& device) {
  const int64_t most = device.blocks.max_threads_per_block;
  RowLayout layout{.threads = int64_t{1} << Below(rng, 8)};
  while (layout.threads > most) layout.threads /= 2;
  layout.rows = std::min<int64_t>(1 + Below(rng, 5), most / layout.threads);
  layout.vector = int64_t{1} << Below(rng, 4);
  while (length % layout.vector != 0) layout.vector /= 2;
  layout.keep = static_cast<RowLayout::Keep>(Below(rng, 3));
  return layout;
}

}  // namespace mdh
