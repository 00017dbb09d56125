// Any bytes as a bundle: it is refused, or what it holds is written and read again as it was; its
// records are checked as those of a client.
#include <cstdio>
#include <cstdlib>
#include <random>

#include "absl/time/time.h"
#include "server/bundle.h"
#include "server/record_check.h"
#include "server/sqlite_store.h"
#include "tests/fuzz/message_mutator.h"
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

void Check(std::string_view bytes) {
  const Result<Bundle> bundle = ReadBundle(bytes);
  if (!bundle.ok()) {
    Require(absl::IsInvalidArgument(bundle.status()), bundle.status().ToString());
    return;
  }
  const std::string written = WriteBundle(bundle->header, bundle->records);
  const Result<Bundle> again = ReadBundle(written);
  Require(again.ok(), "what was written is refused: " + again.status().ToString());
  Require(WriteBundle(again->header, again->records) == written, "the bundle has changed");
  for (const v1::TuningRecord& record : bundle->records) {
    const Status checked =
        CheckGivenRecord(record, ExpressionLimits(), EmptyStore(), absl::UnixEpoch()).status();
    Require(!absl::IsInternal(checked) && !absl::IsUnknown(checked), checked.ToString());
  }
}

}  // namespace
}  // namespace mdh

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  mdh::Check(mdh::ToBytes(data, size));
  return 0;
}

// Mostly changes of fields, with a right checksum; sometimes of bytes.
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
  const std::string bytes = mdh::WriteBundle(bundle->header, bundle->records);
  if (bytes.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  bytes.copy(reinterpret_cast<char*>(data), bytes.size());
  return bytes.size();
}
