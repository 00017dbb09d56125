// Any bytes as a bundle: it is refused, or what it holds is found again, written and read again as
// it was; its records are checked as those of a client.
#include <cstdio>
#include <cstdlib>
#include <random>

#include "absl/time/time.h"
#include "proto/bundle_file.h"
#include "server/lookup/record_check.h"
#include "server/store/bundle.h"
#include "server/store/sqlite/sqlite_store.h"
#include "tests/fuzz/message_mutator.h"
#include "tests/server/old_bundle.h"
#include "tests/server/temporary_directory.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace mdh {
namespace {

std::string_view ToBytes(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

void Require(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

Store& EmptyStore() {
  static const TemporaryDirectory directory;
  static const std::unique_ptr<Store> store =
      *OpenSqliteStore({.path = directory.File("mdhd.sqlite")});
  return *store;
}

std::string WriteRecords(const Bundle& bundle) {
  std::vector<StoredResult> results;
  for (const v1::TuningRecord& record : bundle.records) results.push_back({record, v1::Kernel()});
  return WriteBundle(bundle.header, results);
}

// Whatever a reader that trusts the sums is given, it looks nowhere else.
void CheckFile(std::string_view bytes, BundleCheck check) {
  const Result<std::unique_ptr<BundleFile>> file = BundleFile::FromBytes(bytes, check);
  if (!file.ok()) {
    Require(absl::IsInvalidArgument(file.status()), file.status().ToString());
    return;
  }
  for (size_t number = 0; number < (*file)->size(); ++number) {
    const Result<BundleEntry> entry = (*file)->Entry(number);
    if (!entry.ok()) continue;
    const BundleQuery query(entry->canonical_form, entry->device_fingerprint,
                            entry->numerics_policy);
    const Result<BundleEntry> found = (*file)->Find(query);
    Require(!found.ok() || found->canonical_form == entry->canonical_form, "another was found");
  }
}

void Check(std::string_view bytes) {
  CheckFile(bytes, BundleCheck::kWhenOpened);
  CheckFile(bytes, BundleCheck::kWhenFirstUsed);
  const Result<Bundle> bundle = ReadBundle(bytes);
  if (!bundle.ok()) {
    Require(absl::IsInvalidArgument(bundle.status()), bundle.status().ToString());
    return;
  }
  const std::string written = WriteRecords(*bundle);
  const Result<Bundle> again = ReadBundle(written);
  Require(again.ok(), "what was written is refused: " + again.status().ToString());
  Require(WriteRecords(*again) == written, "the bundle has changed");
  for (const v1::TuningRecord& record : bundle->records) {
    const Status checked =
        CheckGivenRecord(record, ExpressionLimits(), EmptyStore(), absl::UnixEpoch()).status();
    Require(!absl::IsInternal(checked) && !absl::IsUnknown(checked), checked.ToString());
  }
}

// One byte of the index is changed, and the header's sum is right for it.
std::string WithWrongIndex(std::string bytes, std::minstd_rand& rng) {
  const auto entries = LoadLittleEndian<uint64_t>(&bytes[BundleLayout::Header::kEntriesAt]);
  const auto slots = LoadLittleEndian<uint64_t>(&bytes[BundleLayout::Header::kSlotsAt]);
  const auto info = LoadLittleEndian<uint64_t>(&bytes[BundleLayout::Header::kInfoBytesAt]);
  const uint64_t end = BundleLayout::RoundUp(BundleLayout::InfoAt(slots, entries) + info,
                                             BundleLayout::kContentsAlignment);
  const size_t index = BundleLayout::Header::kBytes;
  bytes[index + rng() % (end - index)] = static_cast<char>(rng());
  const Sha256::Sum sum = Sha256()
                              .Add({bytes.data(), BundleLayout::Header::kSumAt})
                              .Add({&bytes[index], end - index})
                              .Finish();
  std::copy(sum.begin(), sum.end(), &bytes[BundleLayout::Header::kSumAt]);
  return bytes;
}

}  // namespace
}  // namespace mdh

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  mdh::Check(mdh::ToBytes(data, size));
  return 0;
}

// Mostly changes of fields or of the index, with right checksums; sometimes of bytes.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  std::minstd_rand rng(seed);
  auto bundle = mdh::ReadBundle(mdh::ToBytes(data, size));
  if (!bundle.ok() || rng() % 16 == 0) return LLVMFuzzerMutate(data, size, max_size);
  const size_t one = rng() % (bundle->records.size() + 1);
  if (one == bundle->records.size()) {
    mdh::Mutate(rng(), &bundle->header);
  } else {
    for (unsigned int n = 0; n <= rng() % 3; ++n) mdh::Mutate(rng(), &bundle->records[one]);
  }
  std::string bytes = rng() % 8 == 0 ? mdh::WriteOldBundle(bundle->header, bundle->records)
                                     : mdh::WriteRecords(*bundle);
  if (bytes.starts_with(mdh::BundleLayout::kMagic) && rng() % 4 == 0) {
    bytes = mdh::WithWrongIndex(bytes, rng);
  }
  if (bytes.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  bytes.copy(reinterpret_cast<char*>(data), bytes.size());
  return bytes.size();
}
