#include "probe/collective/launch/rank_service.h"

#include <poll.h>

#include <algorithm>
#include <cstdlib>

#include "base/control/bodies.h"
#include "base/control/test_driver.h"
#include "base/host/network.h"
#include "probe/collective/data_path.h"
#include "probe/collective/launch/children.h"
#include "probe/collective/order.h"

namespace chokepoint {

template <>
struct Fields<probe::collective::RankOptions> {
  using O = probe::collective::RankOptions;
  static constexpr std::size_t kMaxName = 64;
  static constexpr FieldList kList{
      field("backend", &O::backend, "gloo or nccl").up_to_bytes(kMaxName),
      field("interface", &O::interface, "or an address of it; empty: the library's choice")
          .up_to_bytes(kMaxName),
      field("algorithm", &O::algorithm, "as the library calls it; empty: its default")
          .up_to_bytes(kMaxName),
      field("gpu", &O::gpu, "NCCL: this device; null: by the local rank").between(0, 1024),
      field("timeout_s", &O::timeout, "for the ranks to wait for each other").between(1, 3600)};

  static const char* wrong(const O& options) {
    return check(options) ? nullptr : "names without odd characters";
  }
};

template <>
struct Fields<probe::collective::RanksWanted> {
  using W = probe::collective::RanksWanted;
  static constexpr FieldList kList{
      field("job", &W::job, "the same for all ranks").up_to_bytes(255),
      field("secret", &W::secret, "known to the ranks of this job alone"),
      field("port", &W::port, "of the client, where the ranks meet").at_least(1),
      field("ranks", &W::ranks, "of the whole job").between(1, probe::collective::kMaxRanks),
      field("first", &W::first, "the first rank on this host").at_least(0),
      field("count", &W::count, "ranks on this host")
          .between(1, probe::collective::kMaxRanksPerHost)};

  static const char* wrong(const W& wanted) {
    return wanted.first > wanted.ranks - wanted.count ? "no more of them than the job has"
                                                      : nullptr;
  }
};

template <>
struct Fields<probe::collective::ChildEnd> {
  using E = probe::collective::ChildEnd;
  static constexpr FieldList kList{
      field("rank", &E::rank, "counts from 0").at_least(0),
      within(&E::status, field("code", &sys::ExitStatus::code, "exit code").between(0, 1024)),
      within(&E::status,
             field("signal", &sys::ExitStatus::signal, "that ended it; 0: none").between(0, 1024)),
      // Of at most 400 bytes; each that is no UTF-8 was replaced by three.
      field("words", &E::words, "the last line of its standard error").up_to_bytes(1500)};
};

}  // namespace chokepoint

namespace chokepoint::probe::collective {
namespace {

using control::Json;
using control::Session;
using control::Type;
using std::chrono::milliseconds;

// An interface, an address or an algorithm, and nothing that could be taken for a flag.
bool is_plain(const std::string& text) {
  const auto plain = [](unsigned char each) {
    return std::isalnum(each) != 0 ||
           std::string_view("_.:-%@,=^").contains(static_cast<char>(each));
  };
  return text.size() <= Fields<RankOptions>::kMaxName && !text.starts_with('-') &&
         std::ranges::all_of(text, plain);
}

Result<RanksWanted> ranks_wanted_in(const Json& body) {
  // Each test of ranks takes the host's memory for itself.
  if (body.contains("share")) {
    return fail(ErrorKind::Usage, "", "ranks", "share no host with other tests");
  }
  TRY(auto wanted, json::from_json<RanksWanted>(body, "ranks"));
  TRY(wanted.options, json::from_json<RankOptions>(body, "ranks"));
  return wanted;
}

constexpr milliseconds kReportEvery{50};

RankPlacement placement_of(const RanksWanted& wanted, int index, const Session& session) {
  const net::Address peer = session.peer().address.unmapped();
  return {.position = {.rank = wanted.first + index, .ranks = wanted.ranks, .local_rank = index},
          .launcher = "chokepoint",
          .job = wanted.job,
          .meeting = {peer.text(), wanted.port},
          .secret = wanted.secret};
}

bool names_interface() {
  return std::getenv("GLOO_SOCKET_IFNAME") != nullptr ||
         std::getenv("NCCL_SOCKET_IFNAME") != nullptr;
}

// If no interface is named: the one of the client's connection. Gloo itself would take the address
// of the host's name, which on many hosts is loopback, and of an interface the first address, which
// others may not reach: it gets the address. NCCL takes only interfaces, and a link-local address
// is nothing without its interface.
RankOptions with_interface(RankOptions options, const Session& session) {
  const net::Address local = session.local().address.unmapped();
  if (!options.interface.empty() || local.is_loopback() || names_interface()) {
    return options;
  }
  options.interface = options.backend == "gloo" && !local.is_link_local()
                          ? local.text()
                          : interface_of(local, host::read_addresses(session.context().root));
  return options;
}

Result<> report_ends(Session& session, Children& children) {
  TRY(const std::vector<ChildEnd> ends, children.ended());
  for (const ChildEnd& end : ends) {
    if (end.status == sys::ExitStatus{}) {
      continue;
    }
    TRY(session.send(Type::Report, json::to_json(end)));
  }
  return {};
}

// Until the client sends Stop, even if all ranks have ended, or the time is over.
Result<Json> watch(Session& session, Children& children) {
  const net::Deadline deadline = session.deadline(session.limits().longest_test);
  const auto look = [&]() -> Result<> {
    const Result<> waited = net::wait_for(session.channel().descriptor(), POLLIN,
                                          deadline.at_most(kReportEvery), "wait", "ranks");
    if (!waited && waited.error().kind == ErrorKind::Interrupted) {
      return waited;
    }
    TRY(report_ends(session, children));
    return deadline.over() ? fail(ErrorKind::Timeout, "", "ranks",
                                  "took longer than this server's longest test",
                                  "start it with a larger --max-time")
                           : Result<>{};
  };
  TRY(until_stopped(session, kCollectiveKind, deadline, look));
  return Json::object();
}

class RankService final : public control::TestService<RanksWanted, ranks_wanted_in> {
 public:
  explicit RankService(std::string program) : program_(std::move(program)) {}

  std::string_view kind() const override { return kCollectiveKind; }

 private:
  Result<control::Demand> demand(const RanksWanted& wanted,
                                 const control::Limits& limits) const override {
    TRY(control::check_streams(limits, wanted.count));
    return control::Demand(control::Weight::Alone, wanted.count);
  }

  Result<Json> run(Session& session, const RanksWanted& wanted) override {
    Children children(session.context().clock, true);
    const std::vector<std::string> command =
        command_of(program_, with_interface(wanted.options, session));
    for (int i = 0; i < wanted.count; ++i) {
      TRY(children.start(command, placement_of(wanted, i, session), wanted.count));
    }
    TRY(session.send(Type::Ready));
    return watch(session, children);
  }

  std::string program_;
};

}  // namespace

std::vector<std::string> command_of(const std::string& program, const RankOptions& options) {
  std::vector<std::string> command{program, "probe", "collective", "--backend=" + options.backend,
                                   "--timeout=" + std::to_string(options.timeout.count())};
  if (!options.interface.empty()) {
    command.push_back("--interface=" + options.interface);
  }
  if (!options.algorithm.empty()) {
    command.push_back("--algorithm=" + options.algorithm);
  }
  if (options.gpu) {
    command.push_back("--gpu=" + std::to_string(*options.gpu));
  }
  return command;
}

Result<> check(const RankOptions& options) {
  if (is_plain(options.backend) && is_plain(options.interface) && is_plain(options.algorithm)) {
    return {};
  }
  return fail(ErrorKind::Usage, "", "--interface, --algorithm", "a name with odd characters",
              "give it as the host and the library write it");
}

Json body_of(const RanksWanted& wanted) {
  Json body = json::to_json(wanted.options);
  body.update(json::to_json(wanted));
  return body;
}

Result<ChildEnd> child_end_in(const Json& body) {
  return json::from_json<ChildEnd>(body, "rank's end");
}

std::unique_ptr<control::Service> rank_service(std::string program) {
  return std::make_unique<RankService>(std::move(program));
}

}  // namespace chokepoint::probe::collective
