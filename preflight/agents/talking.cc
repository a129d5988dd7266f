// Crew, while a conversation goes on: bytes in and out.
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "preflight/agents/crew.h"

namespace chokepoint::preflight {
namespace {

// One that never stops sending has its turn, and then the others have theirs.
constexpr int kReadsInTurn = 16;

using Stage = Talk::Stage;

}  // namespace

void Crew::hear(HostIndex host) {
  for (int reads = 0; reads < kReadsInTurn && events_.empty(); ++reads) {
    Link& link = links_[host];
    const std::span<std::byte> into = link.talk->wanted();
    const ssize_t got = recv(link.fd.get(), into.data(), into.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
      return;
    }
    if (got < 0) {
      end(host, link.talk->failed(from_errno(errno, "receive", link.talk->peer())));
      return;
    }
    if (got == 0) {
      end(host, link.talk->closed());
      return;
    }
    if (!take(host, static_cast<std::size_t>(got))) {
      return;
    }
  }
}

// Whether the talk goes on.
bool Crew::take(HostIndex host, std::size_t count) {
  Link& link = links_[host];
  const Stage before = link.talk->stage();
  std::expected<Talk::Step, Ending> step = link.talk->took(count);
  if (!step) {
    end(host, std::move(step.error()));
    return false;
  }
  const Stage after = link.talk->stage();
  link.speak_by = step->heard ? Clock::time_point::max() : link.speak_by;
  if (before != after && after == Stage::Requesting) {
    link.deadline = Clock::now() + options_.getting_ready;
    no_longer_opening(link);
  } else if (before != after && after == Stage::Idle) {
    link.deadline = Clock::time_point::max();
  }
  if (step->event) {
    events_.push_back(std::move(*step->event));
  }
  if (!step->say.empty()) {
    say(host, std::move(step->say));
  }
  return links_[host].state == State::Talking;
}

void Crew::say(HostIndex host, std::string bytes) {
  Link& link = links_[host];
  link.outgoing = link.outgoing.empty() ? std::move(bytes) : link.outgoing + bytes;
  flush(host);
}

void Crew::flush(HostIndex host) {
  Link& link = links_[host];
  while (!link.outgoing.empty()) {
    const ssize_t sent = send(link.fd.get(), link.outgoing.data(), link.outgoing.size(),
                              MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) {
      continue;
    }
    // What else is wrong with it comes out when it is read, after what it still had to say.
    if (sent < 0) {
      break;
    }
    link.outgoing.erase(0, static_cast<std::size_t>(sent));
  }
  if (link.outgoing.empty()) {
    link.outgoing = {};
  }
  const bool waits = !link.outgoing.empty();
  if (waits != link.waits_to_send) {
    link.waits_to_send = waits;
    watch(host, waits ? EPOLLIN | EPOLLOUT : EPOLLIN, EPOLL_CTL_MOD);
  }
}

}  // namespace chokepoint::preflight
