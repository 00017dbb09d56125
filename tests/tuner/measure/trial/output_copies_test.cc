// Memory for copies of outputs is kept for the next run, but never while somebody reads it.
#include "tuner/measure/trial/output_copies.h"

#include <gtest/gtest.h>

namespace mdh::output_copies_test {
namespace {

using Copies = std::shared_ptr<const OutputCopies>;

TEST(KeptCopies, AreThoseOfTheRunBefore) {
  KeptCopies kept;
  Copies before = *kept.Get({4096, 8192});
  ASSERT_EQ(before->first.size(), 2u);
  EXPECT_EQ(before->last[1].size(), 8192);
  const std::byte* data = before->first[0].data();
  before.reset();
  EXPECT_EQ((*kept.Get({4096, 8192}))->first[0].data(), data);
}

TEST(KeptCopies, AreNotGivenTwice) {
  KeptCopies kept;
  const Copies before = *kept.Get({4096});
  const Copies now = *kept.Get({4096});
  EXPECT_NE(before->first[0].data(), now->first[0].data());
  before->first[0].data()[0] = std::byte{1};
  EXPECT_EQ(now->first[0].data()[0], std::byte{0});
}

TEST(KeptCopies, OfOtherSizesAreNew) {
  KeptCopies kept;
  (*kept.Get({4096}))->last[0].data()[0] = std::byte{1};
  for (const std::vector<int64_t>& sizes :
       {std::vector<int64_t>{4096, 4096}, std::vector<int64_t>{8192}, std::vector<int64_t>{}}) {
    const Copies copies = *kept.Get(sizes);
    ASSERT_EQ(copies->first.size(), sizes.size());
    ASSERT_EQ(copies->last.size(), sizes.size());
    for (size_t b = 0; b < sizes.size(); ++b) EXPECT_EQ(copies->first[b].size(), sizes[b]);
  }
}

TEST(KeptCopies, TooLargeOnesAreAnError) {
  KeptCopies kept;
  EXPECT_EQ(kept.Get({int64_t{1} << 62}).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(kept.Get({4096}).ok());
}

TEST(KeptCopies, DroppedOnesAreNew) {
  KeptCopies kept;
  (*kept.Get({4096}))->first[0].data()[0] = std::byte{1};
  kept.Drop();
  EXPECT_EQ((*kept.Get({4096}))->first[0].data()[0], std::byte{0});
}

}  // namespace
}  // namespace mdh::output_copies_test
