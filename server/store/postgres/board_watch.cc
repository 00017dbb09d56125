#include "server/store/postgres/board_watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

// A server that is not there is not asked more often.
constexpr absl::Duration kReconnectWatch = absl::Milliseconds(200);

class PostgresBoardWatch final : public BoardWatch {
 public:
  PostgresBoardWatch(const PostgresPool& pool, std::string channel, int wake)
      : pool_(pool), channel_(std::move(channel)), wake_(wake) {}
  ~PostgresBoardWatch() override { close(wake_); }

  void Wait(absl::Duration timeout) override {
    if (!Listen().ok()) {
      timeout = std::min(timeout, kReconnectWatch);
      pollfd file = {.fd = wake_, .events = POLLIN, .revents = 0};
      poll(&file, 1, static_cast<int>(absl::ToInt64Milliseconds(timeout)));
    } else if (!connection_->AwaitNotice(wake_, timeout).ok()) {
      connection_.reset();
    }
    eventfd_t ignored = 0;
    eventfd_read(wake_, &ignored);
  }
  void Wake() override { eventfd_write(wake_, 1); }

  Status Listen() {
    if (connection_ != nullptr) return absl::OkStatus();
    MDH_ASSIGN_OR_RETURN(std::unique_ptr<PostgresConnection> connection, pool_.Connect());
    MDH_RETURN_IF_ERROR(connection->RunScript(absl::StrCat("LISTEN ", channel_)));
    connection_ = std::move(connection);
    // What came before it listened may be missing.
    Wake();
    return absl::OkStatus();
  }

 private:
  const PostgresPool& pool_;
  const std::string channel_;
  const int wake_;  // an eventfd
  std::unique_ptr<PostgresConnection> connection_;
};

}  // namespace

Result<std::unique_ptr<BoardWatch>> WatchChannel(const PostgresPool& pool, std::string channel) {
  const int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake < 0) return absl::ResourceExhaustedError("there is no descriptor for an event");
  auto watch = std::make_unique<PostgresBoardWatch>(pool, std::move(channel), wake);
  watch->Listen().IgnoreError();  // it is tried again with each wait
  return std::unique_ptr<BoardWatch>(std::move(watch));
}

}  // namespace mdh
