#include "preflight/agents/crew.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/control/channel.h"
#include "base/net/patience.h"
#include "base/sys/descriptor.h"

namespace chokepoint::preflight {
namespace {

constexpr std::uint64_t kLookups = UINT64_MAX;
constexpr std::chrono::milliseconds kLook{100};
constexpr std::chrono::milliseconds kHeldUp{500};

}  // namespace

Result<std::unique_ptr<Crew>> Crew::make(CrewOptions options) {
  // Else hosts that are well would be those that do not answer.
  TRY(sys::want_descriptors(options.hosts.size()));
  options.socket.mss = control::kSegmentBytes;
  TRY(Lookups lookups, Lookups::make(options.resolve, options.family));
  sys::Descriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kLookups;
  if (!epoll || epoll_ctl(epoll.get(), EPOLL_CTL_ADD, lookups.descriptor(), &event) < 0) {
    return fail(from_errno(errno, "call the agents", "epoll"));
  }
  return std::unique_ptr<Crew>(new Crew(std::move(options), std::move(lookups), std::move(epoll)));
}

Crew::Crew(CrewOptions options, Lookups lookups, sys::Descriptor epoll)
    : options_(std::move(options)),
      lookups_(std::move(lookups)),
      epoll_(std::move(epoll)),
      links_(options_.hosts.size()) {}

// Agents understand a connection that just ends, so nobody waits for the goodbye to get through.
Crew::~Crew() {
  static const std::string goodbye =
      control::encode({control::Type::Stop}) + control::encode({control::Type::Bye});
  for (const Link& link : links_) {
    if (link.talk && link.outgoing.empty()) {
      std::ignore =
          send(link.fd.get(), goodbye.data(), goodbye.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
  }
}

Result<std::optional<Event>> Crew::next(const net::Patience& patience) {
  if (!called_) {
    call_all();
  }
  while (true) {
    if (!events_.empty()) {
      std::optional<Event> first = std::move(events_.front());
      events_.pop_front();
      return first;
    }
    if (batch_at_ < batch_size_) {
      handle(batch_.at(batch_at_++));
    } else if (const Result<bool> waited = wait(patience); !waited) {
      return std::unexpected(waited.error());
    } else if (!*waited && events_.empty() && patience.over()) {
      return std::nullopt;
    }
  }
}

int Crew::interrupt_of(const net::Patience& patience) const {
  return patience.interrupt >= 0 ? patience.interrupt : options_.interrupt;
}

// Whether anything came of it.
Result<bool> Crew::wait(const net::Patience& patience) {
  const Result<> ready = net::wait_for(
      epoll_.get(), POLLIN,
      {.until = std::min(patience.until, next_look_), .interrupt = interrupt_of(patience)},
      "preflight", "");
  if (!ready && ready.error().kind != ErrorKind::Timeout) {
    return std::unexpected(ready.error());
  }
  const Clock::time_point now = Clock::now();
  if (now >= next_look_) {
    // Whoever was held up itself, or stopped, hears first what came meanwhile.
    if (now < next_look_ + kHeldUp) {
      look_at_deadlines(now);
    }
    next_look_ = now + kLook;
  }
  const int count = ready ? epoll_wait(epoll_.get(), batch_.data(), kBatch, 0) : 0;
  batch_size_ = static_cast<std::size_t>(std::max(count, 0));
  batch_at_ = 0;
  return batch_size_ > 0;
}

void Crew::handle(const epoll_event& event) {
  if (event.data.u64 == kLookups) {
    resolved();
  } else {
    handle(static_cast<HostIndex>(event.data.u64), event.events);
  }
  call_next();
}

void Crew::handle(HostIndex host, std::uint32_t events) {
  switch (links_[host].state) {
    case State::Opening:
      opened(host);
      break;
    case State::Talking:
      if ((events & EPOLLOUT) != 0U) {
        flush(host);
      }
      if ((events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0U) {
        hear(host);
      }
      break;
    default:
      break;
  }
}

void Crew::ask(HostIndex host, TaskNumber number, const Task& task) {
  Link& link = links_.at(host);
  if (link.state != State::Talking) {
    return;
  }
  if (link.talk->stage() != Talk::Stage::Idle) {
    events_.emplace_back(Answered{.host = host,
                                  .task = number,
                                  .document = fail(ErrorKind::Busy, "ask", link.talk->peer(),
                                                   "its agent is at another task, or not ready")});
    return;
  }
  link.deadline = Clock::now() + options_.longest(task) + options_.beyond_task;
  say(host, link.talk->begin(number, task));
}

void Crew::give_up(HostIndex host, TaskNumber number) {
  std::erase_if(events_, [&](const Event& event) {
    const auto* answer = std::get_if<Answered>(&event);
    return answer != nullptr && answer->host == host && answer->task == number;
  });
  Link& link = links_.at(host);
  if (link.state != State::Talking || link.talk->task() != number) {
    return;
  }
  link.deadline = Clock::time_point::max();
  say(host, link.talk->give_up(number));
}

void Crew::look_at_deadlines(Clock::time_point now) {
  for (HostIndex host = 0; host < links_.size(); ++host) {
    const Link& link = links_[host];
    if (link.deadline <= now || link.speak_by <= now) {
      too_late(host, now);
    }
  }
  call_next();
}

void Crew::too_late(HostIndex host, Clock::time_point now) {
  Link& link = links_[host];
  switch (link.state) {
    case State::Resolving:
      end(host, {.presence = Presence::Unresolved,
                 .error = {.kind = ErrorKind::Timeout,
                           .operation = "resolve",
                           .subject = options_.hosts[host].host,
                           .reason = "no name server answered in time",
                           .next_step = "give an address, or mend /etc/resolv.conf"}});
      break;
    case State::Opening:
      open_failed(host, {.kind = ErrorKind::Timeout,
                         .operation = "connect",
                         .subject = "",
                         .reason = "no answer in time"});
      break;
    case State::Waiting:
      link.deadline = Clock::time_point::max();
      link.state = State::Queued;
      queue_.push_back(host);
      break;
    case State::Talking:
      if (link.speak_by > now && link.talk->task()) {
        task_is_late(host, now);
      } else {
        end(host, link.talk->silent());
      }
      break;
    default:
      break;
  }
}

void Crew::task_is_late(HostIndex host, Clock::time_point now) {
  Link& link = links_[host];
  const TaskNumber number = *link.talk->task();
  events_.emplace_back(
      Answered{.host = host,
               .task = number,
               .document = fail(ErrorKind::Timeout, "wait", link.talk->peer(),
                                "its agent did not answer in the time that the test may take")});
  link.deadline = Clock::time_point::max();
  link.speak_by = now + options_.giving_up;
  say(host, link.talk->give_up(number));
}

void Crew::no_longer_opening(Link& link) {
  if (std::exchange(link.is_opening, false)) {
    --opening_;
  }
}

void Crew::end(HostIndex host, Ending ending) {
  Link& link = links_[host];
  no_longer_opening(link);
  link = Link{};
  link.state = State::Gone;
  events_.emplace_back(
      Went{.host = host, .presence = ending.presence, .error = std::move(ending.error)});
}

net::Endpoint Crew::endpoint(HostIndex host) const {
  const Link& link = links_[host];
  return {.address = link.addresses.at(link.tried), .port = options_.hosts[host].port};
}

}  // namespace chokepoint::preflight
