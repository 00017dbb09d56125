// Compared techniques as a plot.
#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "tuner/search/technique_comparison.h"

namespace mdh {
namespace {

constexpr double kWidth = 640;  // of a panel, with its margins
constexpr double kHeight = 320;
constexpr double kLeft = 60;
constexpr double kRight = 180;  // legend
constexpr double kTop = 30;
constexpr double kBottom = 45;
constexpr double kMostTimesOptimum = 100;  // costs above are drawn at the border
constexpr int kPointsPerLine = 120;

constexpr const char* kColours[] = {"#1f77b4", "#d62728", "#2ca02c", "#ff7f0e",
                                    "#9467bd", "#8c564b", "#e377c2", "#7f7f7f",
                                    "#bcbd22", "#17becf", "#000000", "#aec7e8"};

std::string Escaped(const std::string& text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}});
}

// Both axes of one panel, logarithmic.
class Panel {
 public:
  Panel(double top, int64_t evaluations, double most)
      : top_(top + kTop), evaluations_(static_cast<double>(evaluations)), most_(most) {}

  double X(double evaluations) const {
    const double share = evaluations_ > 1 ? std::log(evaluations) / std::log(evaluations_) : 0;
    return kLeft + share * (kWidth - kLeft - kRight);
  }
  double Y(double multiple) const {
    const double share = std::log(std::clamp(multiple, 1.0, most_)) / std::log(most_);
    return top_ + (1 - share) * (kHeight - kTop - kBottom);
  }
  double bottom() const { return Y(1); }
  double top() const { return Y(most_); }
  double right() const { return X(evaluations_); }

 private:
  double top_;
  double evaluations_;
  double most_;
};

// Evaluations of the points of lines: equally far from each other on the axis.
std::vector<int64_t> PointsOf(int64_t evaluations) {
  std::vector<int64_t> points;
  for (int i = 0; i <= kPointsPerLine; ++i) {
    const double at = std::pow(static_cast<double>(evaluations), double(i) / kPointsPerLine);
    const auto rounded = static_cast<int64_t>(std::llround(at));
    if (points.empty() || rounded > points.back()) points.push_back(rounded);
  }
  return points;
}

double Multiple(const TechniqueResult& result, const Cost& cost) {
  if (!cost) return kMostTimesOptimum;
  if (result.optimum() <= 0) return *cost <= result.optimum() ? 1 : kMostTimesOptimum;
  return *cost / result.optimum();
}

std::string Line(const Panel& panel, const TechniqueResult& result, double quantile,
                 bool is_backwards) {
  std::string points;
  std::vector<int64_t> evaluations = PointsOf(result.evaluations());
  if (is_backwards) std::ranges::reverse(evaluations);
  for (const int64_t at : evaluations) {
    absl::StrAppendFormat(&points, "%s%.1f,%.1f", points.empty() ? "" : " ",
                          panel.X(static_cast<double>(at)),
                          panel.Y(Multiple(result, result.BestAfter(at, quantile))));
  }
  return points;
}

std::string Text(double x, double y, const char* anchor, const std::string& text) {
  return absl::StrFormat("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor,
                         Escaped(text));
}

std::string Axes(const Panel& panel, const TechniqueResult& first, double most) {
  std::string svg = absl::StrFormat(
      "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"none\" "
      "stroke=\"#888\"/>\n",
      kLeft, panel.top(), panel.right() - kLeft, panel.bottom() - panel.top());
  svg += Text(kLeft, panel.top() - 10, "start", first.table());
  for (double x = 1; x <= static_cast<double>(first.evaluations()); x *= 10) {
    svg += Text(panel.X(x), panel.bottom() + 15, "middle", absl::StrFormat("%g", x));
  }
  svg += Text((kLeft + panel.right()) / 2, panel.bottom() + 32, "middle", "evaluations");
  for (const double y : {1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0}) {
    if (y <= most) svg += Text(kLeft - 6, panel.Y(y) + 4, "end", absl::StrFormat("%g", y));
  }
  const double target = panel.Y(1 / kTarget);
  absl::StrAppendFormat(&svg,
                        "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#888\" "
                        "stroke-dasharray=\"3 3\"/>\n",
                        kLeft, target, panel.right(), target);
  return svg;
}

std::string Curve(const Panel& panel, const TechniqueResult& result, size_t number) {
  const char* const colour = kColours[number % std::size(kColours)];
  std::string svg =
      absl::StrFormat("<polygon points=\"%s %s\" fill=\"%s\" fill-opacity=\"0.15\"/>\n",
                      Line(panel, result, 0.25, false), Line(panel, result, 0.75, true), colour);
  absl::StrAppendFormat(
      &svg, "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\"/>\n",
      Line(panel, result, 0.5, false), colour);
  const double y = panel.top() + 12 + 16 * static_cast<double>(number);
  absl::StrAppendFormat(&svg,
                        "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" "
                        "stroke-width=\"3\"/>\n",
                        panel.right() + 12, y - 4, panel.right() + 30, y - 4, colour);
  return svg + Text(panel.right() + 36, y, "start", result.technique());
}

// The largest multiple that the axis needs.
double MostOf(const std::vector<TechniqueResult>& results, size_t begin, size_t end) {
  double most = 2;
  for (size_t i = begin; i < end; ++i) {
    most = std::max(most, Multiple(results[i], results[i].BestAfter(1, 0.75)));
  }
  return std::min(most, kMostTimesOptimum);
}

}  // namespace

std::string ComparisonToSvg(const std::vector<TechniqueResult>& results) {
  std::string panels;
  int count = 0;
  for (size_t begin = 0; begin < results.size();) {
    size_t end = begin + 1;
    while (end < results.size() && results[end].table_position() == results[begin].table_position())
      ++end;
    const double most = MostOf(results, begin, end);
    const Panel panel(kHeight * count++, results[begin].evaluations(), most);
    panels += Axes(panel, results[begin], most);
    for (size_t i = begin; i < end; ++i) panels += Curve(panel, results[i], i - begin);
    begin = end;
  }
  const double height = kHeight * std::max(count, 1);
  return absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\" viewBox=\"0 0 %g %g\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n"
      "<title>Best cost over the optimum against evaluations: medians and quartiles</title>\n"
      "<rect width=\"%g\" height=\"%g\" fill=\"white\"/>\n%s</svg>\n",
      kWidth, height, kWidth, height, kWidth, height, panels);
}

}  // namespace mdh
