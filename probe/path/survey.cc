#include "probe/path/survey.h"

#include <algorithm>

#include "probe/path/attentive.h"
#include "probe/path/tcp_prober.h"
#include "probe/path/trace.h"
#include "probe/path/udp_mtu_probe.h"

namespace chokepoint::probe::path {
namespace {

struct Leg {
  UdpProber& flow;
  const SurveyOptions& options;
  const sys::Clock& clock;
  std::int64_t until_ns;
};

Result<Trace> trace_by_tcp(const Leg& leg) {
  const net::Endpoint target{.address = leg.flow.target().address, .port = leg.options.port};
  TcpProber connections(target, leg.options.origin, leg.clock);
  Attentive prober(connections, leg.flow);
  Result<Trace> traced = trace(prober, leg.options.plan, leg.clock, leg.until_ns);
  if (traced) {
    traced->protocol = Protocol::Tcp;
    traced->source = {.address = leg.flow.source().address};
    traced->target = target;
  }
  return traced;
}

Result<Trace> trace_by_udp(const Leg& leg) {
  Result<Trace> traced = trace(leg.flow, leg.options.plan, leg.clock, leg.until_ns);
  if (traced) {
    traced->source = leg.flow.source();
    traced->target = leg.flow.target();
  }
  return traced;
}

Result<> find_mtu(const Leg& leg, const Confirmation& confirmation, Survey& found) {
  TRY(const int interface_mtu, leg.flow.interface_mtu_bytes());
  UdpMtuProbe probe(leg.flow, confirmation, leg.clock);
  TRY(MtuFinding mtu, search_mtu(probe, interface_mtu, leg.clock, leg.until_ns));
  found.mtu = mtu;
  return {};
}

Result<> find_black_hole(const Leg& leg, Survey& found) {
  const int large = *found.mtu->black_hole_from_bytes;
  PlanOptions plan = leg.options.plan;
  plan.probes = 2;
  plan.patience_ns = plan.wait_ns;
  plan.max_hops = std::max(static_cast<int>(found.trace.hops.size()), 1);
  leg.flow.set_packet_bytes(large);
  const Result<Trace> traced = trace(leg.flow, plan, leg.clock, leg.until_ns);
  leg.flow.set_packet_bytes(kSmallPacketBytes);
  if (!traced) {
    return std::unexpected(traced.error());
  }
  // Cut short, it would blame the hop that it had come to.
  if (traced->complete) {
    found.black_hole = locate(found.trace.hops, traced->hops, large);
  }
  return {};
}

Result<Survey> make(const Leg& leg, const Confirmation& confirmation) {
  TRY(Trace traced, leg.options.protocol == Protocol::Tcp ? trace_by_tcp(leg) : trace_by_udp(leg));
  Survey found{.trace = std::move(traced)};
  Result<> done;
  if (leg.options.search_mtu) {
    done = find_mtu(leg, confirmation, found);
  }
  if (done && found.mtu && found.mtu->black_hole_from_bytes) {
    done = find_black_hole(leg, found);
  }
  // Interrupted: what was found is kept.
  if (!done && done.error().kind != ErrorKind::Interrupted) {
    return std::unexpected(done.error());
  }
  return found;
}

}  // namespace

Result<Survey> survey(const net::Address& target, const SurveyOptions& options,
                      const sys::Clock& clock, std::int64_t until_ns) {
  const std::uint16_t port = options.protocol == Protocol::Tcp ? kTracePort : options.port;
  Result<UdpProber> flow =
      UdpProber::open({.address = target, .port = port}, options.origin, kSmallPacketBytes, clock);
  if (!flow) {
    return std::unexpected(flow.error());
  }
  return make({*flow, options, clock, until_ns}, Confirmation::by_refusal());
}

Result<Survey> survey(UdpProber& flow, const SurveyOptions& options, const sys::Clock& clock,
                      std::int64_t until_ns) {
  return make({flow, options, clock, until_ns}, Confirmation::by_echo());
}

}  // namespace chokepoint::probe::path
