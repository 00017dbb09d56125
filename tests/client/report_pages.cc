// report_pages FOLDER: writes the pages of the samples there, for a browser to look at.
#include <cstdio>
#include <fstream>
#include <string>
#include <utility>

#include "tests/client/report_samples.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: report_pages FOLDER\n");
    return 2;
  }
  const std::pair<const char*, std::string> pages[] = {
      {"job", mdh::JobReportPage(mdh::SampleJob(400))},
      {"runs", mdh::JobReportPage(mdh::SampleRuns(200))},
      {"gpu", mdh::JobReportPage(mdh::SampleGpuJob(300))},
      {"many", mdh::JobReportPage(mdh::SampleJob(10'000))},
      {"hostile", mdh::JobReportPage(mdh::HostileJob())},
      {"empty", mdh::JobReportPage(mdh::EmptyJob())},
      {"cache", mdh::CacheReportPage(mdh::SampleCache(60))},
      {"no_cache", mdh::CacheReportPage({})}};
  for (const auto& [name, page] : pages) {
    std::ofstream file(std::string(argv[1]) + "/" + name + ".html", std::ios::binary);
    file << page;
    if (!file.flush()) return 1;
  }
  return 0;
}
