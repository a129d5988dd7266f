#include "rdma/session/trial.h"

#include "base/control/test_driver.h"
#include "base/net/socket.h"
#include "rdma/session/local_endpoint.h"
#include "rdma/session/round.h"
#include "rdma/session/side.h"

namespace chokepoint::rdma::session {
namespace {

using control::Client;
using control::Json;
using control::Message;
using control::Type;
using net::Deadline;
using perf::Plan;
using perf::Role;

// The client's end of one test.
class ClientTest {
 public:
  ClientTest(Client& client, std::unique_ptr<LocalEndpoint> endpoint, const Here& here,
             const Listener& listener, Trial trial)
      : client_(client),
        endpoint_(std::move(endpoint)),
        here_(here),
        listener_(listener),
        fabric_(here.root, endpoint_->facts()),
        trial_(std::move(trial)) {}

  Result<Trial> run() {
    TRY(agree());
    for (std::size_t index = 0; index < trial_.agreement.rounds.size() && !trial_.interrupted;
         ++index) {
      if (const Result<> done = round(index); !done) {
        return keep_measured(done.error());
      }
    }
    const Result<> ended = end();
    return ended ? std::move(trial_) : keep_measured(ended.error());
  }

 private:
  // After a failure or an interrupt: the rounds measured before it are the result.
  Result<Trial> keep_measured(Error why) {
    if (trial_.rounds.empty()) {
      return fail(std::move(why));
    }
    if (why.kind == ErrorKind::Interrupted) {
      trial_.interrupted = true;
    } else {
      trial_.failure = std::move(why);
    }
    trial_.client_counters = fabric_.changes();
    return std::move(trial_);
  }

  Deadline deadline(std::chrono::nanoseconds wait) const {
    return Deadline::of(wait, here_.interrupt);
  }

  Result<Message> expect(Type type, const Deadline& deadline) {
    return client_.channel().expect(type, deadline);
  }

  Result<> send(Type type, Json body) {
    return client_.channel().send({type, std::move(body)}, Deadline::of(kSetUp));
  }

  Result<> agree() {
    trial_.client = endpoint_->facts();
    Json request = body_of(trial_.parameters);
    request["side"] = body_of(trial_.client);
    TRY(const Json ready,
        request_test(client_, kKind, std::move(request), here_.interrupt, listener_.waiting));
    TRY(trial_.server, side_in(object_in(ready, "side")));
    TRY(trial_.agreement,
        negotiate(trial_.parameters, trial_.client, trial_.server,
                  {.client = here_.host, .server = client_.admittance().server.host}));
    listener_.agreed(trial_);
    return provide_memory();
  }

  Result<> provide_memory() {
    TRY(const std::uint64_t bytes, memory_for(trial_.agreement, client_.admittance().limits));
    TRY(endpoint_->provide_memory(bytes, trial_.parameters.client_memory,
                                  trial_.parameters.operation, trial_.parameters.relaxed_ordering));
    trial_.memory = endpoint_->memory_text();
    return {};
  }

  Result<> round(std::size_t index) {
    Plan plan = trial_.agreement.rounds[index];
    Watch watch(client_.channel(), here_.interrupt, round_limit_of(plan), false);
    if (const Result<bool> wanted = watch.go_on(); !wanted || watch.interrupted()) {
      trial_.interrupted = watch.interrupted();
      return wanted ? Result<>{} : std::unexpected(wanted.error());
    }
    TRY(set_up_round(index, plan, watch));
    TRY(SideResult own, run_side(*endpoint_, plan, Role::Active, watch, here_.clock));
    trial_.interrupted = watch.interrupted();
    const Result<SideResult> server = collect(plan, own, watch);
    endpoint_->close_queues();
    if (!server) {
      return std::unexpected(server.error());
    }
    trial_.rounds.push_back({.plan = plan, .client = own, .server = *server});
    listener_.round(trial_.rounds.back());
    return {};
  }

  Result<> set_up_round(std::size_t index, Plan& plan, Watch& watch) {
    const Plan agreed = plan;
    TRY(endpoint_->open_queues(plan, trial_.parameters.inline_bytes.has_value()));
    TRY(send(Type::Begin, opening_body(index, agreed, endpoint_->addresses())));
    if (const Result<> joined = trial_.parameters.by_cm ? connect_by_cm() : Result<>{}; !joined) {
      return fail(watch.reason(joined.error()));
    }
    TRY(const Message begin, expect(Type::Begin, deadline(control::kAnswer)));
    TRY(const SideAddresses server,
        side_addresses_in(object_in(begin.body, "server"), plan.queue_pairs));
    endpoint_->set_remote(server.memory);
    if (!trial_.parameters.by_cm) {
      TRY(endpoint_->connect(server, path()));
    }
    TRY(get_ready(*endpoint_, plan, Role::Active, watch));
    return send(Type::Note, Json::object());
  }

  // The server knows how much of this is left, and enforces it.
  std::chrono::nanoseconds round_limit_of(const Plan& plan) const {
    return round_limit(plan, client_.admittance().limits, std::chrono::nanoseconds(0));
  }

  verbs::PathOptions path() const {
    return path_of(trial_.parameters, trial_.agreement, trial_.client, trial_.server);
  }

  // By rdma_cm: the server listens, and sends its address.
  Result<> connect_by_cm() {
    TRY(const Message note, expect(Type::Note, deadline(control::kAnswer)));
    TRY(verbs::CmPeer cm_peer, cm_peer_in(object_in(note.body, "cm")));
    const net::Address own = address_of(trial_.client.gid);
    if (trial_.client.ethernet && !own.is_link_local()) {
      cm_peer.source = own;
    }
    return endpoint_->connect_by_cm(cm_peer, path(), deadline(kSetUp));
  }

  // An interrupted test still collects what both ends measured.
  Result<SideResult> collect(const Plan& plan, SideResult& own, Watch& watch) {
    TRY(send(Type::Stop, {{"messages", own.messages}, {"early", trial_.interrupted}}));
    const std::chrono::nanoseconds wait = trial_.interrupted ? std::chrono::nanoseconds(kSetUp)
                                          : plan.both_ways
                                              ? round_limit_of(plan)
                                              : std::chrono::nanoseconds(kBetweenRounds);
    TRY(const Message report,
        expect(Type::Report, trial_.interrupted ? Deadline::of(wait) : deadline(wait)));
    TRY(SideResult server, side_result_in(report.body));
    const std::uint64_t filled = plan.both_ways ? server.messages : own.messages;
    TRY(check_memory(*endpoint_, plan, Role::Active, filled, watch, own));
    return server;
  }

  Result<> end() {
    TRY(const Json result, stop_test(client_));
    TRY(trial_.server_counters, fabric::changes_in(object_in(result, "counters")));
    trial_.client_counters = fabric_.changes();
    return {};
  }

  Client& client_;
  std::unique_ptr<LocalEndpoint> endpoint_;
  const Here& here_;
  const Listener& listener_;
  FabricWatch fabric_;
  Trial trial_;
};

}  // namespace

Result<Trial> run(Client& client, const Parameters& parameters,
                  std::unique_ptr<verbs::Library> library, const Here& here,
                  const Listener& listener) {
  TRY(const net::Endpoint local, net::local_endpoint(client.channel().descriptor()));
  TRY(std::unique_ptr<LocalEndpoint> endpoint,
      open_here(here.root, std::move(library), here.wish, local.address, parameters.transport));
  return ClientTest(client, std::move(endpoint), here, listener, {.parameters = parameters}).run();
}

}  // namespace chokepoint::rdma::session
