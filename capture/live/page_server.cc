#include "capture/live/page_server.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <list>
#include <new>
#include <utility>
#include <vector>

#include "base/net/socket.h"
#include "base/sys/thread.h"

namespace chokepoint::capture::live {
namespace {

using ServerClock = std::chrono::steady_clock;

constexpr std::chrono::seconds kClientTime{2};
constexpr std::chrono::milliseconds kRetryPause{100};  // where descriptors or memory are gone
constexpr std::size_t kMaxClients = 64;
constexpr std::size_t kMaxRequestBytes = 8192;
constexpr int kBacklog = 128;

std::string text_of(const Page& page, bool with_body) {
  return fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}",
      page.status, page.type, page.body.size(), with_body ? page.body : "");
}

class Client {
 public:
  Client(sys::Descriptor socket, ServerClock::time_point until)
      : socket_(std::move(socket)), until_(until) {}

  int socket() const { return socket_.get(); }
  short events() const { return is_sending() ? POLLOUT : POLLIN; }
  ServerClock::time_point until() const { return until_; }

  // Reads and sends what can be without waiting. False: its connection is over.
  bool go_on(const PageServer::Response& response) {
    return is_sending() ? send_rest() : receive(response);
  }

 private:
  bool is_sending() const { return sent_ < response_.size(); }
  bool has_response() const { return !response_.empty(); }

  bool receive(const PageServer::Response& response) {
    std::array<char, 2048> piece{};
    for (;;) {
      const ssize_t count = recv(socket(), piece.data(), piece.size(), MSG_DONTWAIT);
      if (count <= 0) {
        return count < 0 && (errno == EAGAIN || errno == EINTR);
      }
      if (has_response()) {
        continue;  // a reset, which unread bytes would cause, takes the response with it
      }
      request_.append(piece.data(), static_cast<std::size_t>(count));
      if (request_.find("\r\n\r\n") != std::string::npos || request_.size() > kMaxRequestBytes) {
        response_ = responded(response);
        return send_rest();
      }
    }
  }

  // "GET /metrics?x=1 HTTP/1.1"
  std::string responded(const PageServer::Response& response) const {
    const std::string_view line = std::string_view(request_).substr(0, request_.find("\r\n"));
    const std::size_t space = line.find(' ');
    const std::size_t end = space == std::string_view::npos ? space : line.find(' ', space + 1);
    if (end == std::string_view::npos || !line.substr(end).starts_with(" HTTP/1.") ||
        request_.find("\r\n\r\n") == std::string::npos) {
      return text_of({.status = "400 Bad Request", .body = "this is no request\n"}, true);
    }
    const std::string_view method = line.substr(0, space);
    const std::string_view target = line.substr(space + 1, end - space - 1);
    return text_of(response(method, target.substr(0, target.find('?'))), method != "HEAD");
  }

  bool send_rest() {
    while (is_sending()) {
      const ssize_t count = send(socket(), response_.data() + sent_, response_.size() - sent_,
                                 MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count < 0) {
        return errno == EAGAIN || errno == EINTR;
      }
      sent_ += static_cast<std::size_t>(count);
    }
    shutdown(socket(), SHUT_WR);
    return true;
  }

  sys::Descriptor socket_;
  ServerClock::time_point until_;
  std::string request_;
  std::string response_;
  std::size_t sent_ = 0;
};

class Serving {
 public:
  Serving(int listener, int stop, const PageServer::Response& response)
      : listener_(listener), stop_(stop), response_(response) {}

  void run() {
    while (!has_ended_) {
      try {
        turn();
      } catch (const std::bad_alloc&) {
        clients_.clear();
        paused_until_ = ServerClock::now() + kRetryPause;
      }
    }
  }

 private:
  void turn() {
    std::vector<pollfd> watched{{stop_, POLLIN, 0}, {listener_, POLLIN, 0}};
    watched[1].fd = ServerClock::now() < paused_until_ ? -1 : listener_;
    for (const Client& client : clients_) {
      watched.push_back({client.socket(), client.events(), 0});
    }
    poll(watched.data(), watched.size(), wait_ms());
    if (watched[0].revents != 0) {
      has_ended_ = true;
      return;
    }
    std::size_t place = 2;
    const auto now = ServerClock::now();
    std::erase_if(clients_, [&](Client& client) {
      const bool is_ready = watched[place++].revents != 0;
      return client.until() <= now || (is_ready && !client.go_on(response_));
    });
    if (watched[1].revents != 0) {
      take_new();
    }
  }

  int wait_ms() const {
    const auto now = ServerClock::now();
    auto next = paused_until_ > now ? paused_until_ : ServerClock::time_point::max();
    if (!clients_.empty()) {
      next = std::min(next, clients_.front().until());
    }
    if (next == ServerClock::time_point::max()) {
      return -1;
    }
    return static_cast<int>(std::max<std::int64_t>(
        std::chrono::ceil<std::chrono::milliseconds>(next - now).count(), 0));
  }

  // One, so that those who are there get their turn between two new ones.
  void take_new() {
    Result<std::optional<sys::Descriptor>> accepted = net::accept(listener_);
    if (!accepted) {
      // No descriptor is left: neither for this one, nor a reason to turn without a pause.
      paused_until_ = ServerClock::now() + kRetryPause;
      if (!clients_.empty()) {
        clients_.pop_front();
      }
      return;
    }
    if (!*accepted) {
      return;
    }
    if (clients_.size() == kMaxClients) {
      clients_.pop_front();
    }
    clients_.emplace_back(std::move(**accepted), ServerClock::now() + kClientTime);
    if (!clients_.back().go_on(response_)) {
      clients_.pop_back();
    }
  }

  int listener_;
  int stop_;
  const PageServer::Response& response_;
  std::list<Client> clients_;  // the one that has been there longest first
  ServerClock::time_point paused_until_ = {};
  bool has_ended_ = false;
};

}  // namespace

PageServer::PageServer(sys::Descriptor listener, sys::Descriptor stop, Response response, int port)
    : listener_(std::move(listener)),
      stop_(std::move(stop)),
      response_(std::move(response)),
      port_(port) {}

PageServer::~PageServer() {
  eventfd_write(stop_.get(), 1);
  if (thread_.joinable()) {
    thread_.join();
  }
}

Result<std::unique_ptr<PageServer>> PageServer::start(const net::Endpoint& endpoint,
                                                      Response response) {
  TRY(sys::Descriptor listener, net::listen(endpoint, kBacklog, {}));
  TRY(const net::Endpoint bound, net::local_endpoint(listener.get()));
  sys::Descriptor stop(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop) {
    return fail(from_errno(errno, "", "eventfd"));
  }
  std::unique_ptr<PageServer> server(
      new PageServer(std::move(listener), std::move(stop), std::move(response), bound.port));
  TRY(server->thread_, sys::start_thread("pages", [server = server.get()] {
        Serving(server->listener_.get(), server->stop_.get(), server->response_).run();
      }));
  return server;
}

}  // namespace chokepoint::capture::live
