#include "server/store/postgres/kept_kernels.h"

#include "gtest/gtest.h"

namespace mdh::kept_kernels_test {
namespace {

v1::Kernel OfSize(int bytes) {
  v1::Kernel kernel;
  kernel.set_source(std::string(bytes, 'x'));
  return kernel;
}

TEST(KeptKernelsTest, TheLatestAreKept) {
  KeptKernels cache(1000);
  for (const char* id : {"a", "b"}) cache.Put(id, OfSize(400), 1);
  EXPECT_TRUE(cache.Find("a").has_value());  // and is the latest from now on
  cache.Put("c", OfSize(400), 1);
  EXPECT_TRUE(cache.Find("a").has_value());
  EXPECT_FALSE(cache.Find("b").has_value());
  EXPECT_EQ(cache.Find("c")->source().size(), 400);
  cache.Put("d", OfSize(2000), 1);  // larger than all may be
  EXPECT_FALSE(cache.Find("d").has_value());
}

TEST(KeptKernelsTest, WhatWasReadBeforeAChangeIsNotKept) {
  KeptKernels cache(1000);
  cache.Put("a", OfSize(10), 4);
  cache.Put("a", OfSize(20), 4);
  EXPECT_EQ(cache.Find("a")->source().size(), 20);
  cache.Drop("a", 5);
  EXPECT_FALSE(cache.Find("a").has_value());
  cache.Put("a", OfSize(10), 4);
  EXPECT_FALSE(cache.Find("a").has_value());
  cache.Put("a", OfSize(10), 5);
  EXPECT_TRUE(cache.Find("a").has_value());
}

}  // namespace
}  // namespace mdh::kept_kernels_test
