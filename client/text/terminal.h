// The terminal that a command runs in: its size, keys, the alternate screen.
#pragma once

#include <termios.h>

#include <cstdint>
#include <optional>

namespace mdh {

struct TerminalSize {
  int columns = 80;
  int rows = 24;
};

// Of the terminal behind a file descriptor; the default if there is none or it does not say.
TerminalSize SizeOfTerminal(int fd);

// Columns that lines on `fd` may have: those of its terminal; of a file or pipe, where nothing is
// shortened, more than any text has.
int ColumnsOfOutput(int fd);

// Whether lines on `fd` can be written over: it is a terminal, and one that moves its cursor.
bool CanRewriteLines(int fd);

// Takes the terminal over: the alternate screen, no cursor, keys without a newline. All is as it
// was when this is destroyed, also after SIGINT and SIGTERM, which ReadKey reports as 'q'. Not
// thread-safe; one at a time.
class FullScreen {
 public:
  // Expects that standard input and output are terminals.
  FullScreen();
  ~FullScreen();
  FullScreen(const FullScreen&) = delete;
  FullScreen& operator=(const FullScreen&) = delete;

  // The next key, or nullopt if none came in so many milliseconds or the size has changed.
  std::optional<char> ReadKey(int timeout_ms) const;

 private:
  termios before_ = {};
};

}  // namespace mdh
