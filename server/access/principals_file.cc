#include "server/access/principals_file.h"

#include <utility>

#include "server/operate/file_content.h"

namespace mdh {
namespace {

// More than tens of thousands of principals.
constexpr int64_t kMaxPrincipalsBytes = 4 << 20;

}  // namespace

Result<std::unique_ptr<PrincipalsFile>> PrincipalsFile::Open(std::string path,
                                                             TrustedUsers trusted) {
  std::unique_ptr<PrincipalsFile> file(new PrincipalsFile(std::move(path), std::move(trusted)));
  MDH_RETURN_IF_ERROR(file->Reload().status());
  return file;
}

Result<bool> PrincipalsFile::Reload() {
  MDH_ASSIGN_OR_RETURN(std::string text, ReadFileContent(path_, kMaxPrincipalsBytes, trusted_));
  absl::MutexLock lock(&mutex_);
  if (current_ != nullptr && text == text_) return false;
  text_ = std::move(text);
  Result<std::shared_ptr<const Principals>> parsed = Principals::Parse(text_);
  if (!parsed.ok()) return InvalidArgument(path_, ", ", parsed.status().message());
  current_ = *std::move(parsed);
  return true;
}

std::shared_ptr<const Principals> PrincipalsFile::current() const {
  absl::ReaderMutexLock lock(&mutex_);
  return current_;
}

}  // namespace mdh
