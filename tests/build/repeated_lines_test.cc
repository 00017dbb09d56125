// No run of many lines stands twice in what is built: what is the same is said once.
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/source_path.h"

namespace mdh::repeated_lines_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr size_t kMostLines = 12;  // that may stand twice

struct Line {
  int number;
  std::string text;  // without white space around it; not empty
};

std::vector<Line> LinesOf(std::istream& file) {
  std::vector<Line> lines;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    absl::StripAsciiWhitespace(&line);
    if (!line.empty()) lines.push_back({number, std::move(line)});
  }
  return lines;
}

class Runs {
 public:
  // Says which run of one line more than may stand twice has stood before.
  void Add(const std::string& name, const std::vector<Line>& lines) {
    for (size_t first = 0; first + kMostLines < lines.size(); ++first) {
      std::string run;
      for (size_t n = first; n <= first + kMostLines; ++n)
        absl::StrAppend(&run, lines[n].text, "\n");
      const std::string place = absl::StrCat(name, ":", lines[first].number);
      const auto [known, is_new] = places_.try_emplace(std::move(run), place);
      if (!is_new) repeated_.push_back(absl::StrCat(place, " is ", known->second));
    }
  }
  const std::vector<std::string>& repeated() const { return repeated_; }

 private:
  std::map<std::string, std::string> places_;
  std::vector<std::string> repeated_;
};

TEST(RepeatedLines, AreFoundWhateverTheirIndentation) {
  std::string text;
  for (size_t n = 0; n <= kMostLines; ++n) absl::StrAppend(&text, "line ", n, "\n");
  std::istringstream once(text), again(absl::StrCat("other\n\n  ", text)),
      shorter(text.substr(text.find('\n') + 1));
  Runs runs;
  runs.Add("a", LinesOf(once));
  runs.Add("b", LinesOf(again));
  runs.Add("c", LinesOf(shorter));
  EXPECT_THAT(runs.repeated(), ElementsAre("b:3 is a:1"));
}

TEST(RepeatedLines, AreFew) {
  const std::filesystem::path root = SourcePath();
  Runs runs;
  int files = 0;
  for (const char* folder : {"core", "codegen", "tuner", "proto", "server", "client"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".h" && extension != ".cc" && extension != ".py" && extension != ".proto") {
        continue;
      }
      const std::string name = std::filesystem::relative(entry.path(), root).generic_string();
      // Copies of files of others.
      if (absl::StartsWith(name, "proto/google/") || absl::StartsWith(name, "proto/grpc/"))
        continue;
      std::ifstream file(entry.path());
      runs.Add(name, LinesOf(file));
      ++files;
    }
  }
  EXPECT_GT(files, 20) << "the sources were not found under " << root;
  EXPECT_THAT(runs.repeated(), IsEmpty());
}

}  // namespace
}  // namespace mdh::repeated_lines_test
