#include "rdma/session/service.h"

#include "base/control/fields.h"
#include "rdma/session/cm_door.h"
#include "rdma/session/half.h"
#include "rdma/session/host_side.h"
#include "rdma/session/parameters.h"
#include "rdma/session/round.h"

namespace chokepoint::rdma::session {
namespace {

using control::Json;
using control::Message;
using control::Session;
using control::Type;
using perf::Plan;
using perf::Role;

struct Asked {
  Parameters parameters = {};
  SideFacts client = {};
};

Result<Asked> asked_in(const Json& body) {
  TRY(Parameters parameters, parameters_in(body));
  control::Fields in(body, "rdma request");
  const Json& client = in.object("side");
  TRY(in.finish(true));
  TRY(SideFacts side, side_in(client));
  return Asked{.parameters = std::move(parameters), .client = std::move(side)};
}

// What the client did not wish for follows its own choice: both ends need GIDs of one kind.
PortWish wish_of(const Asked& asked) {
  PortWish wish = asked.parameters.server_port;
  if (asked.client.ethernet && !wish.gid_index) {
    wish.family = wish.family ? wish.family : address_of(asked.client.gid).family();
    wish.type = wish.type ? wish.type : asked.client.gid_type;
  }
  return wish;
}

Error being_stopped() {
  return {ErrorKind::Interrupted, "", "test", 0, "the server is being stopped"};
}

class Test {
 public:
  Test(Session& session, const Asked& asked, std::unique_ptr<Station> station)
      : session_(session),
        asked_(asked),
        station_(std::move(station)),
        role_(asked.parameters.both_ways ? Role::Active : Role::Passive),
        fabric_(session.surroundings().root, station_->facts()) {}

  Result<Json> conduct() {
    TRY(get_set());
    for (std::size_t index = 0;; ++index) {
      TRY(Message message, session_.channel().receive(session_.patience(kBetween)));
      if (message.type == Type::Stop) {
        return Json{{"counters", fabric::body_of(fabric_.changes())}};
      }
      TRY(round(index, message));
    }
  }

 private:
  Result<> send(Type type, Json body) {
    return session_.channel().send({type, std::move(body)}, session_.patience(kAnswer));
  }

  // The client hears of this side before it is told that the two do not fit, so that it can say
  // why in its own words.
  Result<> get_set() {
    if (const Result<> sent = send(Type::Ready, {{"side", body_of(station_->facts())}}); !sent) {
      return sent;
    }
    Result<Agreement> agreement =
        negotiate(asked_.parameters, asked_.client, station_->facts(),
                  {.client = session_.client().host, .server = "this host"});
    if (!agreement) {
      return std::unexpected(agreement.error());
    }
    agreement_ = std::move(*agreement);
    TRY(const std::uint64_t bytes, memory_for(agreement_, session_.limits()));
    return station_->provide_memory(bytes, asked_.parameters.server_memory,
                                    asked_.parameters.operation,
                                    asked_.parameters.relaxed_ordering);
  }

  Result<> round(std::size_t index, const Message& message) {
    if (message.type != Type::Begin || index >= agreement_.rounds.size()) {
      return fail(ErrorKind::Malformed, "receive", session_.channel().peer(),
                  "there is no such round");
    }
    Plan plan = agreement_.rounds[index];
    TRY(const Whereabouts client, opening_in(message.body, index, plan));
    Watch watch(session_.channel(), session_.surroundings().stop, still(plan),
                role_ == Role::Passive);
    if (const Result<> met = meet(plan, client, watch); !met) {
      return met;
    }
    Result<Half> half = measure(plan, watch);
    station_->close_queues();
    return half ? send(Type::Report, body_of(*half)) : std::unexpected(half.error());
  }

  Result<> meet(Plan& plan, const Whereabouts& client, Watch& watch) {
    Result<> met = station_->open_queues(plan, asked_.parameters.inline_bytes.has_value());
    station_->reach(client.memory);
    met = met && asked_.parameters.by_cm ? accept() : met;
    met = met && !asked_.parameters.by_cm ? station_->connect(client, path()) : met;
    met = met ? get_ready(*station_, plan, role_, watch) : met;
    met = met ? send(Type::Begin, {{"server", body_of(station_->whereabouts())}}) : met;
    if (!met) {
      return met;
    }
    const Result<Message> go = session_.channel().expect(Type::Note, session_.patience(kAnswer));
    return go ? Result<>{} : std::unexpected(go.error());
  }

  // A client with many rounds has the server no longer than one with a single one.
  std::chrono::nanoseconds still(const Plan& plan) const {
    const std::chrono::nanoseconds passed(session_.surroundings().clock.monotonic_ns() - begun_ns_);
    return longest(plan, session_.limits(), passed);
  }

  verbs::PathOptions path() const {
    return path_of(asked_.parameters, agreement_, station_->facts(), asked_.client);
  }

  // The client is told where to knock, and knocks for each queue pair.
  Result<> accept() {
    const net::Address address = cm_address(station_->facts(), session_.local().address);
    const Result<std::unique_ptr<verbs::CmListener>> listener = verbs::listen_by_cm({address, 0});
    if (!listener) {
      return std::unexpected(listener.error());
    }
    const verbs::CmPeer door{.address = {address, (*listener)->port()},
                             .token = (*listener)->token()};
    const Result<> told = send(Type::Note, {{"cm", body_of(door)}});
    return told ? station_->accept(**listener, path(), session_.patience(kSetUp)) : told;
  }

  Result<Half> measure(const Plan& plan, Watch& watch) {
    const sys::Clock& clock = session_.surroundings().clock;
    Result<Half> half = run_half(*station_, plan, role_, watch, clock);
    if (!half) {
      return half;
    }
    if (watch.interrupted()) {
      return fail(being_stopped());
    }
    const Result<Json> stop = watch.peer_stopped(session_.patience(still(plan)));
    if (!stop) {
      return std::unexpected(stop.error());
    }
    control::Fields in(*stop, "rdma stop");
    TRY(const std::int64_t messages, in.finish(in.integer("messages", 0, INT64_MAX)));
    const Result<> checked =
        check_memory(*station_, plan, role_, static_cast<std::uint64_t>(messages), watch, *half);
    return checked ? std::move(half) : std::unexpected(checked.error());
  }

  Session& session_;
  const Asked& asked_;
  std::unique_ptr<Station> station_;
  Role role_;
  FabricWatch fabric_;
  std::int64_t begun_ns_ = session_.surroundings().clock.monotonic_ns();
  Agreement agreement_;
};

}  // namespace

Result<control::Weight> RdmaService::check(const Json& body, const control::Limits& limits) const {
  TRY(const Asked asked, asked_in(body));
  Result<> fits = session::check(asked.parameters);
  fits = fits ? session::check(asked.parameters, limits) : fits;
  return fits ? Result<control::Weight>(control::Weight::Heavy) : std::unexpected(fits.error());
}

Result<Json> RdmaService::serve(Session& session, const Json& body) {
  TRY(const Asked asked, asked_in(body));
  TRY(std::unique_ptr<Station> station,
      open_here(session.surroundings().root, open_(), wish_of(asked), session.local().address,
                asked.parameters.transport));
  Result<Json> result = Test(session, asked, std::move(station)).conduct();
  // Whatever the stop has interrupted.
  return !result && result.error().kind == ErrorKind::Interrupted ? fail(being_stopped())
                                                                  : std::move(result);
}

}  // namespace chokepoint::rdma::session
