#include "rdma/session/service.h"

#include "base/json/codec.h"
#include "rdma/session/local_endpoint.h"
#include "rdma/session/parameters.h"
#include "rdma/session/round.h"
#include "rdma/session/side.h"

namespace chokepoint::rdma::session {
namespace {

using control::Json;
using control::Message;
using control::Session;
using control::Type;
using perf::Plan;
using perf::Role;

struct Request {
  Parameters parameters = {};
  SideFacts client = {};
};

Result<Request> request_in(const Json& body) {
  TRY(Parameters parameters, parameters_in(body));
  TRY(SideFacts side, side_in(object_in(body, "side")));
  return Request{.parameters = std::move(parameters), .client = std::move(side)};
}

// What the client left open follows its own GID: both ends need GIDs of one kind.
PortRequest wish_of(const Request& request) {
  PortRequest wish = request.parameters.server_port;
  if (request.client.ethernet && !wish.gid_index) {
    wish.family = wish.family ? wish.family : address_of(request.client.gid).family();
    wish.type = wish.type ? wish.type : request.client.gid_type;
  }
  return wish;
}

Error being_stopped() {
  return {ErrorKind::Interrupted, "", "test", 0, "the server is being stopped"};
}

Result<> check_gid(const verbs::Gid& gid, const SideFacts& client, const Session& session) {
  return session.client_has_key() ? Result<>()
                                  : check_unproved_gid(gid, client, session.peer().address);
}

// The server's end of one test.
class ServerTest {
 public:
  ServerTest(Session& session, const Request& request, std::unique_ptr<LocalEndpoint> endpoint)
      : session_(session),
        request_(request),
        endpoint_(std::move(endpoint)),
        role_(request.parameters.both_ways ? Role::Active : Role::Passive),
        fabric_(session.context().root, endpoint_->facts()) {}

  Result<Json> run() {
    TRY(set_up());
    for (std::size_t index = 0;; ++index) {
      TRY(Message message, session_.channel().receive(session_.deadline(kBetweenRounds)));
      if (message.type == Type::Stop) {
        return Json{{"counters", fabric::body_of(fabric_.changes())}};
      }
      TRY(round(index, message));
    }
  }

 private:
  // The client gets this side's facts even if the two do not fit, so that it can report why itself.
  Result<> set_up() {
    TRY(session_.send(Type::Ready, {{"side", body_of(endpoint_->facts())}}));
    TRY(agreement_, negotiate(request_.parameters, request_.client, endpoint_->facts(),
                              {.client = session_.client().host, .server = "this host"}));
    TRY(const std::uint64_t bytes, memory_for(agreement_, session_.limits()));
    return endpoint_->provide_memory(bytes, request_.parameters.server_memory,
                                     request_.parameters.operation,
                                     request_.parameters.relaxed_ordering);
  }

  Result<> round(std::size_t index, const Message& message) {
    if (message.type != Type::Begin || index >= agreement_.rounds.size()) {
      return fail(ErrorKind::Malformed, "receive", session_.channel().peer(),
                  "there is no such round");
    }
    Plan plan = agreement_.rounds[index];
    TRY(const SideAddresses client, opening_in(message.body, index, plan));
    TRY(check_gid(client.endpoint.gid, request_.client, session_));
    Watch watch(session_.channel(), session_.context().stop, round_limit_of(plan),
                role_ == Role::Passive);
    TRY(set_up_round(plan, client, watch));
    Result<SideResult> own = measure(plan, watch);
    endpoint_->close_queues();
    return own ? session_.send(Type::Report, body_of(*own)) : std::unexpected(own.error());
  }

  Result<> set_up_round(Plan& plan, const SideAddresses& client, Watch& watch) {
    TRY(endpoint_->open_queues(plan, request_.parameters.inline_bytes.has_value()));
    endpoint_->set_remote(client.memory);
    TRY(request_.parameters.by_cm ? accept() : endpoint_->connect(client, path()));
    TRY(get_ready(*endpoint_, plan, role_, watch));
    TRY(session_.send(Type::Begin, {{"server", body_of(endpoint_->addresses())}}));
    TRY(session_.channel().expect(Type::Note, session_.deadline(control::kAnswer)));
    return {};
  }

  // All rounds together may not last longer than one test.
  std::chrono::nanoseconds round_limit_of(const Plan& plan) const {
    const std::chrono::nanoseconds passed(session_.context().clock.monotonic_ns() - begun_ns_);
    return round_limit(plan, session_.limits(), passed);
  }

  verbs::PathOptions path() const {
    return path_of(request_.parameters, agreement_, endpoint_->facts(), request_.client);
  }

  // The client is sent where this side listens, and connects each queue pair.
  Result<> accept() {
    const net::Address address = cm_address(endpoint_->facts(), session_.local().address);
    TRY(const std::unique_ptr<verbs::CmListener> listener, verbs::listen_by_cm({address, 0}));
    const verbs::CmPeer cm_peer{.address = {address, listener->port()}, .token = listener->token()};
    TRY(session_.send(Type::Note, {{"cm", body_of(cm_peer)}}));
    return endpoint_->accept(*listener, path(), session_.deadline(kSetUp));
  }

  Result<SideResult> measure(const Plan& plan, Watch& watch) {
    const sys::Clock& clock = session_.context().clock;
    Result<SideResult> own = run_side(*endpoint_, plan, role_, watch, clock);
    if (!own) {
      return own;
    }
    if (watch.interrupted()) {
      return fail(being_stopped());
    }
    TRY(const Json stop, watch.peer_stopped(session_.deadline(round_limit_of(plan))));
    TRY(const auto messages,
        json::field_in<std::uint64_t>(stop, "messages", "rdma stop", {.most = kMaxCount}));
    TRY(check_memory(*endpoint_, plan, role_, messages, watch, *own));
    return own;
  }

  Session& session_;
  const Request& request_;
  std::unique_ptr<LocalEndpoint> endpoint_;
  Role role_;
  FabricWatch fabric_;
  std::int64_t begun_ns_ = session_.context().clock.monotonic_ns();
  Agreement agreement_;
};

// Each queue pair sends from, receives into and checks against memory of its own, beside its
// queues.
std::int64_t most_memory_of(const Parameters& parameters) {
  constexpr std::int64_t kEntryBytes = 256;
  const auto largest = std::int64_t{*std::ranges::max_element(parameters.sizes)};
  const std::int64_t entries = parameters.depth.value_or(kDefaultDepth) +
                               parameters.receive_depth.value_or(kDefaultReceiveDepth);
  return parameters.queue_pairs * (3 * largest + entries * kEntryBytes);
}

class RdmaService final : public control::TestService<Request, request_in> {
 public:
  explicit RdmaService(OpenLibrary open) : open_(std::move(open)) {}

  std::string_view kind() const override { return kKind; }

 private:
  Result<control::Demand> demand(const Request& request,
                                 const control::Limits& limits) const override {
    TRY(session::check(request.parameters));
    TRY(session::check(request.parameters, limits));
    return control::Demand(control::Weight::Alone, 1, most_memory_of(request.parameters));
  }

  Result<Json> run(Session& session, const Request& request) override {
    TRY(check_gid(request.client.gid, request.client, session));
    TRY(std::unique_ptr<LocalEndpoint> endpoint,
        open_here(session.context().root, open_(), wish_of(request), session.local().address,
                  request.parameters.transport));
    Result<Json> result = ServerTest(session, request, std::move(endpoint)).run();
    // Whatever step the stop has interrupted.
    return !result && result.error().kind == ErrorKind::Interrupted ? fail(being_stopped())
                                                                    : std::move(result);
  }

  OpenLibrary open_;
};

}  // namespace

Result<> check_unproved_gid(const verbs::Gid& gid, const SideFacts& client,
                            const net::Address& client_address) {
  const net::Address address = address_of(gid);
  const net::Address peer = client_address.unmapped();
  if (!client.ethernet || peer.is_loopback() ||
      (address.family() == peer.family() && address.bytes() == peer.bytes())) {
    return {};
  }
  return fail(ErrorKind::Permission, "test", "GID " + address.text(),
              fmt::format("it is not the address that the client has here, {}", peer.text()),
              "give both ends a key with --key-file, or name the server by its RDMA device's "
              "address");
}

std::unique_ptr<control::Service> rdma_service(OpenLibrary open) {
  return std::make_unique<RdmaService>(std::move(open));
}

}  // namespace chokepoint::rdma::session
