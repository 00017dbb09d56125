// Lookups in a mapped bundle, from C++, C and Python:
//   bundle_benchmark --programs FOLDER --expressions FOLDER [--json FILE] [--fact NAME=VALUE]...
//                    [--rounds N] [--records N] [--quick] [--python PROGRAM] [--scripts FOLDER]
// The whole key is compared in every lookup.
#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/bundle.h"
#include "core/text/parser.h"
#include "mdh/v1/admin.pb.h"
#include "proto/bundle_writer.h"
#include "tests/benchmarks/bundle/bundle_cases.h"
#include "tests/benchmarks/service/service_figure.h"

namespace mdh {
namespace {

namespace fs = std::filesystem;

constexpr double kMostNs = 600, kMostPythonNs = 20'000;
// About what records and kernels take.
constexpr size_t kRecordBytes = 3'500, kKernelBytes = 8'000;

struct Options {
  std::string programs, expressions, json, python = "python3", scripts;
  std::vector<std::string> facts;
  int64_t records = 10'000;
  int rounds = 31;
};

std::string ReadText(const fs::path& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

Result<BundleQuery> QueryOf(const std::string& text, int64_t number) {
  MDH_ASSIGN_OR_RETURN(
      const Expression matmul,
      ParseExpression(text, {{"I", absl::StrCat(number + 1)}, {"J", "64"}, {"K", "64"}}));
  return QueryFor(matmul, MDH_BENCHMARK_DEVICE);
}

Status WriteTheBundle(const std::string& text, int64_t records, const std::string& path) {
  std::vector<BundleItem> items;
  for (int64_t number = 0; number < records; ++number) {
    MDH_ASSIGN_OR_RETURN(const BundleQuery query, QueryOf(text, number));
    v1::TuningRecord record;
    record.set_parameters(std::string(kRecordBytes, 'p'));
    v1::Kernel kernel;
    kernel.set_source(std::string(kKernelBytes, 's'));
    items.push_back({query.WithCode("gcc 12.2.0; clang 14.0.6", 1), record.SerializeAsString(),
                     kernel.SerializeAsString()});
  }
  std::ofstream stream(path, std::ios::binary);
  stream << WriteBundleFile(v1::BundleHeader().SerializeAsString(), std::move(items));
  stream.close();
  return stream ? absl::OkStatus() : absl::FailedPreconditionError(path + " cannot be written");
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

// Median over the rounds of the time of one of `count` runs.
template <typename Run>
double MedianNs(int rounds, int count, const Run& run) {
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    for (int n = 0; n < count; ++n) run(n);
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - begin;
    times.push_back(time.count() / count);
  }
  return Median(std::move(times));
}

ServiceFigure FigureOf(std::string name, double ns, std::optional<double> most_ns = {}) {
  ServiceFigure figure{.name = std::move(name), .value = ns / 1e3, .unit = "us"};
  if (most_ns) figure.at_most = *most_ns / 1e3;
  return figure;
}

Status AddCpp(const Options& options, const std::string& text, const std::string& path,
              std::vector<ServiceFigure>& figures) {
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<BundleFile> bundle, BundleFile::Open(path));
  std::vector<BundleQuery> queries, unknown;
  for (int n = 0; n < MDH_BENCHMARK_QUERIES; ++n) {
    const int number = n * MDH_BENCHMARK_STEP % MDH_BENCHMARK_QUERIES;
    MDH_ASSIGN_OR_RETURN(const BundleQuery query, QueryOf(text, number));
    queries.push_back(query);
    MDH_ASSIGN_OR_RETURN(const BundleQuery other, QueryOf(text, options.records + number));
    unknown.push_back(other);
  }
  bool is_right = true;
  const double hit_ns = MedianNs(options.rounds, MDH_BENCHMARK_QUERIES, [&](int n) {
    is_right &= bundle->Find(queries[static_cast<size_t>(n)]).ok();
  });
  const double miss_ns = MedianNs(options.rounds, MDH_BENCHMARK_QUERIES, [&](int n) {
    is_right &= !bundle->Find(unknown[static_cast<size_t>(n)]).ok();
  });
  if (!is_right) return absl::InternalError("a lookup has found what it should not, or nothing");
  figures.push_back(FigureOf("C++, found", hit_ns, kMostNs));
  figures.push_back(FigureOf("C++, not found", miss_ns));
  for (const BundleCheck check : {BundleCheck::kWhenOpened, BundleCheck::kWhenFirstUsed}) {
    const double open_ns = MedianNs(std::min(options.rounds, 5), 1,
                                    [&](int) { is_right &= BundleFile::Open(path, check).ok(); });
    figures.push_back(FigureOf(
        check == BundleCheck::kWhenOpened ? "opened, all checked" : "opened, the index checked",
        open_ns));
  }
  figures.push_back({.name = "bytes of the bundle",
                     .value = static_cast<double>(fs::file_size(path)),
                     .unit = "bytes"});
  return is_right ? absl::OkStatus() : absl::InternalError("the bundle cannot be opened again");
}

// The numbers that a program prints. Errors: FailedPrecondition with its command.
Result<std::vector<double>> NumbersOf(const std::string& command) {
  FILE* const output = popen(command.c_str(), "r");
  if (output == nullptr) return absl::FailedPreconditionError(command + " cannot be run");
  std::string text;
  char part[256];
  while (std::fgets(part, sizeof(part), output) != nullptr) text += part;
  if (pclose(output) != 0) return absl::FailedPreconditionError(command + " failed");
  std::vector<double> numbers;
  std::istringstream words(text);
  for (double number = 0; words >> number;) numbers.push_back(number);
  return numbers;
}

Status AddOthers(const Options& options, const std::string& path,
                 std::vector<ServiceFigure>& figures) {
  MDH_ASSIGN_OR_RETURN(
      const std::vector<double> c,
      NumbersOf(absl::StrCat(options.programs, "/c_lookups ", path, " ", options.expressions,
                             "/matmul.mdh ", options.rounds)));
  if (c.size() != 2) return absl::InternalError("c_lookups printed something else");
  figures.push_back(FigureOf("C, found", c[0], kMostNs));
  figures.push_back(FigureOf("C, found, from the text of the expression", c[1]));
  if (options.scripts.empty()) return absl::OkStatus();
  MDH_ASSIGN_OR_RETURN(const std::vector<double> python,
                       NumbersOf(absl::StrCat(options.python, " ", options.scripts,
                                              "/python_lookups.py ", path, " ", options.rounds)));
  if (python.size() != 1) return absl::InternalError("python_lookups printed something else");
  figures.push_back(FigureOf("Python, found", python[0], kMostPythonNs));
  return absl::OkStatus();
}

Status Run(const Options& options) {
  std::string folder = (fs::temp_directory_path() / "mdh-bundle-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return absl::FailedPreconditionError("no folder");
  const std::string path = folder + "/kernels.mdhb";
  const std::string text = ReadText(fs::path(options.expressions) / "matmul.mdh");
  std::vector<ServiceFigure> figures;
  Status status = WriteTheBundle(text, options.records, path);
  if (status.ok()) status = AddCpp(options, text, path, figures);
  if (status.ok()) status = AddOthers(options, path, figures);
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  MDH_RETURN_IF_ERROR(status);
  std::printf("%s", ServiceTable(figures).c_str());
  if (options.json.empty()) return absl::OkStatus();
  std::map<std::string, std::string> facts = {{"records", absl::StrCat(options.records)}};
  for (const std::string& fact : options.facts) {
    facts.insert(absl::StrSplit(fact, absl::MaxSplits('=', 1)));
  }
  return WriteServiceResults({"Lookups in a mapped bundle",
                              "Medians over the rounds of the mean over 1000 different queries, "
                              "which were made before. The "
                              "whole key is compared."},
                             figures, facts, options.json);
}

}  // namespace
}  // namespace mdh

int main(int argc, char** argv) {
  mdh::Options options;
  bool quick = false;
  CLI::App app{"Times lookups in a mapped bundle."};
  app.add_option("--programs", options.programs, "the folder of c_lookups")->required();
  app.add_option("--expressions", options.expressions, "the shipped expressions")->required();
  app.add_option("--scripts", options.scripts, "the folder of python_lookups.py [without Python]");
  app.add_option("--python", options.python, "Python that finds the package mdh")
      ->capture_default_str();
  app.add_option("--json", options.json, "writes figures to FILE, and a page beside it");
  app.add_option("--fact", options.facts, "NAME=VALUE for the page");
  app.add_option("--records", options.records, "entries of the bundle, 1000 at least")
      ->check(CLI::Range(1'000, 10'000'000))
      ->capture_default_str();
  app.add_option("--rounds", options.rounds, "of each case")->capture_default_str();
  app.add_flag("--quick", quick, "only a try");
  CLI11_PARSE(app, argc, argv);
  if (quick) {
    options.records = 1'000;
    options.rounds = 3;
  }
  const mdh::Status status = mdh::Run(options);
  if (!status.ok()) {
    std::fprintf(stderr, "bundle_benchmark: error: %s\n", std::string(status.message()).c_str());
  }
  return status.ok() ? 0 : 1;
}
