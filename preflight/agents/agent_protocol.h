// The protocol on the connection to one agent, and what limits it. Without I/O: AgentPool has the
// socket. One thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
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
    bool is_whole = false;  // a message came to its end
    std::string answer = {};
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
  std::expected<Step, Ending> receive(control::Message message);
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
  std::string program_;                                  // once it is known
  std::optional<Error> waits_for_;                       // what the server lets us queue for
  control::FrameReader reader_{control::kMaxBeforeHandshake};
  std::optional<TaskNumber> task_;
  std::vector<TaskNumber> given_up_;  // and not answered yet; a few
};

}  // namespace chokepoint::preflight
