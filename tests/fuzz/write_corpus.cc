// write_corpus EXPRESSIONS OUT: what the fuzzers start from, as OUT/text/* and OUT/proto/*: the
// .mdh files of the folder EXPRESSIONS, and random expressions.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

#include "core/text/parser.h"
#include "core/text/printer.h"
#include "proto/expression_conversion.h"
#include "tests/random_expression.h"

namespace mdh {
namespace {

namespace fs = std::filesystem;

void Write(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

void WriteExpression(const fs::path& out, const std::string& name, const Expression& expression) {
  Write(out / "text" / name, ToText(expression));
  Write(out / "proto" / name, ToProto(expression).SerializeAsString());
}

// False if a shipped expression is not accepted.
bool WriteShipped(const fs::path& folder, const fs::path& out) {
  for (const fs::directory_entry& file : fs::directory_iterator(folder)) {
    if (file.path().extension() != ".mdh") continue;
    std::stringstream text;
    text << std::ifstream(file.path()).rdbuf();
    const std::string name = file.path().stem().string();
    Write(out / "text" / (name + ".mdh"), text.str());
    const Result<Expression> expression = ParseExpression(text.str(), {}, name);
    if (!expression.ok()) {
      std::cerr << "write_corpus: error: " << expression.status().message() << "\n";
      return false;
    }
    WriteExpression(out, name, *expression);
  }
  return true;
}

}  // namespace
}  // namespace mdh

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: write_corpus EXPRESSIONS OUT\n";
    return 2;
  }
  const std::filesystem::path out = argv[2];
  std::filesystem::create_directories(out / "text");
  std::filesystem::create_directories(out / "proto");
  if (!mdh::WriteShipped(argv[1], out)) return 1;
  mdh::Rng rng(1);
  mdh::RandomExpressionOptions options;
  options.max_rank = 3;
  for (int n = 0; n < 200; ++n) {
    options.exact = n % 2 == 0;
    mdh::WriteExpression(out, "random" + std::to_string(n), mdh::RandomExpression(rng, options));
  }
  return 0;
}
