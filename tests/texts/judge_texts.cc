// judge_texts --backend NAME FOLDER: what texts of the front ends compute, against values that lie
// beside them (tests/texts/text_judge.h). Prints what is wrong, and a summary. Exit status 1 if
// something is, 3 if there is no such device.
//   --backend NAME    openmp or opencl
//   --processes N     at the same time, 2 unless told; 0: in this process
//   --one-in N        only so many of the texts, 1 unless told
#include <algorithm>
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

[[noreturn]] void Usage(const std::string& why) {
  std::fprintf(stderr,
               "judge_texts: error: %s\nusage: judge_texts --backend NAME [--processes N] "
               "[--one-in N] FOLDER\n",
               why.c_str());
  std::exit(2);
}

Options Parse(int argc, char** argv) {
  Options options;
  for (int n = 1; n < argc; ++n) {
    const std::string word = argv[n];
    if (word.rfind("--", 0) != 0) {
      options.folder = word;
      continue;
    }
    if (n + 1 == argc) Usage(word + " needs a value");
    const std::string value = argv[++n];
    if (word == "--backend") {
      const auto backend = mdh::BackendNamed(value);
      if (!backend.ok()) Usage(std::string(backend.status().message()));
      options.backend.backend = *backend;
    } else if (word == "--processes") {
      options.pool.processes = std::atoi(value.c_str());
    } else if (word == "--one-in") {
      options.one_in = std::max(std::atoi(value.c_str()), 1);
    } else {
      Usage("unknown option '" + word + "'");
    }
  }
  if (options.folder.empty()) Usage("FOLDER is missing");
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  Options options = Parse(argc, argv);
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
