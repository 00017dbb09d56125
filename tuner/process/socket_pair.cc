#include "tuner/process/socket_pair.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace mdh {

Result<SocketPair> SocketPair::Make() {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
    return ResourceExhausted("cannot make a socket for a process: ", std::strerror(errno));
  }
  return SocketPair{FileDescriptor(pair[0]), FileDescriptor(pair[1])};
}

}  // namespace mdh
