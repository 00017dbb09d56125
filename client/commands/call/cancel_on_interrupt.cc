#include "client/commands/call/cancel_on_interrupt.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

namespace mdh {
namespace {

constexpr char kInterrupted = 'i';
constexpr char kEnded = 'e';

// Written to by the signal handler, which can reach nothing else.
int interrupt_pipe[2] = {-1, -1};

void OnSignal(int) {
  const int saved_errno = errno;
  [[maybe_unused]] const ssize_t written = write(interrupt_pipe[1], &kInterrupted, 1);
  errno = saved_errno;
}

}  // namespace

CancelOnInterrupt::CancelOnInterrupt(std::function<void()> on_interrupt) {
  if (pipe2(interrupt_pipe, O_CLOEXEC) != 0) return;  // then Ctrl-C ends the program
  waiter_ = std::thread([on_interrupt = std::move(on_interrupt)] {
    char byte = kEnded;
    while (read(interrupt_pipe[0], &byte, 1) < 0 && errno == EINTR) {
    }
    if (byte == kInterrupted) on_interrupt();
  });
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

CancelOnInterrupt::~CancelOnInterrupt() {
  if (!waiter_.joinable()) return;
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  [[maybe_unused]] const ssize_t written = write(interrupt_pipe[1], &kEnded, 1);
  waiter_.join();
  close(interrupt_pipe[0]);
  close(interrupt_pipe[1]);
}

}  // namespace mdh
