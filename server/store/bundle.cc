#include "server/store/bundle.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/sha256.h"
#include "proto/bundle_file.h"
#include "proto/bundle_layout.h"
#include "proto/bundle_writer.h"
#include "proto/error_details.h"

namespace mdh {
namespace {

constexpr std::string_view kStreamMagic = "MDHBNDL1";
constexpr int kStreamVersion = 1;
constexpr size_t kLengthBytes = 4;
constexpr size_t kChecksumBytes = 32;

Status BadBundle(const std::string& message) {
  return WithReason(InvalidField("data", message), "BAD_BUNDLE");
}

Status BadStream(const std::string& what) { return BadBundle(absl::StrCat("the bundle ", what)); }

// Takes the next message from the front of `bytes`.
template <typename Message>
Result<Message> TakeMessage(std::string_view& bytes) {
  if (bytes.size() < kLengthBytes) return BadStream("ends within a message");
  const size_t length = LoadLittleEndian<uint32_t>(bytes.data());
  bytes.remove_prefix(kLengthBytes);
  if (bytes.size() < length) return BadStream("ends within a message");
  Message message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(length))) {
    return BadStream("has a message that cannot be read");
  }
  bytes.remove_prefix(length);
  return message;
}

// The format of version 1.
Result<Bundle> ReadStream(std::string_view bytes) {
  if (bytes.size() < kStreamMagic.size() + kChecksumBytes) return BadStream("is cut off");
  const std::string_view sum = bytes.substr(bytes.size() - kChecksumBytes);
  bytes.remove_suffix(kChecksumBytes);
  const Sha256::Sum computed = Sha256::Of({bytes.data(), bytes.size()});
  if (sum != std::string_view(reinterpret_cast<const char*>(computed.data()), computed.size())) {
    return BadStream("is damaged or cut off: its checksum is wrong");
  }
  bytes.remove_prefix(kStreamMagic.size());
  Bundle bundle;
  MDH_ASSIGN_OR_RETURN(bundle.header, TakeMessage<v1::BundleHeader>(bytes));
  if (bundle.header.version() != kStreamVersion) {
    return BadStream(absl::StrCat("is of version ", bundle.header.version(),
                                  ", this daemon reads versions up to ", kBundleVersion));
  }
  for (int64_t n = 0; n < bundle.header.records(); ++n) {
    MDH_ASSIGN_OR_RETURN(v1::TuningRecord record, TakeMessage<v1::TuningRecord>(bytes));
    bundle.records.push_back(std::move(record));
  }
  if (!bytes.empty()) return BadStream("has bytes after its last record");
  return bundle;
}

Result<Bundle> ReadFile(std::string_view bytes) {
  const Result<std::unique_ptr<BundleFile>> file = BundleFile::FromBytes(bytes);
  if (!file.ok()) return BadBundle(std::string(file.status().message()));
  Bundle bundle;
  const std::string_view info = (*file)->info();
  if (!bundle.header.ParseFromArray(info.data(), static_cast<int>(info.size()))) {
    return BadStream("has a header that cannot be read");
  }
  for (size_t number = 0; number < (*file)->size(); ++number) {
    MDH_ASSIGN_OR_RETURN(const BundleEntry entry, (*file)->Entry(number));
    v1::TuningRecord record;
    if (!record.ParseFromArray(entry.record.data(), static_cast<int>(entry.record.size()))) {
      return BadStream(absl::StrCat("has a record that cannot be read: ", number));
    }
    bundle.records.push_back(std::move(record));
  }
  return bundle;
}

}  // namespace

std::string WriteBundle(v1::BundleHeader header, const std::vector<StoredResult>& results) {
  header.set_version(kBundleVersion);
  header.set_records(static_cast<int64_t>(results.size()));
  std::vector<BundleItem> items;
  for (const StoredResult& result : results) {
    const v1::KernelKey& key = result.record.key();
    items.push_back(
        {BundleQuery(key.canonical_form(), key.device_fingerprint(), key.numerics_policy())
             .WithCode(key.compiler(), key.generator_version()),
         result.record.SerializeAsString(),
         result.kernel.name().empty() ? std::string() : result.kernel.SerializeAsString()});
  }
  return WriteBundleFile(header.SerializeAsString(), std::move(items));
}

Result<Bundle> ReadBundle(std::string_view bytes) {
  return bytes.substr(0, kStreamMagic.size()) == kStreamMagic ? ReadStream(bytes) : ReadFile(bytes);
}

}  // namespace mdh
