#include "tests/preflight/crowd/crowd.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/net/socket.h"
#include "base/sys/descriptor.h"
#include "tests/preflight/crowd/answers.h"

namespace chokepoint::preflight::crowd {
namespace {

constexpr int kBacklog = 4096;
constexpr std::size_t kBatch = 256;
constexpr int kIdleMs = 5;

Result<> add(int epoll, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0
             ? fail(from_errno(errno, "watch", "connection"))
             : Result<>{};
}

}  // namespace

Result<std::unique_ptr<Crowd>> Crowd::start(CrowdOptions options) {
  sys::raise_descriptor_limit();
  Result<sys::Descriptor> listener =
      net::listen({.address = net::Address::v4({INADDR_ANY}), .port = options.port}, kBacklog, {});
  if (!listener) {
    return std::unexpected(listener.error());
  }
  const Result<net::Endpoint> local = net::local_endpoint(listener->get());
  sys::Descriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  sys::Descriptor stop(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!local || !add(epoll.get(), listener->get()) || !add(epoll.get(), stop.get())) {
    return fail(from_errno(errno, "start", "crowd"));
  }
  std::unique_ptr<Crowd> crowd(new Crowd(std::move(options), std::move(*listener), std::move(epoll),
                                         std::move(stop), local->port));
  crowd->thread_ = std::thread([raw = crowd.get()] { raw->run(); });
  return crowd;
}

Crowd::Crowd(CrowdOptions options, sys::Descriptor listener, sys::Descriptor epoll,
             sys::Descriptor stop, std::uint16_t port)
    : options_(std::move(options)),
      setting_{
          .network = options_.network, .key = options_.key, .time_factor = options_.time_factor},
      listener_(std::move(listener)),
      epoll_(std::move(epoll)),
      stop_(std::move(stop)),
      port_(port) {}

Crowd::~Crowd() {
  const std::uint64_t one = 1;
  std::ignore = write(stop_.get(), &one, sizeof(one));
  thread_.join();
}

std::vector<net::HostPort> Crowd::hosts() const {
  std::vector<net::HostPort> hosts;
  for (HostIndex host = 0; host < options_.hosts; ++host) {
    hosts.push_back({.host = address_of(host), .port = port_});
  }
  return hosts;
}

void Crowd::run() {
  std::array<epoll_event, kBatch> events{};
  while (true) {
    const int wait = due_.empty() ? 10 * kIdleMs : options_.time_factor > 0 ? 1 : 0;
    const int count = epoll_wait(epoll_.get(), events.data(), kBatch, wait);
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events.at(static_cast<std::size_t>(i));
      if (event.data.fd == stop_.get()) {
        return;
      }
      if (event.data.fd == listener_.get()) {
        take_in();
      } else {
        handle(event.data.fd, event.events);
      }
    }
    tick(Clock::now());
    count_ = places_.size();
  }
}

// Whoever comes over the network is none of ours.
void Crowd::take_in() {
  while (true) {
    Result<std::optional<sys::Descriptor>> fd = net::accept(listener_.get());
    if (!fd || !*fd) {
      return;
    }
    const Result<net::Endpoint> local = net::local_endpoint((*fd)->get());
    const HostIndex host = local ? host_at(local->address.text()) : UINT32_MAX;
    if (host >= options_.hosts || !add(epoll_.get(), (*fd)->get())) {
      continue;
    }
    const auto behaviour = options_.behaviours.find(host);
    const int number = (*fd)->get();
    Place& place = places_
                       .emplace(number, Place{.fd = std::move(**fd),
                                              .host = host,
                                              .guest = Guest(setting_, host,
                                                             behaviour == options_.behaviours.end()
                                                                 ? Behaviour::Good
                                                                 : behaviour->second)})
                       .first->second;
    if (!say(place, place.guest.greeting())) {
      remove(number);
    }
  }
}

void Crowd::handle(int fd, std::uint32_t events) {
  const auto found = places_.find(fd);
  if (found == places_.end()) {
    return;
  }
  Place& place = found->second;
  const bool hears = (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0U && place.guest.reads();
  const bool gone = (events & (EPOLLHUP | EPOLLERR)) != 0U && !place.guest.reads();
  if (gone || !flush(place) || (hears && !hear(place))) {
    remove(fd);
  }
}

bool Crowd::hear(Place& place) {
  while (place.guest.reads()) {
    const std::span<std::byte> into = place.guest.wanted();
    const ssize_t got = recv(place.fd.get(), into.data(), into.size(), MSG_DONTWAIT);
    if (got < 0) {
      return errno == EAGAIN || errno == EINTR;
    }
    if (got == 0 || !say(place, place.guest.took(static_cast<std::size_t>(got)))) {
      return false;
    }
  }
  watch(place);
  return true;
}

bool Crowd::say(Place& place, std::string bytes) {
  place.outgoing += bytes;
  note(place);
  return flush(place);
}

void Crowd::note(Place& place) {
  if (place.guest.due() || (place.guest.is_slow() && !place.outgoing.empty())) {
    due_.push_back(place.fd.get());
  }
  const bool is_crossing = place.guest.is_crossing();
  crossing_ += static_cast<int>(is_crossing) - static_cast<int>(place.is_crossing);
  place.is_crossing = is_crossing;
}

bool Crowd::flush(Place& place) {
  while (!place.outgoing.empty()) {
    const std::size_t most = place.guest.is_slow() ? 1 : place.outgoing.size();
    const ssize_t sent =
        send(place.fd.get(), place.outgoing.data(), most, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      break;
    }
    place.outgoing.erase(0, static_cast<std::size_t>(sent));
    if (place.guest.is_slow()) {
      break;
    }
  }
  if (place.guest.is_over() && place.outgoing.empty()) {
    return false;
  }
  watch(place);
  return true;
}

void Crowd::watch(Place& place) const {
  const bool sends = !place.outgoing.empty() && !place.guest.is_slow();
  const std::uint32_t wanted = (place.guest.reads() ? EPOLLIN : 0U) | (sends ? EPOLLOUT : 0U);
  if (wanted == std::exchange(place.watched, wanted)) {
    return;
  }
  epoll_event event{};
  event.events = wanted;
  event.data.fd = place.fd.get();
  std::ignore = epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, place.fd.get(), &event);
}

void Crowd::tick(Clock::time_point now) {
  std::vector<int> due = std::exchange(due_, {});
  std::ranges::sort(due);
  due.erase(std::ranges::unique(due).begin(), due.end());
  for (const int fd : due) {
    const auto found = places_.find(fd);
    if (found == places_.end()) {
      continue;
    }
    Place& place = found->second;
    const bool is_due = place.guest.due() && *place.guest.due() <= now;
    if (!say(place, is_due ? place.guest.tick(crossing_) : std::string())) {
      remove(fd);
    }
  }
  if (const std::int64_t victim = victim_.exchange(-1); victim >= 0) {
    const auto found =
        std::ranges::find_if(places_, [&](const auto& each) { return each.second.host == victim; });
    if (found != places_.end()) {
      remove(found->first);
    }
  }
}

void Crowd::remove(int fd) {
  const auto found = places_.find(fd);
  crossing_ -= static_cast<int>(found->second.is_crossing);
  places_.erase(found);
}

}  // namespace chokepoint::preflight::crowd
