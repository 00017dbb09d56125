#include "core/shortened.h"

#include <gtest/gtest.h>

#include "core/device_compilers.h"

namespace mdh {
namespace {

TEST(Shortened, LeavesOutTheMiddleOfLongTexts) {
  EXPECT_EQ(Shortened("short", 5), "short");
  EXPECT_EQ(Shortened("0123456789", 8), "012345 ... (2 bytes left out) ... 89");
  const std::string huge(300'000'000, 'x');
  EXPECT_LT(Shortened(huge).size(), kLongestMessage + 50);
}

TEST(Shortened, KeepsCharactersWhole) {
  // Six characters of two bytes.
  EXPECT_EQ(Shortened("\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4", 9),
            "\u00e4\u00e4\u00e4 ... (4 bytes left out) ... \u00e4");
}

TEST(CompilersOf, AreThoseThatTheDescriptionNames) {
  DeviceDescription device;
  EXPECT_EQ(CompilersOf(device), std::vector<Compiler>{Compiler::kGcc});
  device.compiler = "gcc 12.2.0";
  EXPECT_EQ(CompilersOf(device), std::vector<Compiler>{Compiler::kGcc});
  device.compiler = "clang 14.0.6";
  EXPECT_EQ(CompilersOf(device), std::vector<Compiler>{Compiler::kClang});
  device.compiler = "gcc 12.2.0, clang 14.0.6";
  EXPECT_EQ(CompilersOf(device), (std::vector<Compiler>{Compiler::kGcc, Compiler::kClang}));
}

}  // namespace
}  // namespace mdh
