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
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/control/handshake.h"
#include "base/control/message.h"
#include "base/net/resolver.h"
#include "base/net/socket.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "preflight/agents/agents.h"
#include "preflight/task/measured.h"
#include "preflight/task/task.h"

namespace chokepoint::preflight {

// Which agents are called, and how long each step may take.
struct AgentPoolOptions {
  using Milliseconds = std::chrono::milliseconds;
  // May block; called from threads of its own, so what it needs must be owned by it.
  using Resolve = std::function<Result<std::vector<net::Address>>(const std::string& name,
                                                                  std::optional<net::Family> only)>;

  std::vector<net::HostPort> hosts = {};
  std::optional<net::Family> family = {};
  std::optional<control::Secret> key = {};
  control::Identity own = {};
  std::string preflight = {};      // by which agents know what belongs together
  net::SocketOptions socket = {};  // source address and interface of every connection
  int interrupt = -1;              // readable once the user wants it to end

  // For so long a host where nothing listens yet is called again: its agent is being started.
  Milliseconds appear{0};
  Milliseconds call_again{500};

  Milliseconds resolving{30'000};  // all names together
  Milliseconds connecting{5'000};  // each address
  Milliseconds handshake{5'000};
  Milliseconds getting_ready{20'000};  // the agent gathers its host's facts
  Milliseconds beyond_task{3'000};     // an answer may be later than the task's longest time
  Milliseconds giving_up{8'000};       // to say something after a task was given up for lateness

  std::size_t most_opening = 512;                            // connections, at once
  std::size_t most_document = std::size_t{4} * 1024 * 1024;  // of an answer, in bytes

  // How else than by the system, and what else than preflight/task says: for tests.
  Resolve resolve = net::resolve;
  std::function<Milliseconds(const Task&)> longest = preflight::longest;
};

// Name lookups by a few threads, however many names there are: a name server that does not answer
// blocks a lookup for many seconds. Answers after the destructor are discarded; the threads own
// what they need. Used by one thread.
class Lookups {
 public:
  struct Answer {
    HostIndex host = 0;
    Result<std::vector<net::Address>> addresses = {};
  };
  static constexpr std::size_t kMaxThreads = 32;

  static Result<Lookups> make(AgentPoolOptions::Resolve resolve, std::optional<net::Family> only);
  Lookups(Lookups&&) = default;
  Lookups& operator=(Lookups&&) = default;
  ~Lookups();

  // Readable once answers have come.
  int descriptor() const;
  void ask(HostIndex host, const std::string& name);
  std::vector<Answer> take();

 private:
  struct Queue;  // shared with the threads
  explicit Lookups(std::shared_ptr<Queue> queue);
  static void work(const std::shared_ptr<Queue>& queue);

  std::shared_ptr<Queue> queue_;
};

// The reason why a conversation ended, and what the host is then.
struct Ending {
  Presence presence = Presence::Lost;
  Error error = {};
};

// The protocol on the connection to one agent, without I/O: it is given the received bytes, and
// returns bytes to send, events, or the reason why the conversation ends. It checks all that the
// agent sends. One thread.
//
//   Greeting ─ Welcome ─► Proving ─ Admitted ─► Requesting ─ Ready ─► Idle ◄─ Report ─ Working
//                                                                     └─── begin() ────►
class AgentProtocol {
 public:
  enum class Stage : std::uint8_t { Greeting, Proving, Requesting, Idle, Working };
  struct Step {
    bool heard = false;  // a whole message
    std::string say = {};
    std::optional<Event> event = {};
  };

  // `address` is where the agent was reached, `peer` how errors call it. The options outlive this.
  AgentProtocol(const AgentPoolOptions& options, HostIndex host, std::string address,
                std::string peer);

  Stage stage() const { return stage_; }
  const std::string& peer() const { return peer_; }

  std::string hello();
  // Where its next bytes go; never empty. Then how many of them came.
  std::span<std::byte> wanted() { return reader_.wanted(); }
  std::expected<Step, Ending> took(std::size_t count);

  // The bytes that say so. Only where it is idle.
  std::string begin(TaskNumber number, const Task& task);
  // Only of the task at hand; none otherwise.
  std::string give_up(TaskNumber number);
  std::optional<TaskNumber> task() const { return task_; }

  // The bytes that end it, at any time.
  std::string goodbye();

  // It was silent for too long; it has closed the connection; the connection failed.
  Ending silent() const;
  Ending closed() const;
  Ending failed(Error error) const;

 private:
  std::expected<Step, Ending> hear(control::Message message);
  std::expected<Step, Ending> welcomed(const control::Message& message);
  std::expected<Step, Ending> admitted(const control::Message& message);
  std::expected<Step, Ending> ready(const control::Message& message);
  std::expected<Step, Ending> report(control::Message message);
  Ending of_handshake(Error error) const;
  Ending refused(const control::Json& body) const;
  Ending strange(std::string reason) const;
  bool was_given_up(TaskNumber number);
  std::string sealed(const control::Message& message);

  const AgentPoolOptions& options_;
  HostIndex host_;
  std::string address_;
  std::string peer_;
  Stage stage_ = Stage::Greeting;
  std::unique_ptr<control::ClientHandshake> handshake_;  // until it is over
  std::optional<control::Seal> outgoing_;                // once there are keys
  std::string program_;                                  // until it is told
  std::optional<Error> waits_for_;                       // what the server lets us queue for
  control::FrameReader reader_{control::kMaxBeforeHandshake};
  std::optional<TaskNumber> task_;
  std::vector<TaskNumber> given_up_;  // and not answered yet; a few
};

class AgentPool final : public Agents {
 public:
  // Nobody is called yet: next() does. Exhausted where there are not as many descriptors.
  static Result<std::unique_ptr<AgentPool>> make(AgentPoolOptions options);
  ~AgentPool() override;
  AgentPool(const AgentPool&) = delete;
  AgentPool& operator=(const AgentPool&) = delete;

  void ask(HostIndex host, TaskNumber number, const Task& task) override;
  void give_up(HostIndex host, TaskNumber number) override;
  Result<std::optional<Event>> next(const net::Deadline& patience) override;

 private:
  using Clock = net::Deadline::Clock;
  enum class State : std::uint8_t { Resolving, Queued, Opening, Waiting, Talking, Gone };

  struct Link {
    State state = State::Queued;
    bool is_opening = false;  // counted among those who are
    bool waits_to_send = false;
    std::uint16_t tried = 0;  // of its addresses
    sys::Descriptor fd = {};
    Clock::time_point deadline = Clock::time_point::max();  // of what it is at
    Clock::time_point speak_by = Clock::time_point::max();  // after it was given up for lateness
    std::vector<net::Address> addresses = {};
    std::unique_ptr<Error> trouble = {};  // with the first address that failed
    std::unique_ptr<AgentProtocol> protocol = {};
    std::string outgoing = {};  // what the socket did not take yet
  };

  AgentPool(AgentPoolOptions options, Lookups lookups, sys::Descriptor epoll);

  void call_all();
  void call_next();
  void resolve(HostIndex host);
  void resolved();
  void open(HostIndex host);
  void open_failed(HostIndex host, Error error);
  void opened(HostIndex host);

  Result<bool> wait(const net::Deadline& patience);
  void handle(const epoll_event& event);
  void handle(HostIndex host, std::uint32_t events);
  void hear(HostIndex host);
  bool take(HostIndex host, std::size_t count);
  void say(HostIndex host, std::string bytes);
  void flush(HostIndex host);
  void watch(HostIndex host, std::uint32_t events, int operation) const;

  void look_at_deadlines(Clock::time_point now);
  void too_late(HostIndex host, Clock::time_point now);
  void task_is_late(HostIndex host, Clock::time_point now);

  void no_longer_opening(Link& link);
  void end(HostIndex host, Ending ending);
  net::Endpoint endpoint(HostIndex host) const;
  int interrupt_of(const net::Deadline& patience) const;

  AgentPoolOptions options_;
  Lookups lookups_;
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
