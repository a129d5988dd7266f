// A client that was let in, as the server sees it: its control channel and the data connections
// that the door hands over. The session's thread uses all of it; arrived() alone is called by the
// door's thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/control/channel.h"
#include "base/control/handshake.h"
#include "base/control/limits.h"
#include "base/control/message.h"
#include "base/net/address.h"
#include "base/net/deadline.h"
#include "base/sys/clock.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "base/sys/root.h"

namespace chokepoint::control {

// What every session of a server shares. Outlives them.
struct ServerContext {
  const sys::Clock& clock;
  sys::Root root;
  Limits limits;
  int stop = -1;  // readable once the server shall end
  // The key that clients must have, as its file held it: for what a service starts in its turn.
  // Empty without one.
  std::string key = {};
};

class Session {
 public:
  static Result<std::unique_ptr<Session>> make(sys::Descriptor fd, std::string id,
                                               const ServerHandshake& handshake,
                                               const ServerContext& context);

  Channel& channel() { return channel_; }
  const std::string& id() const { return id_; }
  // What a data connection of this session has to prove, with the number of its test.
  const Secret& secret() const { return secret_; }
  std::uint64_t test() const { return test_; }
  // A request has come.
  void begin_test();
  const Identity& client() const { return client_; }
  // Else it may be anybody.
  bool client_has_key() const { return client_has_key_; }
  const net::Endpoint& peer() const { return peer_; }
  const net::Endpoint& local() const { return local_; }
  const ServerContext& context() const { return context_; }
  const Limits& limits() const { return context_.limits; }

  // Ends early when the server stops.
  net::Deadline deadline(std::chrono::nanoseconds wait) const {
    return net::Deadline::of(wait, context_.stop);
  }

  // From now on `count` data connections are taken, numbered from 0.
  void expect_streams(int count);
  // All of them, in the order of their numbers; an error as soon as the client has gone.
  Result<std::vector<sys::Descriptor>> streams(const net::Deadline& deadline);
  // For a test that takes its data connections as they come: those since the last call, with their
  // numbers, and a descriptor that is readable while there are any.
  std::vector<std::pair<int, sys::Descriptor>> new_streams();
  int arrival_descriptor() const { return arrival_.get(); }

  // A data connection has proved that it belongs to this test. False where none is wanted, or one
  // of this number has been there.
  bool arrived(std::uint64_t test, int index, sys::Descriptor fd);

 private:
  Session(Channel channel, std::string id, const ServerHandshake& handshake,
          const ServerContext& context, sys::Descriptor arrival)
      : channel_(std::move(channel)),
        id_(std::move(id)),
        secret_(handshake.keys().attach),
        client_(handshake.client()),
        client_has_key_(handshake.wants_key()),
        context_(context),
        arrival_(std::move(arrival)) {}
  bool complete();
  Result<sys::Descriptor> arrival_or_end() const;
  bool has_hung_up() const;

  Channel channel_;
  std::string id_;
  Secret secret_;
  std::atomic<std::uint64_t> test_ = 0;
  Identity client_;
  bool client_has_key_;
  net::Endpoint peer_;
  net::Endpoint local_;
  const ServerContext& context_;
  sys::Descriptor arrival_;  // an eventfd, written for each arrival

  std::mutex mutex_;
  int expected_ = 0;
  std::map<int, sys::Descriptor> arrived_;
  std::vector<bool> taken_;  // the numbers that have been there
};

// The server's end of a test that lasts until its client says Stop: calls `work` over and over,
// which waits for what the test has to do and returns within a fraction of a second. An error where
// `work` fails, the client says anything else or nothing in time, or the server stops. `kind` is
// the test's; the session's thread.
Result<> until_stopped(Session& session, std::string_view kind, const net::Deadline& deadline,
                       const std::function<Result<>()>& work);

// A kind of test as the server offers it. One object serves all sessions, each from its own thread.
//
//   Request ──► check ──► turn taken ──► serve: Ready, data, Report…, ──► Result

// Whether a test disturbs others: a heavy one fills the path, a light one needs next to nothing.
// Alone: heavy, and beside no other heavy test even where both share. None: it is no test itself,
// and takes no turn.
enum class Weight { None, Light, Heavy, Alone };

// What a test takes of the server. A weight alone is a demand that needs next to nothing.
struct Demand {
  // NOLINTNEXTLINE(google-explicit-constructor)
  Demand(Weight of_path, std::int64_t of_threads = 0, std::int64_t of_bytes = 0)
      : weight(of_path), threads(of_threads), bytes(of_bytes) {}

  Weight weight;
  std::int64_t threads;
  std::int64_t bytes;  // of memory, its sockets' buffers included where their size was asked for
};

// What all tests together may take.
struct Capacity {
  std::int64_t threads = std::numeric_limits<std::int64_t>::max();
  std::int64_t bytes = std::numeric_limits<std::int64_t>::max();
};

class Service {
 public:
  virtual ~Service() = default;

  virtual std::string_view kind() const = 0;
  // Before the test has to wait for its turn: parameters that are wrong or over the limits.
  virtual Result<Demand> check(const Json& parameters, const Limits& limits) const = 0;
  // Sends Ready and whatever its kind of test says. The body of the Result; an error is told to the
  // client as Failed. Returns soon after the client has gone or the server shall stop, with
  // everything that it started ended.
  virtual Result<Json> serve(Session& session, const Json& parameters) = 0;
};

using Services = std::vector<std::unique_ptr<Service>>;

// Who may test now. A heavy test has the path for itself: others of its kind queue behind it in the
// order in which they came, unless all of them said that they share. Light tests pass. Who would
// take more threads or memory than those that run have left waits until they have ended. Any
// thread.

class TestQueue {
 public:
  // `exclusive`: one client at a time, whatever the weight of its tests, and nobody queues: who
  // comes meanwhile is refused. (Latency under load, and a path over both families, are several
  // tests of one client at once.)
  explicit TestQueue(bool exclusive, const Capacity& capacity = {})
      : exclusive_(exclusive), capacity_(capacity) {}

  struct Test {
    Demand demand = Weight::Light;
    bool share = false;
    std::string who = {};    // "tcp by 10.0.0.2", for those who wait
    std::string owner = {};  // the client's host: its own tests belong together
  };

  // A place in the queue or at the front; given back when it goes.
  class Turn {
   public:
    Turn(TestQueue& test_queue, Test test);
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn();

    // Takes the turn if it has come. Else why not: Busy, which with `exclusive` is final, or
    // Exhausted where those that run leave too little.
    Result<> take();
    // What a test takes that said so only once it had its turn. Exhausted where those that run
    // leave too little; the turn is kept, as before.
    Result<> grow(std::int64_t threads, std::int64_t bytes);

   private:
    TestQueue& test_queue_;
    std::uint64_t ticket_;
  };

  bool exclusive() const { return exclusive_; }
  // Exhausted where a test asks for more than all together may take.
  Result<> check(const Demand& demand) const;

 private:
  struct Entry {
    std::uint64_t ticket = 0;
    Test test = {};
    bool running = false;
  };
  const Entry* obstacle(const Entry& entry) const;
  bool has_room_for(const Entry& entry) const;

  const bool exclusive_;
  const Capacity capacity_;
  std::mutex mutex_;
  std::uint64_t next_ticket_ = 0;
  std::list<Entry> entries_;  // in the order of arrival
};

}  // namespace chokepoint::control
