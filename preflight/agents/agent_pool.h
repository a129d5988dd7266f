// Connections to the agents of all hosts from one thread, however many there are:
//
//   Resolving ─► Queued ─► Opening ─► Talking ─► Gone           each host for itself
//                  ▲  └◄─ next address ─┘│            (class AgentProtocol: the protocol)
//                  └──── Waiting ◄───────┘            nothing listens yet, and may soon
//
// epoll reports which connections are readable; deadlines are checked ten times a second. Owns
// sockets and conversations. Whatever a host sends or leaves out costs only its own share: at most
// one answer of `most_document` bytes as far as it has arrived, and one unfinished task. Events
// wait in here until next() takes them; nothing is read meanwhile. An idle agent takes less than a
// kilobyte here, and its socket in the kernel. One thread: the caller of next().
#pragma once

#include <sys/epoll.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/net/address.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "preflight/agents/agent_protocol.h"
#include "preflight/agents/agents.h"
#include "preflight/agents/name_lookups.h"
#include "preflight/task/measured.h"
#include "preflight/task/task.h"

namespace chokepoint::preflight {

class AgentPool final : public Agents {
 public:
  // Connects to no agent yet: next() does. Exhausted where there are not as many descriptors.
  static Result<std::unique_ptr<AgentPool>> make(AgentPoolOptions options);
  ~AgentPool() override;
  AgentPool(const AgentPool&) = delete;
  AgentPool& operator=(const AgentPool&) = delete;

  void ask(HostIndex host, TaskNumber number, const Task& task) override;
  void give_up(HostIndex host, TaskNumber number) override;
  Result<std::optional<Event>> next(const net::Deadline& deadline) override;

 private:
  using Clock = net::Deadline::Clock;
  enum class State : std::uint8_t { Resolving, Queued, Opening, Waiting, InConversation, Gone };

  struct Link {
    State state = State::Queued;
    bool is_opening = false;  // counted among those who are
    bool waits_to_send = false;
    std::uint16_t tried = 0;  // of its addresses
    sys::Descriptor fd = {};
    Clock::time_point deadline = Clock::time_point::max();   // of what it is at
    Clock::time_point answer_by = Clock::time_point::max();  // after it was given up for lateness
    std::vector<net::Address> addresses = {};
    std::unique_ptr<Error> trouble = {};  // with the first address that failed
    std::unique_ptr<AgentProtocol> protocol = {};
    std::string outgoing = {};  // what the socket did not take yet
  };

  AgentPool(AgentPoolOptions options, NameLookups lookups, sys::Descriptor epoll);

  void call_all();
  void call_next();
  void resolve(HostIndex host);
  void resolved();
  void open(HostIndex host);
  void open_failed(HostIndex host, Error error);
  void opened(HostIndex host);

  Result<bool> wait(const net::Deadline& deadline);
  void handle(const epoll_event& event);
  void handle(HostIndex host, std::uint32_t events);
  void receive(HostIndex host);
  bool take(HostIndex host, std::size_t count);
  void send(HostIndex host, std::string bytes);
  void flush(HostIndex host);
  void watch(HostIndex host, std::uint32_t events, int operation) const;

  void look_at_deadlines(Clock::time_point now);
  void too_late(HostIndex host, Clock::time_point now);
  void task_is_late(HostIndex host, Clock::time_point now);

  void no_longer_opening(Link& link);
  void end(HostIndex host, Ending ending);
  net::Endpoint endpoint(HostIndex host) const;
  int interrupt_of(const net::Deadline& deadline) const;

  AgentPoolOptions options_;
  NameLookups lookups_;
  sys::Descriptor epoll_;
  std::vector<Link> links_;
  std::deque<HostIndex> queue_;  // to be called as soon as fewer are being opened
  std::size_t opening_ = 0;
  bool called_ = false;
  Clock::time_point give_up_calling_{};  // where nothing listens
  Clock::time_point next_look_{};

  static constexpr std::size_t kBatch = 256;
  std::array<epoll_event, kBatch> batch_{};
  std::size_t batch_size_ = 0;
  std::size_t batch_at_ = 0;
  std::deque<Event> events_;
};

}  // namespace chokepoint::preflight
