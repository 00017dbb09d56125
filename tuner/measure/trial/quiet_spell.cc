#include "tuner/measure/trial/quiet_spell.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "tuner/process/child_process.h"

namespace mdh {
namespace {

constexpr char kReady = 'r';   // from the child: it is about to call
constexpr char kBegin = 'b';   // to the child: it may
constexpr char kCalled = 'c';  // from the child: it has

}  // namespace

QuietSpell::QuietSpell(FileDescriptor socket, const OtherWork& other_work)
    : socket_(std::move(socket)), fd_(socket_.get()), other_work_(other_work) {}

QuietSpell::~QuietSpell() { End(); }

absl::Span<const int> QuietSpell::sockets() const {
  return phase_ == Phase::kAfter ? absl::Span<const int>() : absl::Span<const int>(&fd_, 1);
}

void QuietSpell::Hear() {
  if (phase_ == Phase::kAfter) return;
  char said = 0;
  const ssize_t received = recv(fd_, &said, 1, MSG_DONTWAIT);
  if (received < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (received == 1 && said == kReady && phase_ == Phase::kBefore) {
    other_work_.pause();
    phase_ = Phase::kQuiet;
    send(fd_, &kBegin, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    return;
  }
  // The end of the calls or of the child, or nothing that a child would say.
  End();
}

void QuietSpell::End() {
  if (phase_ == Phase::kQuiet) other_work_.resume();
  // So that a child that gets no answer any more does not wait for one.
  if (phase_ != Phase::kAfter) shutdown(fd_, SHUT_WR);
  phase_ = Phase::kAfter;
}

bool AwaitQuiet() {
  if (send(kChildSocket, &kReady, 1, MSG_NOSIGNAL) != 1) return false;
  char answer = 0;
  while (true) {
    const ssize_t received = read(kChildSocket, &answer, 1);
    if (received == 1) {
      // What a kernel writes there must not wait until somebody reads it.
      fcntl(kChildSocket, F_SETFL, fcntl(kChildSocket, F_GETFL) | O_NONBLOCK);
      return true;
    }
    if (received == 0 || errno != EINTR) return false;
  }
}

void EndQuiet() {
  // Nobody waits for an answer, and whoever does not hear it hears the end of the process.
  [[maybe_unused]] const ssize_t sent =
      send(kChildSocket, &kCalled, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace mdh
