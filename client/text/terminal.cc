#include "client/text/terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace mdh {
namespace {

constexpr const char* kEnter = "\033[?1049h\033[?25l";
constexpr const char* kLeave = "\033[?25h\033[?1049l";

volatile std::sig_atomic_t was_interrupted = 0;

void OnInterrupt(int) { was_interrupted = 1; }
void OnResize(int) {}  // poll() returns

void Catch(int signal, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;  // without SA_RESTART
  sigaction(signal, &action, nullptr);
}

}  // namespace

TerminalSize SizeOfTerminal(int fd) {
  winsize size = {};
  if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {.columns = size.ws_col, .rows = size.ws_row};
}

int ColumnsOfOutput(int fd) {
  constexpr int kAny = 1'000'000;
  return isatty(fd) != 0 ? SizeOfTerminal(fd).columns : kAny;
}

bool CanRewriteLines(int fd) {
  if (isatty(fd) == 0) return false;
  const char* terminal = std::getenv("TERM");
  return terminal != nullptr && *terminal != '\0' && std::strcmp(terminal, "dumb") != 0;
}

FullScreen::FullScreen() {
  tcgetattr(STDIN_FILENO, &before_);
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  Catch(SIGINT, OnInterrupt);
  Catch(SIGTERM, OnInterrupt);
  Catch(SIGWINCH, OnResize);
  std::fputs(kEnter, stdout);
  std::fflush(stdout);
}

FullScreen::~FullScreen() {
  std::fputs(kLeave, stdout);
  std::fflush(stdout);
  tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  for (const int signal : {SIGINT, SIGTERM, SIGWINCH}) std::signal(signal, SIG_DFL);
}

std::optional<char> FullScreen::ReadKey(int timeout_ms) const {
  pollfd input = {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  const int ready = was_interrupted ? 0 : poll(&input, 1, timeout_ms);
  if (was_interrupted) return 'q';
  char key = 0;
  if (ready <= 0) return std::nullopt;
  // A terminal that has gone away gives nothing.
  return read(STDIN_FILENO, &key, 1) == 1 ? key : 'q';
}

}  // namespace mdh
