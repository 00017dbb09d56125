#include "core/base/shortened.h"

#include <gtest/gtest.h>

#include "core/decomposition/tuning_parameters.h"

namespace mdh::shortened_test {
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

TEST(Shortened, BytesThatAreNoCharactersAreReplaced) {
  EXPECT_EQ(ValidText("\xff\xfe"
                      "12\u00e4\xc3"),
            "??12\u00e4?");
  EXPECT_EQ(ValidText(std::string_view("a\0b", 3)), "a?b");
  EXPECT_EQ(ValidText("\xe0\x80\x80 \xed\xa0\x80 \xf4\x90\x80\x80"), "??? ??? ????");
  EXPECT_EQ(Shortened("\xff", 5), "?");
  EXPECT_EQ(Shortened("012345\xff\xff"
                      "89",
                      8),
            "012345 ... (2 bytes left out) ... 89");
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
}  // namespace mdh::shortened_test
