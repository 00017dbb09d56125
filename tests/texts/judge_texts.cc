// judge_texts --backend NAME FOLDER: what texts of the front ends compute, against values that lie
// beside them (tests/texts/text_judge.h). Prints what is wrong, and a summary. Exit status 1 if
// something is, 3 if there is no such device.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "tests/property/block_pairs.h"
#include "tests/property/worker_pool.h"
#include "tests/texts/text_judge.h"

namespace {

struct Options {
  mdh::BackendOptions backend;
  mdh::PoolOptions pool = {.processes = 2};
  int one_in = 1;
  std::string folder;
};

// How CLI11 reads --backend.
std::string SetBackend(const std::string& name, Options& options) {
  const auto backend = mdh::BackendNamed(name);
  if (backend.ok()) options.backend.backend = *backend;
  return std::string(backend.status().message());
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  std::string backend;
  CLI::App app{"Compares what texts of the front ends compute with values that lie beside them."};
  app.add_option("--backend", backend, "openmp or opencl")
      ->required()
      ->check([&](const std::string& name) { return SetBackend(name, options); });
  app.add_option("--processes", options.pool.processes, "at the same time; 0: in this process")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--one-in", options.one_in, "only so many of the texts")
      ->check(CLI::PositiveNumber);
  app.add_option("FOLDER", options.folder, "of the texts")->required();
  CLI11_PARSE(app, argc, argv);
  const mdh::TemporaryDirectory cache;
  setenv("POCL_CACHE_DIR", cache.path().c_str(), 0);
  const mdh::Result<std::string> name = mdh::FindBackend(options.backend);
  if (!name.ok()) {
    std::fprintf(stderr, "judge_texts: %s\n", std::string(name.status().message()).c_str());
    return 3;
  }
  const std::vector<std::string> all = mdh::TextsOf(options.folder);
  std::vector<std::string> texts;
  for (size_t n = 0; n < all.size(); n += options.one_in) texts.push_back(all[n]);
  options.pool.count = static_cast<int>(texts.size());
  const mdh::MakeJob make_job = [&]() -> mdh::Job {
    auto backend = std::make_shared<mdh::Result<std::unique_ptr<mdh::JudgedBackend>>>(
        mdh::JudgedBackend::Open(options.backend));
    return [backend, &texts](int job) {
      return backend->ok() ? mdh::JudgeText(***backend, texts[job])
                           : std::string(backend->status().message());
    };
  };
  int failures = 0;
  const mdh::Status status = mdh::RunInWorkers(options.pool, make_job, [&](const mdh::JobEnd& end) {
    if (end.has_answer && end.text.empty()) return;
    ++failures;
    std::printf("FAILED: %s: %s\n", texts[end.job].c_str(), end.text.c_str());
  });
  if (!status.ok()) {
    std::fprintf(stderr, "judge_texts: %s\n", std::string(status.message()).c_str());
    return 1;
  }
  std::printf("%zu texts on %s, %d failures\n", texts.size(), name->c_str(), failures);
  return failures == 0 ? 0 : 1;
}
