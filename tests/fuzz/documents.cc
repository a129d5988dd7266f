// Documents and lists that other programs, other hosts and people write: what agents of a preflight
// measured, a probe's document in a record, ranks' orders and answers, a curve for `predict`, a
// preflight's limits, lists of hosts. Whatever the text, values or an error that gives a reason.
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "analysis/attribution/ceilings.h"
#include "analysis/compare/probe_runs.h"
#include "analysis/load/given_probes.h"
#include "analysis/load/probe_document.h"
#include "analysis/predict/exchange_time.h"
#include "analysis/report/recorded_probe.h"
#include "base/host/launcher.h"
#include "base/json/codec.h"
#include "preflight/coordinator/readings.h"
#include "preflight/judge/limits.h"
#include "probe/collective/order.h"
#include "tests/analysis/made_run.h"

namespace {

using namespace chokepoint;

template <class T>
void has_reason(const Result<T>& result) {
  if (!result && describe(result.error()).empty()) std::abort();
}

void read_measured(const json::Json& document) {
  using namespace preflight;
  using namespace preflight::coordinator;
  PathResult there;
  PathResult back;
  PairResult pair;
  CollectiveResult collective;
  HostResult host;
  BundleResult bundle;
  std::vector<HostResult> hosts(3);
  has_reason(read_tcp(document, there));
  has_reason(read_alone(document, there));
  has_reason(read_together(document, there, back));
  has_reason(read_loss(document, pair));
  has_reason(read_latency(document, pair));
  has_reason(read_path(document, pair));
  has_reason(read_flows(document, bundle));
  has_reason(read_rdma_bandwidth(document, there));
  has_reason(read_rdma_latency(document, pair));
  has_reason(read_collective(document, collective));
  has_reason(read_doctor(document, host));
  if (const auto offset = monotonic_offset_ms(document); offset && !std::isfinite(*offset)) {
    std::abort();
  }
}

void read_probe_of_record(const std::string& text) {
  for (const char* kind : {"tcp", "udp", "latency", "path", "rdma"}) {
    const record::Probe row{.kind = kind,
                            .peer = "b",
                            .direction = "send",
                            .schema = std::string("chokepoint.probe.") + kind + "/1",
                            .document = text};
    std::ignore = analysis::read_probe(row);
  }
}

// A document beside a run, as a file that a command line names or as a row of the record.
void hold_against_a_run(const std::string& text) {
  static const analysis::MadeRun kRun = [] {
    analysis::MadeRun made({.step_ms = 100, .steps = 3});
    made.host("a");
    made.host("b");
    made.add_traffic(made.connect("a", "b"), record::Direction::AToB, {});
    made.collectives(20, {0, 0});
    return made;
  }();
  analysis::RunData run = kRun.data;
  if (const auto given = analysis::given_probe(text, "fuzz")) {
    std::ignore = analysis::add_to(run, *given);
  } else if (describe(given.error()).empty()) {
    std::abort();
  }
  for (const char* kind : {"tcp", "latency", "pcie", "rdma", "collective"}) {
    run.nodes[0].probes.push_back({.kind = kind, .peer = "b", .document = text});
  }
  for (const analysis::Ceiling& ceiling : analysis::ceilings_of(run, analysis::fit_clocks(run))) {
    if (!std::isfinite(ceiling.probe_value) || analysis::sentence_of(ceiling).empty()) {
      std::abort();
    }
  }
  if (analysis::recorded_probes(run).empty()) std::abort();
  const auto runs = analysis::runs_of_document(text, "fuzz");
  has_reason(runs);
  if (runs && runs->empty()) std::abort();
}

void read_texts(const std::string& text) {
  if (const auto curve = analysis::parse_curve(text, "fuzz")) {
    for (const double bytes : {0.0, 1.0, 1e6, 1e12}) {
      if (std::isnan(analysis::time_ms(*curve, bytes))) std::abort();
    }
  }
  if (const auto limits = preflight::limits_in(text, "fuzz")) {
    const auto again = preflight::limits_in(preflight::limits_text(*limits), "fuzz");
    if (!again || *again != *limits) std::abort();
  }
  if (const auto hosts = host::hosts_of(text)) {
    if (hosts->size() > host::kMaxListedHosts) std::abort();
  }
  std::ignore = host::first_host(text);
  std::ignore = host::find_rank(text);
  has_reason(probe::collective::parse_order(text));
  has_reason(probe::collective::parse_answer(text, 0));
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string text(data, data + size);
  read_texts(text);
  read_probe_of_record(text);
  hold_against_a_run(text);
  if (const auto document = json::parse_object(text, size, "fuzz")) read_measured(*document);
  return 0;
}
