#include "server/metrics/metrics_server.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <prometheus/text_serializer.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <list>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/operate/steady_time.h"
#include "tuner/process/file_descriptor.h"

namespace mdh {
namespace {

// The newest connections; for one more the oldest is ended.
constexpr size_t kMostConnections = 64;
// From the first byte of the connection to the last of the answer.
constexpr absl::Duration kLongestConnection = absl::Seconds(5);
constexpr size_t kMostRequestBytes = 8 << 10;

Status LastError(const std::string& address) {
  return Unavailable("cannot serve metrics on ", address, ": ", std::strerror(errno));
}

Result<FileDescriptor> Listen(const std::string& address) {
  const size_t colon = address.rfind(':');
  const std::string host(absl::StripSuffix(absl::StripPrefix(address.substr(0, colon), "["), "]"));
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int code = getaddrinfo(host.c_str(), address.substr(colon + 1).c_str(), &hints, &found);
  if (code != 0) return Unavailable("cannot serve metrics on ", address, ": ", gai_strerror(code));
  const absl::Cleanup free_found = [found] { freeaddrinfo(found); };
  FileDescriptor listener;
  for (const addrinfo* one = found; one != nullptr && !listener.valid(); one = one->ai_next) {
    FileDescriptor made(socket(one->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const int yes = 1;
    if (made.valid() && setsockopt(made.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
        bind(made.get(), one->ai_addr, one->ai_addrlen) == 0 &&
        listen(made.get(), SOMAXCONN) == 0) {
      listener = std::move(made);
    }
  }
  if (!listener.valid()) return LastError(address);
  return listener;
}

int PortOf(const FileDescriptor& listener) {
  sockaddr_storage bound = {};
  socklen_t size = sizeof bound;
  if (getsockname(listener.get(), reinterpret_cast<sockaddr*>(&bound), &size) != 0) return 0;
  return ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port
                                           : reinterpret_cast<sockaddr_in*>(&bound)->sin_port);
}

std::string Response(std::string_view status, std::string_view body) {
  return absl::StrCat("HTTP/1.1 ", std::string(status),
                      "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
                      "Content-Length: ",
                      body.size(), "\r\nConnection: close\r\n\r\n", std::string(body));
}

// A request that was read, and its answer as far as it has not been sent.
struct Connection {
  FileDescriptor socket;
  absl::Time end;
  std::string request = "";
  std::string answer = "";
  size_t sent = 0;

  bool is_answered() const { return !answer.empty(); }
};

// One thread serves all and waits for none of them.
class HttpMetricsServer : public MetricsServer {
 public:
  HttpMetricsServer(std::string host, std::shared_ptr<prometheus::Collectable> source,
                    FileDescriptor listener, FileDescriptor wake)
      : host_(std::move(host)),
        source_(std::move(source)),
        listener_(std::move(listener)),
        wake_(std::move(wake)),
        port_(PortOf(listener_)),
        thread_([this] { Serve(); }) {}

  ~HttpMetricsServer() override {
    eventfd_write(wake_.get(), 1);
    thread_.join();
  }

  std::string url() const override {
    return absl::StrCat("http://", host_, ":", port_, "/metrics");
  }

 private:
  void Serve() {
    while (true) {
      std::vector<pollfd> ready = {{.fd = wake_.get(), .events = POLLIN, .revents = 0},
                                   {.fd = listener_.get(), .events = POLLIN, .revents = 0}};
      absl::Time next = absl::InfiniteFuture();
      for (const Connection& connection : connections_) {
        const short events = connection.is_answered() ? POLLOUT : POLLIN;
        ready.push_back({.fd = connection.socket.get(), .events = events, .revents = 0});
        next = std::min(next, connection.end);
      }
      poll(ready.data(), ready.size(), Milliseconds(next));
      if (ready[0].revents != 0) return;
      size_t number = 2;
      for (auto one = connections_.begin(); one != connections_.end(); ++number) {
        const bool goes_on =
            (ready[number].revents == 0 || Continue(*one)) && SteadyTime() < one->end;
        one = goes_on ? std::next(one) : connections_.erase(one);
      }
      if (ready[1].revents != 0) Accept();
    }
  }

  // Until then; a little more, so that it is over when one wakes.
  static int Milliseconds(absl::Time then) {
    if (then == absl::InfiniteFuture()) return -1;
    return static_cast<int>(
        std::clamp<int64_t>(absl::ToInt64Milliseconds(then - SteadyTime()) + 1, 0, 10'000));
  }

  void Accept() {
    FileDescriptor socket(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket.valid()) {
      // Without a descriptor the connection waits; those that there are give theirs back.
      if (errno == EMFILE || errno == ENFILE) absl::SleepFor(absl::Milliseconds(10));
      return;
    }
    if (connections_.size() == kMostConnections) connections_.pop_front();
    connections_.push_back({.socket = std::move(socket), .end = SteadyTime() + kLongestConnection});
  }

  // False if it is over.
  bool Continue(Connection& connection) const {
    if (!connection.is_answered() && !Read(connection)) return false;
    return !connection.is_answered() || Write(connection);
  }

  bool Read(Connection& connection) const {
    std::array<char, 4096> piece = {};
    const ssize_t got = recv(connection.socket.get(), piece.data(), piece.size(), 0);
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    if (got == 0) return false;
    connection.request.append(piece.data(), static_cast<size_t>(got));
    if (connection.request.find("\r\n\r\n") != std::string::npos) {
      connection.answer = Answer(connection.request);
    } else if (connection.request.size() > kMostRequestBytes) {
      connection.answer = Response("431 Request Header Fields Too Large", "");
    }
    return true;
  }

  std::string Answer(std::string_view request) const {
    const std::string_view line = request.substr(0, request.find("\r\n"));
    if (!line.starts_with("GET ")) return Response("405 Method Not Allowed", "");
    const std::string_view target = line.substr(4, line.find_first_of(" ?", 4) - 4);
    if (target != "/metrics") return Response("404 Not Found", "see /metrics\n");
    return Response("200 OK", prometheus::TextSerializer().Serialize(source_->Collect()));
  }

  static bool Write(Connection& connection) {
    const std::string_view rest = std::string_view(connection.answer).substr(connection.sent);
    const ssize_t sent = send(connection.socket.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN || errno == EINTR;
    connection.sent += static_cast<size_t>(sent);
    return connection.sent < connection.answer.size();
  }

  const std::string host_;
  const std::shared_ptr<prometheus::Collectable> source_;
  const FileDescriptor listener_;
  const FileDescriptor wake_;
  const int port_;
  std::list<Connection> connections_;  // the oldest first; of the thread
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<MetricsServer>> MetricsServer::Start(
    const std::string& address, std::shared_ptr<prometheus::Collectable> source) {
  MDH_ASSIGN_OR_RETURN(FileDescriptor listener, Listen(address));
  FileDescriptor wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) return LastError(address);
  try {
    return std::make_unique<HttpMetricsServer>(address.substr(0, address.rfind(':')),
                                               std::move(source), std::move(listener),
                                               std::move(wake));
  } catch (const std::system_error& error) {
    return Unavailable("cannot serve metrics on ", address, ": ", error.what());
  }
}

}  // namespace mdh
