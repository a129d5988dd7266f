// What TCP and UDP carry over the path that QUIC was tested on: short tests, one after the other,
// over the same control connection. One thread.
#include "probe/commands/quic_beside.h"

#include <algorithm>

#include "base/control/client.h"
#include "base/math/units.h"
#include "probe/tcp/outcome.h"
#include "probe/tcp/trial.h"
#include "probe/udp/outcome.h"
#include "probe/udp/test.h"

namespace chokepoint::probe {
namespace {

constexpr std::chrono::seconds kTestTime{3};

struct BesideRun {
  control::Client& client;
  const quic::Parameters& parameters;
  const std::vector<quic::Outcome>& directions;
  const sys::Root& root;
  int interrupt;

  std::chrono::nanoseconds time() const {
    return std::min<std::chrono::nanoseconds>(parameters.time, kTestTime);
  }
};

Result<bool> tcp_beside(const BesideRun& run, std::vector<documents::QuicBeside>& beside) {
  const tcp::Parameters wanted{.direction = run.parameters.direction,
                               .streams = run.parameters.streams,
                               .time = run.time(),
                               .pace_bits_per_s = run.parameters.pace_bits_per_s};
  TRY(const tcp::Trial trial,
      tcp::run(
          run.client, wanted, run.root, run.interrupt,
          [](tcp::Side, const tcp::IntervalMeasure&) {}, [](const std::string&) {}));
  for (std::size_t i = 0; i < beside.size(); ++i) {
    beside[i].tcp_mbps =
        tcp::outcome_of(trial, run.directions[i].direction).figures.throughput_mbps;
  }
  return trial.interrupted;
}

// As fast as the sender can: without a search for the rate that arrives whole.
Result<> udp_beside(const BesideRun& run, std::vector<documents::QuicBeside>& beside) {
  const udp::Parameters wanted{.direction = run.parameters.direction,
                               .time = run.time(),
                               .bits_per_s = run.parameters.pace_bits_per_s.value_or(0)};
  TRY(udp::Test test,
      udp::Test::open(run.client, wanted, {}, run.interrupt, [](const std::string&) {}));
  const udp::RunPlan plan{.run = 1,
                          .packet_bytes = test.usual_packet_bytes(),
                          .bits_per_s = *wanted.bits_per_s,
                          .time = run.time()};
  TRY(const udp::RunResult result, test.run(plan, [](const udp::Live&) {}));
  for (std::size_t i = 0; i < beside.size(); ++i) {
    const documents::UdpFigures figures =
        udp::outcome_of(result, plan, run.directions[i].direction).figures;
    beside[i].udp_mbps = figures.throughput_mbps;
    beside[i].udp_loss_percent = figures.loss_percent;
  }
  return test.close();
}

}  // namespace

Result<> run_beside(control::Client& client, const quic::Parameters& parameters,
                    const sys::Root& root, int interrupt, std::vector<quic::Outcome>& directions) {
  std::vector<documents::QuicBeside> beside(directions.size());
  const BesideRun run{.client = client,
                      .parameters = parameters,
                      .directions = directions,
                      .root = root,
                      .interrupt = interrupt};
  TRY(const bool interrupted, tcp_beside(run, beside));
  if (!interrupted) {
    TRY(udp_beside(run, beside));
  }
  for (std::size_t i = 0; i < beside.size(); ++i) {
    directions[i].figures.beside = beside[i];
  }
  return {};
}

}  // namespace chokepoint::probe
