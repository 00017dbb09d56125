// cases_check --backend NAME [OPTION...]: the cases of the paper's evaluation and its figures,
// compiled and run with configurations from rules, against the interpreter. Exit status 1 if one is
// wrong, 3 if there is no such device.
//   --backend NAME    openmp, opencl or cuda
//   --platform NAME   of OpenCL: a part of the platform's name
//   --device N        number of the device on its platform
//   --full            the sizes of the paper; otherwise reduced to some 20,000 points
//   --cases PATTERN   only those whose id matches
//   --processes N     at the same time, 2 unless told
//   --data FOLDER     with client/expressions, tests/cases and tests/core/decomposition/figures
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/cases/case_check.h"
#include "tests/property/block_pairs.h"
#include "tests/property/worker_pool.h"
#include "tests/source_path.h"

namespace {

struct Words {
  mdh::BackendOptions backend;
  mdh::CaseOptions options = {.folder = mdh::SourcePath(), .max_points = 20'000};
  std::string pattern = "*";
  int processes = 2;
};

[[noreturn]] void Usage(const std::string& why) {
  std::fprintf(stderr,
               "cases_check: error: %s\nusage: cases_check --backend NAME [--platform NAME] "
               "[--device N] [--full] [--cases PATTERN] [--processes N] [--data FOLDER]\n",
               why.c_str());
  std::exit(2);
}

int Number(const std::string& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    Usage("'" + text + "' is no number");
  }
  return value;
}

Words Parse(int argc, char** argv) {
  Words words;
  bool has_backend = false;
  for (int n = 1; n < argc; ++n) {
    const std::string word = argv[n];
    if (word == "--full") {
      words.options.max_points = 0;
      continue;
    }
    if (n + 1 == argc) Usage(word + " needs a value");
    const std::string value = argv[++n];
    if (word == "--backend") {
      const auto backend = mdh::BackendNamed(value);
      if (!backend.ok()) Usage(std::string(backend.status().message()));
      if (*backend == mdh::Backend::kNvrtc) Usage("cases are run, which NVRTC alone cannot");
      words.backend.backend = *backend;
      has_backend = true;
    } else if (word == "--platform") {
      words.backend.platform = value;
    } else if (word == "--device") {
      words.backend.device = Number(value);
    } else if (word == "--cases") {
      words.pattern = value;
    } else if (word == "--processes") {
      words.processes = Number(value);
    } else if (word == "--data") {
      words.options.folder = value;
    } else {
      Usage("unknown option '" + word + "'");
    }
  }
  if (!has_backend) Usage("--backend is missing");
  return words;
}

}  // namespace

int main(int argc, char** argv) {
  Words words = Parse(argc, argv);
  const char* toolkit = std::getenv("CUDA_PATH");
  words.backend.toolkit_folders = mdh::Nvrtc::ToolkitFolders(toolkit != nullptr ? toolkit : "");
  const auto name = mdh::FindBackend(words.backend);
  if (!name.ok()) {
    std::fprintf(stderr, "cases_check: %s\n", std::string(name.status().message()).c_str());
    return 3;
  }
  const auto cases =
      mdh::LoadCheckedCases(words.options.folder, words.backend.backend, words.pattern);
  if (!cases.ok()) Usage(std::string(cases.status().message()));
  int failures = 0;
  const mdh::Status status = mdh::CheckCases(
      words.backend, *cases, words.options, words.processes,
      [&](const mdh::CheckedCase& one, const std::string& wrong) {
        failures += wrong.empty() ? 0 : 1;
        std::printf("%-32s %s\n", one.id.c_str(), wrong.empty() ? "right" : wrong.c_str());
        std::fflush(stdout);
      });
  if (!status.ok()) Usage(std::string(status.message()));
  std::printf("%zu cases on %s: %d failures\n", cases->size(), name->c_str(), failures);
  return failures == 0 ? 0 : 1;
}
