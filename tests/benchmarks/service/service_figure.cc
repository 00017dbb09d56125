#include "tests/benchmarks/service/service_figure.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace mdh {
namespace {

struct Cells {
  std::string name, value, beside, ratio, asked, holds;
};

std::string Number(double value, const std::string& unit) {
  const bool has_exponent = value >= 1e4 || value < 1e-3;
  return absl::StrFormat("%.*g %s", has_exponent ? 3 : 4, value, unit);
}

Cells CellsOf(const ServiceFigure& figure) {
  const bool is_alone = figure.beside.empty();
  std::string asked = "";
  if (figure.at_most) asked = absl::StrFormat("<= %.4g", *figure.at_most);
  if (figure.at_least) asked = absl::StrFormat(">= %.4g", *figure.at_least);
  const std::optional<bool> holds = figure.holds();
  return {
      figure.name,
      Number(figure.value, figure.unit),
      is_alone ? "" : absl::StrCat(figure.beside, " ", Number(figure.beside_value, figure.unit)),
      is_alone ? "" : absl::StrFormat("%.2f", figure.ratio),
      asked,
      !holds   ? ""
      : *holds ? "yes"
               : "NO"};
}

Status WriteTo(const std::string& path, const std::string& text) {
  std::ofstream stream(path);
  stream << text;
  stream.close();
  if (!stream) return absl::FailedPreconditionError(absl::StrCat(path, " cannot be written"));
  return absl::OkStatus();
}

nlohmann::ordered_json OrNull(const std::optional<double>& number) {
  return number ? nlohmann::ordered_json(*number) : nlohmann::ordered_json(nullptr);
}

}  // namespace

std::optional<bool> ServiceFigure::holds() const {
  const double figure = beside.empty() ? value : ratio;
  if (at_most) return figure <= *at_most;
  if (at_least) return figure >= *at_least;
  return std::nullopt;
}

std::string ServiceTable(const std::vector<ServiceFigure>& figures) {
  constexpr const char* kRow = "%-48s %14s  %-28s %7s %9s %s\n";
  std::string table = absl::StrFormat(kRow, "case", "value", "beside", "ratio", "asked", "holds");
  for (const ServiceFigure& figure : figures) {
    const Cells cells = CellsOf(figure);
    table += absl::StrFormat(kRow, cells.name, cells.value, cells.beside, cells.ratio, cells.asked,
                             cells.holds);
  }
  return table;
}

Status WriteServiceResults(const ServicePage& about, const std::vector<ServiceFigure>& figures,
                           const std::map<std::string, std::string>& facts,
                           const std::string& path) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  std::string page = absl::StrCat("# ", about.title, "\n\n");
  for (const auto& [name, value] : facts) absl::StrAppend(&page, "- ", name, ": ", value, "\n");
  absl::StrAppend(&page, "\n", about.remark, "\n\n",
                  "| case | value | beside | ratio | asked | holds |\n|---|--:|---|--:|--:|---|\n");
  for (const ServiceFigure& figure : figures) {
    const Cells cells = CellsOf(figure);
    absl::StrAppend(&page, "| ", cells.name, " | ", cells.value, " | ", cells.beside, " | ",
                    cells.ratio);
    absl::StrAppend(&page, " | ", cells.asked, " | ", cells.holds, " |\n");
    rows.push_back({{"case", figure.name},
                    {"value", figure.value},
                    {"unit", figure.unit},
                    {"beside", figure.beside},
                    {"beside_value", figure.beside_value},
                    {"ratio", figure.ratio},
                    {"at_most", OrNull(figure.at_most)},
                    {"at_least", OrNull(figure.at_least)}});
  }
  const nlohmann::ordered_json results = {{"machine", facts}, {"rows", rows}};
  MDH_RETURN_IF_ERROR(WriteTo(path, results.dump(2) + "\n"));
  return WriteTo(std::filesystem::path(path).replace_extension(".md").string(), page);
}

}  // namespace mdh
