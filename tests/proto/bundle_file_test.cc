#include "proto/bundle_file.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <thread>

#include "core/base/sha256.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/bundle_layout.h"
#include "proto/bundle_writer.h"
#include "tests/server/temporary_directory.h"

namespace mdh::bundle_file_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Layout = BundleLayout;

BundleItem Item(const std::string& form, const std::string& device, int numerics = 1,
                const std::string& compiler = "gcc", int generator = 7) {
  const std::string all = form + "/" + device + "/" + compiler + "/" + std::to_string(generator);
  return {BundleQuery(form, device, numerics).WithCode(compiler, generator), "record " + all,
          "kernel " + all};
}

std::string ManyEntries(int count) {
  std::vector<BundleItem> items;
  for (int n = 0; n < count; ++n) {
    items.push_back(Item("form " + std::to_string(n % 100), "device " + std::to_string(n / 100)));
  }
  return WriteBundleFile("info", items);
}

void Write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// With right sums of the contents and the header, whatever they are now.
std::string Resummed(std::string bytes) {
  const auto entries = LoadLittleEndian<uint64_t>(&bytes[Layout::Header::kEntriesAt]);
  const auto slots = LoadLittleEndian<uint64_t>(&bytes[Layout::Header::kSlotsAt]);
  const auto info = LoadLittleEndian<uint64_t>(&bytes[Layout::Header::kInfoBytesAt]);
  const uint64_t end =
      Layout::RoundUp(Layout::InfoAt(slots, entries) + info, Layout::kContentsAlignment);
  const std::string_view view = bytes;
  const std::string_view index = view.substr(Layout::Header::kBytes, end - Layout::Header::kBytes);
  const Sha256::Sum sum = Sha256()
                              .Add({bytes.data(), Layout::Header::kSumAt})
                              .Add({index.data(), index.size()})
                              .Finish();
  std::copy(sum.begin(), sum.end(), &bytes[Layout::Header::kSumAt]);
  return bytes;
}

void ExpectRefused(const std::string& bytes, const std::string& why) {
  const Status error = BundleFile::FromBytes(bytes).status();
  EXPECT_EQ(error.code(), absl::StatusCode::kInvalidArgument) << error;
  EXPECT_THAT(std::string(error.message()), HasSubstr(why));
}

TEST(BundleFileTest, WhatWasWrittenIsFound) {
  for (const int count : {0, 1, 3, 1'000}) {
    const std::string bytes = ManyEntries(count);
    const std::unique_ptr<BundleFile> bundle = *BundleFile::FromBytes(bytes);
    EXPECT_EQ(bundle->size(), static_cast<size_t>(count));
    EXPECT_EQ(bundle->info(), "info");
    for (int n = 0; n < count; ++n) {
      const BundleItem item =
          Item("form " + std::to_string(n % 100), "device " + std::to_string(n / 100));
      const Result<BundleEntry> found = bundle->Find(item.key);
      ASSERT_TRUE(found.ok()) << n;
      EXPECT_EQ(found->record, item.record);
      EXPECT_EQ(found->kernel, item.kernel);
      EXPECT_EQ(found->compiler, "gcc");
      EXPECT_EQ(found->generator_version, 7);
      EXPECT_EQ(found->numerics_policy, 1);
    }
    EXPECT_EQ(bundle->Find(BundleQuery("form 5", "device 5000")).status().code(),
              absl::StatusCode::kNotFound);
  }
}

TEST(BundleFileTest, TheWholeKeyIsCompared) {
  const std::string bytes = WriteBundleFile("", {Item("form", "device")});
  const std::unique_ptr<BundleFile> bundle = *BundleFile::FromBytes(bytes);
  const BundleQuery right("form", "device");
  EXPECT_TRUE(bundle->Find(right).ok());
  EXPECT_TRUE(bundle->Find(right.WithCode("gcc", 7)).ok());
  for (const BundleQuery& wrong :
       {BundleQuery("form", "devicf"), BundleQuery("forn", "device"), BundleQuery("formd", "evice"),
        BundleQuery("form", "device", 2), right.WithCode("clang", 0), right.WithCode("", 8)}) {
    EXPECT_TRUE(absl::IsNotFound(bundle->Find(wrong).status()));
  }
  // The same hash, another key: every slot says that it has the hash of another form.
  std::string forged = bytes;
  for (size_t slot = 0; slot < Layout::kFewestSlots; ++slot) {
    char* const at = &forged[Layout::Header::kBytes + slot * Layout::Slot::kBytes];
    StoreLittleEndian(BundleQuery("another", "device").hash(), at);
    StoreLittleEndian(uint64_t{slot == 0 ? 1u : 0u}, at + Layout::Slot::kNumberAt);
  }
  forged = Resummed(forged);
  const std::unique_ptr<BundleFile> other = *BundleFile::FromBytes(forged);
  EXPECT_TRUE(absl::IsNotFound(other->Find(BundleQuery("another", "device")).status()));
}

TEST(BundleFileTest, NewerGeneratorsArePreferred) {
  std::vector<BundleItem> items = {Item("form", "device", 1, "gcc", 6),
                                   Item("form", "device", 1, "clang", 7),
                                   Item("form", "device", 1, "gcc", 5)};
  const std::string bytes = WriteBundleFile("", items);
  const std::unique_ptr<BundleFile> bundle = *BundleFile::FromBytes(bytes);
  const BundleQuery any("form", "device");
  EXPECT_EQ(bundle->Find(any)->generator_version, 7);
  EXPECT_EQ(bundle->Find(any.WithCode("gcc", 0))->generator_version, 6);
  EXPECT_EQ(bundle->Find(any.WithCode("", 5))->compiler, "gcc");
  std::swap(items[0], items[2]);
  EXPECT_EQ(WriteBundleFile("", items), bytes);
}

TEST(BundleFileTest, EveryVersionOfAGeneratorHasItsPlace) {
  constexpr int kLowest = std::numeric_limits<int32_t>::min();
  const std::string bytes =
      WriteBundleFile("", {Item("form", "device", 1, "gcc", kLowest),
                           Item("form", "device", 1, "gcc", std::numeric_limits<int32_t>::max())});
  const std::unique_ptr<BundleFile> bundle = *BundleFile::FromBytes(bytes);
  EXPECT_EQ(bundle->Find(BundleQuery("form", "device"))->generator_version,
            std::numeric_limits<int32_t>::max());
  EXPECT_TRUE(bundle->Find(BundleQuery("form", "device").WithCode("", kLowest)).ok());
}

TEST(BundleFileTest, DevicesAndSum) {
  const std::string bytes = ManyEntries(250);
  const std::unique_ptr<BundleFile> bundle = *BundleFile::FromBytes(bytes);
  EXPECT_THAT(*bundle->DeviceFingerprints(), ElementsAre("device 0", "device 1", "device 2"));
  EXPECT_EQ(bundle->Sum().size(), 64u);
  const std::string other = ManyEntries(251);
  EXPECT_NE((*BundleFile::FromBytes(other))->Sum(), bundle->Sum());
}

TEST(BundleFileTest, EveryChangedByteAndEveryCutIsSeen) {
  const std::string bytes = WriteBundleFile("i", {Item("a", "b"), Item("c", "d")});
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x40);
    EXPECT_FALSE(BundleFile::FromBytes(changed).ok()) << at;
    EXPECT_FALSE(BundleFile::FromBytes(bytes.substr(0, at)).ok()) << at;
  }
  EXPECT_FALSE(BundleFile::FromBytes(bytes + std::string(8, '\0')).ok());
}

TEST(BundleFileTest, ContentsCanBeCheckedWhenTheyAreUsed) {
  std::string bytes = WriteBundleFile("", {Item("a", "b"), Item("c", "d")});
  const size_t at = bytes.rfind("kernel c/d");
  bytes[at] = 'K';
  EXPECT_FALSE(BundleFile::FromBytes(bytes).ok());
  const std::unique_ptr<BundleFile> bundle =
      *BundleFile::FromBytes(bytes, BundleCheck::kWhenFirstUsed);
  for (int repeat = 0; repeat < 2; ++repeat) {
    EXPECT_TRUE(bundle->Find(BundleQuery("a", "b")).ok());
    const Status error = bundle->Find(BundleQuery("c", "d")).status();
    EXPECT_EQ(error.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(error.message()), HasSubstr("entry 1 was changed"));
  }
  bytes[Layout::Header::kBytes] ^= 1;
  EXPECT_FALSE(BundleFile::FromBytes(bytes, BundleCheck::kWhenFirstUsed).ok());
}

TEST(BundleFileTest, WrongContentsWithRightSumsAreRefused) {
  const std::string right = WriteBundleFile("", {Item("a", "b")});
  const auto with = [&](size_t at, uint64_t value) {
    std::string bytes = right;
    StoreLittleEndian(value, &bytes[at]);
    return bytes;
  };
  const size_t row = Layout::RowsAt(Layout::kFewestSlots);
  ExpectRefused("", "does not begin as one");
  ExpectRefused("MDHBNDL2", "is cut off");
  ExpectRefused(with(Layout::Header::kVersionAt, 3), "is of version 3, but this program reads");
  ExpectRefused(with(Layout::Header::kSlotsAt, 7), "wrong sizes");
  ExpectRefused(with(Layout::Header::kSlotsAt, uint64_t{1} << 63), "wrong sizes");
  ExpectRefused(with(Layout::Header::kEntriesAt, ~uint64_t{0}), "wrong sizes");
  ExpectRefused(with(Layout::Header::kInfoBytesAt, ~uint64_t{0}), "wrong sizes");
  ExpectRefused(Resummed(with(row + Layout::Row::kOffsetAt, 8)), "entry 0 at a wrong place");
  ExpectRefused(Resummed(with(row + Layout::Row::kIdentityBytesAt, 0xffffffff)),
                "entry 0 at a wrong place");
  for (size_t slot = 0; slot < Layout::kFewestSlots; ++slot) {
    const size_t number = Layout::Header::kBytes + slot * Layout::Slot::kBytes + 8;
    const bool is_free = LoadLittleEndian<uint64_t>(&right[number]) == 0;
    ExpectRefused(Resummed(with(number, is_free ? 1 : 0)), "an index that is not complete");
    ExpectRefused(Resummed(with(number, 2)), "an index with numbers of no entry");
  }
}

TEST(BundleFileTest, KeysThatAreNoKeysAreRefused) {
  const std::string right = WriteBundleFile("", {Item("a", "b")});
  const size_t row = Layout::RowsAt(Layout::kFewestSlots);
  const auto content = LoadLittleEndian<uint64_t>(&right[row]);
  for (const uint32_t length : {uint32_t{2}, uint32_t{0xffffffff}}) {
    std::string bytes = right;
    StoreLittleEndian(length, &bytes[content + 4]);
    const size_t size = bytes.find(std::string("kernel a/b/gcc/7")) + 16 - content;
    const Sha256::Sum sum = Sha256::Of({&bytes[content], size});
    std::copy(sum.begin(), sum.end(), &bytes[row + Layout::Row::kSumAt]);
    ExpectRefused(Resummed(bytes), "entry 0 without key");
  }
}

TEST(BundleFileTest, FilesThatCannotBeMapped) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("bundle");
  EXPECT_EQ(BundleFile::Open(path).status().code(), absl::StatusCode::kNotFound);
  Write(path, "");
  const Status empty = BundleFile::Open(path).status();
  EXPECT_EQ(empty.message(), path + ": the bundle is no bundle, or is cut off");
  EXPECT_EQ(BundleFile::Open(directory.File("")).status().code(),
            absl::StatusCode::kInvalidArgument);
  std::string bytes = ManyEntries(10);
  bytes.resize(bytes.size() / 2);
  Write(path, bytes);
  EXPECT_THAT(std::string(BundleFile::Open(path).status().message()),
              HasSubstr(path + ": the bundle is cut off"));
}

// The map is the same memory in all of them, and nobody can write to it.
// Its kernels are code.
TEST(BundleFileTest, WhatOthersCouldHaveWrittenIsNotMapped) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("bundle");
  Write(path, ManyEntries(1));
  ASSERT_EQ(chmod(path.c_str(), 0646), 0);
  EXPECT_EQ(BundleFile::Open(path).status().code(), absl::StatusCode::kPermissionDenied);
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  EXPECT_TRUE(BundleFile::Open(path).ok());
  if (geteuid() != 0) GTEST_SKIP() << "only root can make what others own";
  ASSERT_EQ(chown(path.c_str(), 54'322, 54'322), 0);
  EXPECT_THAT(std::string(BundleFile::Open(path).status().message()),
              HasSubstr("belongs to uid 54322"));
  EXPECT_TRUE(BundleFile::Open(path, BundleCheck::kWhenOpened, *TrustedUsers::Parse("54322")).ok());
}

TEST(BundleFileTest, ManyProcessesShareOneFile) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("bundle");
  Write(path, ManyEntries(1'000));
  const std::unique_ptr<BundleFile> bundle = *BundleFile::Open(path);
  std::vector<pid_t> children;
  for (int child = 0; child < 4; ++child) {
    const pid_t pid = fork();
    if (pid == 0) {
      // One half of the processes has the parent's map, the other one of its own.
      Result<std::unique_ptr<BundleFile>> own = BundleFile::Open(path);
      const BundleFile& mine = child % 2 == 0 ? *bundle : **own;
      bool is_found = true;
      for (int n = 0; n < 1'000; ++n) {
        is_found &= mine.Find(BundleQuery("form " + std::to_string(n % 100),
                                          "device " + std::to_string(n / 100)))
                        .ok();
      }
      _exit(is_found ? 0 : 1);
    }
    children.push_back(pid);
  }
  for (const pid_t pid : children) {
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
  }
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(path) != std::string::npos) {
      EXPECT_THAT(line, HasSubstr(" r--s "));
    }
  }
}

TEST(BundleFileTest, AnotherFileInItsPlaceLeavesTheMapAsItIs) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("bundle");
  Write(path, ManyEntries(10));
  const std::unique_ptr<BundleFile> bundle = *BundleFile::Open(path);
  Write(path + ".new", ManyEntries(0));
  std::filesystem::rename(path + ".new", path);
  EXPECT_TRUE(bundle->Find(BundleQuery("form 3", "device 0")).ok());
  EXPECT_EQ((*BundleFile::Open(path))->size(), 0u);
}

TEST(BundleFileTest, ManyThreadsFind) {
  const std::string bytes = ManyEntries(500);
  const std::unique_ptr<BundleFile> bundle =
      *BundleFile::FromBytes(bytes, BundleCheck::kWhenFirstUsed);
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int n = 0; n < 500; ++n) {
        EXPECT_TRUE(bundle
                        ->Find(BundleQuery("form " + std::to_string(n % 100),
                                           "device " + std::to_string(n / 100)))
                        .ok());
      }
    });
  }
}

}  // namespace
}  // namespace mdh::bundle_file_test
