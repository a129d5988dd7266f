#include "base/net/page_server.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <list>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "base/net/socket.h"
#include "base/sys/thread.h"

namespace chokepoint::net {

// Responses on their way to the server's thread.
struct PageReply::Letterbox {
  std::mutex mutex;
  std::vector<std::pair<std::uint64_t, Page>> pages;
  sys::Descriptor news;  // an eventfd
};

void PageReply::operator()(Page page) const {
  {
    const std::scoped_lock lock(letterbox_->mutex);
    letterbox_->pages.emplace_back(client_, std::move(page));
  }
  eventfd_write(letterbox_->news.get(), 1);
}

namespace {

using ServerClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kRetryPause{100};  // where descriptors or memory are gone
constexpr std::size_t kMaxClients = 64;
constexpr std::size_t kMaxRequestBytes = 8192;
constexpr int kBacklog = 128;
constexpr std::string_view kEndOfLine = "\r\n";
constexpr std::string_view kEndOfHead = "\r\n\r\n";

std::string text_of(const Page& page, bool with_body) {
  return fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n{}\r\n{}",
      page.status, page.type, page.body.size(), page.headers, with_body ? page.body : "");
}

// "GET /metrics?x=1 HTTP/1.1" and lines of headers; nothing where it is no request.
std::optional<PageRequest> request_in(std::string_view text) {
  const std::size_t head = text.find(kEndOfHead);
  const std::string_view line = text.substr(0, text.find(kEndOfLine));
  const std::size_t space = line.find(' ');
  const std::size_t end = space == std::string_view::npos ? space : line.find(' ', space + 1);
  if (head == std::string_view::npos || end == std::string_view::npos ||
      !line.substr(end).starts_with(" HTTP/1.")) {
    return std::nullopt;
  }
  const std::string_view target = line.substr(space + 1, end - space - 1);
  const std::size_t question = std::min(target.find('?'), target.size());
  return PageRequest{.method = line.substr(0, space),
                     .path = target.substr(0, question),
                     .query = target.substr(std::min(question + 1, target.size())),
                     .lines = text.substr(line.size(), head + kEndOfLine.size() - line.size())};
}

class Client {
 public:
  Client(std::uint64_t id, sys::Descriptor socket, ServerClock::time_point until)
      : id_(id), socket_(std::move(socket)), until_(until) {}

  std::uint64_t id() const { return id_; }
  int socket() const { return socket_.get(); }
  short events() const { return is_sending() ? POLLOUT : POLLIN; }
  ServerClock::time_point until() const { return until_; }
  bool is_waiting() const { return is_asked_ && response_.empty(); }

  // Reads and sends what can be without waiting. False: its connection is over.
  bool go_on() { return is_sending() ? send_rest() : receive(); }

  // The request that has become whole; once.
  bool has_request() { return std::exchange(has_request_, false); }
  std::string_view request() const { return request_; }
  void wait_for_response() {
    is_asked_ = true;
    until_ = ServerClock::time_point::max();
  }
  // False: its connection is over.
  bool respond(const Page& page, std::chrono::milliseconds time) {
    if (!response_.empty()) {
      return true;
    }
    until_ = ServerClock::now() + time;
    response_ = text_of(page, !request_.starts_with("HEAD "));
    return send_rest();
  }

 private:
  bool is_sending() const { return sent_ < response_.size(); }
  bool is_whole() const { return request_.contains(kEndOfHead); }

  bool receive() {
    std::array<char, 2048> piece{};
    for (;;) {
      const ssize_t count = recv(socket(), piece.data(), piece.size(), MSG_DONTWAIT);
      if (count <= 0) {
        return count < 0 && (errno == EAGAIN || errno == EINTR);
      }
      if (is_asked_ || !response_.empty()) {
        continue;  // a reset, which unread bytes would cause, takes the response with it
      }
      request_.append(piece.data(), static_cast<std::size_t>(count));
      if (is_whole() || request_.size() > kMaxRequestBytes) {
        has_request_ = true;
        return true;
      }
    }
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

  std::uint64_t id_;
  sys::Descriptor socket_;
  ServerClock::time_point until_;
  std::string request_;
  std::string response_;
  std::size_t sent_ = 0;
  bool has_request_ = false;
  bool is_asked_ = false;
};

class Serving {
 public:
  struct Parts {
    int listener = -1;
    int stop = -1;
    const PageServer::Response& response;
    std::chrono::milliseconds client_time = {};
    std::shared_ptr<PageReply::Letterbox> letterbox = {};
  };

  explicit Serving(Parts parts) : parts_(std::move(parts)) {}

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
  static constexpr std::size_t kOwn = 3;  // descriptors before those of clients

  void turn() {
    std::vector<pollfd> watched{{parts_.stop, POLLIN, 0},
                                {parts_.letterbox->news.get(), POLLIN, 0},
                                {parts_.listener, POLLIN, 0}};
    watched[2].fd = ServerClock::now() < paused_until_ ? -1 : parts_.listener;
    for (const Client& client : clients_) {
      watched.push_back({client.socket(), client.events(), 0});
    }
    poll(watched.data(), watched.size(), wait_ms());
    if (watched[0].revents != 0) {
      has_ended_ = true;
      return;
    }
    std::size_t place = kOwn;
    const auto now = ServerClock::now();
    std::erase_if(clients_, [&](Client& client) {
      const bool is_ready = watched[place++].revents != 0;
      return client.until() <= now || (is_ready && !go_on(client));
    });
    if (watched[2].revents != 0) {
      take_new();
    }
    send_responses();
  }

  bool go_on(Client& client) {
    if (!client.go_on()) {
      return false;
    }
    if (!client.has_request()) {
      return true;
    }
    const std::optional<PageRequest> request = request_in(client.request());
    if (!request) {
      return client.respond({.status = "400 Bad Request", .body = "this is no request\n"},
                            parts_.client_time);
    }
    client.wait_for_response();
    parts_.response(*request, PageReply(parts_.letterbox, client.id()));
    return true;
  }

  void send_responses() {
    eventfd_t ignored = 0;
    eventfd_read(parts_.letterbox->news.get(), &ignored);
    std::vector<std::pair<std::uint64_t, Page>> pages;
    {
      const std::scoped_lock lock(parts_.letterbox->mutex);
      pages.swap(parts_.letterbox->pages);
    }
    for (const auto& [id, page] : pages) {
      const auto client = std::ranges::find(clients_, id, &Client::id);
      if (client != clients_.end() && !client->respond(page, parts_.client_time)) {
        clients_.erase(client);
      }
    }
  }

  int wait_ms() const {
    const auto now = ServerClock::now();
    auto next = paused_until_ > now ? paused_until_ : ServerClock::time_point::max();
    for (const Client& client : clients_) {
      next = std::min(next, client.until());
    }
    if (next == ServerClock::time_point::max()) {
      return -1;
    }
    return static_cast<int>(std::max<std::int64_t>(
        std::chrono::ceil<std::chrono::milliseconds>(next - now).count(), 0));
  }

  // The one that has been there longest, of those that wait for nothing if there are any.
  void drop_one() {
    const auto first = std::ranges::find_if_not(clients_, &Client::is_waiting);
    if (!clients_.empty()) {
      clients_.erase(first == clients_.end() ? clients_.begin() : first);
    }
  }

  // One, so that those who are there get their turn between two new ones.
  void take_new() {
    Result<std::optional<sys::Descriptor>> accepted = accept(parts_.listener);
    if (!accepted) {
      // No descriptor is left: neither for this one, nor a reason to turn without a pause.
      paused_until_ = ServerClock::now() + kRetryPause;
      drop_one();
      return;
    }
    if (!*accepted) {
      return;
    }
    if (clients_.size() == kMaxClients) {
      drop_one();
    }
    clients_.emplace_back(next_id_++, std::move(**accepted),
                          ServerClock::now() + parts_.client_time);
    if (!go_on(clients_.back())) {
      clients_.pop_back();
    }
  }

  Parts parts_;
  std::list<Client> clients_;  // the one that has been there longest first
  std::uint64_t next_id_ = 0;
  ServerClock::time_point paused_until_ = {};
  bool has_ended_ = false;
};

}  // namespace

bool is_same_name(std::string_view one, std::string_view other) {
  const auto lower = [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  };
  return std::ranges::equal(one, other, {}, lower, lower);
}

std::optional<std::string_view> PageRequest::header(std::string_view name) const {
  constexpr std::string_view kSpace = " \t";
  std::optional<std::string_view> found;
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = std::min(lines.find(kEndOfLine, at), lines.size());
    const std::string_view line = lines.substr(at, end - at);
    at = end + kEndOfLine.size();
    if (line.size() <= name.size() || line[name.size()] != ':' ||
        !is_same_name(line.substr(0, name.size()), name)) {
      continue;
    }
    if (found) {
      return std::nullopt;
    }
    const std::string_view value = line.substr(name.size() + 1);
    const std::size_t first = std::min(value.find_first_not_of(kSpace), value.size());
    found = value.substr(first, value.find_last_not_of(kSpace) + 1 - first);
  }
  return found;
}

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

Result<std::unique_ptr<PageServer>> PageServer::start(const Endpoint& endpoint, Response response,
                                                      std::chrono::milliseconds client_time) {
  TRY(sys::Descriptor listener, listen(endpoint, kBacklog, {}));
  TRY(const Endpoint bound, local_endpoint(listener.get()));
  sys::Descriptor stop(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  auto letterbox = std::make_shared<PageReply::Letterbox>();
  letterbox->news = sys::Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop || !letterbox->news) {
    return fail(from_errno(errno, "", "eventfd"));
  }
  std::unique_ptr<PageServer> server(
      new PageServer(std::move(listener), std::move(stop), std::move(response), bound.port));
  TRY(server->thread_, sys::start_thread("pages", [server = server.get(), client_time, letterbox] {
        Serving({.listener = server->listener_.get(),
                 .stop = server->stop_.get(),
                 .response = server->response_,
                 .client_time = client_time,
                 .letterbox = letterbox})
            .run();
      }));
  return server;
}

}  // namespace chokepoint::net
