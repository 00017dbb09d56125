#include "server/bundle.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/canonical.h"
#include "proto/error_details.h"

namespace mdh {
namespace {

constexpr std::string_view kMagic = "MDHBNDL1";
constexpr size_t kLengthBytes = 4;
constexpr size_t kChecksumBytes = 32;

Status BadBundle(const std::string& what) {
  return WithReason(InvalidField("data", absl::StrCat("the bundle ", what)), "BAD_BUNDLE");
}

// SHA-256 as bytes.
std::string Checksum(std::string_view bytes) {
  const std::string hex = Sha256Hex(std::string(bytes));
  std::string sum;
  for (size_t at = 0; at < hex.size(); at += 2) {
    sum.push_back(static_cast<char>(std::stoi(hex.substr(at, 2), nullptr, 16)));
  }
  return sum;
}

template <typename Message>
void AppendMessage(const Message& message, std::string& bytes) {
  const std::string body = message.SerializeAsString();
  for (size_t n = 0; n < kLengthBytes; ++n) {
    bytes.push_back(static_cast<char>(body.size() >> (8 * n) & 0xff));
  }
  bytes += body;
}

// Takes the next message from the front of `bytes`.
template <typename Message>
Result<Message> TakeMessage(std::string_view& bytes) {
  if (bytes.size() < kLengthBytes) return BadBundle("ends within a message");
  size_t length = 0;
  for (size_t n = 0; n < kLengthBytes; ++n) {
    length |= static_cast<size_t>(static_cast<unsigned char>(bytes[n])) << (8 * n);
  }
  bytes.remove_prefix(kLengthBytes);
  if (bytes.size() < length) return BadBundle("ends within a message");
  Message message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(length))) {
    return BadBundle("has a message that cannot be read");
  }
  bytes.remove_prefix(length);
  return message;
}

}  // namespace

std::string WriteBundle(v1::BundleHeader header, const std::vector<v1::TuningRecord>& records) {
  header.set_version(kBundleVersion);
  header.set_records(static_cast<int64_t>(records.size()));
  std::string bytes(kMagic);
  AppendMessage(header, bytes);
  for (const v1::TuningRecord& record : records) AppendMessage(record, bytes);
  bytes += Checksum(bytes);
  return bytes;
}

Result<Bundle> ReadBundle(std::string_view bytes) {
  if (bytes.substr(0, kMagic.size()) != kMagic) return BadBundle("does not begin as one");
  if (bytes.size() < kMagic.size() + kChecksumBytes) return BadBundle("is cut off");
  const std::string_view sum = bytes.substr(bytes.size() - kChecksumBytes);
  bytes.remove_suffix(kChecksumBytes);
  if (Checksum(bytes) != sum) return BadBundle("is damaged or cut off: its checksum is wrong");
  bytes.remove_prefix(kMagic.size());
  Bundle bundle;
  MDH_ASSIGN_OR_RETURN(bundle.header, TakeMessage<v1::BundleHeader>(bytes));
  if (bundle.header.version() < 1 || bundle.header.version() > kBundleVersion) {
    return BadBundle(absl::StrCat("is of version ", bundle.header.version(),
                                  ", this daemon reads versions up to ", kBundleVersion));
  }
  for (int64_t n = 0; n < bundle.header.records(); ++n) {
    MDH_ASSIGN_OR_RETURN(v1::TuningRecord record, TakeMessage<v1::TuningRecord>(bytes));
    bundle.records.push_back(std::move(record));
  }
  if (!bytes.empty()) return BadBundle("has bytes after its last record");
  return bundle;
}

}  // namespace mdh
