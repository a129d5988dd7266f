#include <poll.h>

#include <algorithm>

#include "base/net/socket.h"
#include "probe/nuttcp/formats.h"
#include "probe/nuttcp/marks.h"
#include "probe/nuttcp/server_rules.h"
#include "probe/nuttcp/server_talk.h"
#include "probe/nuttcp/tick.h"

namespace chokepoint::probe::nuttcp {
namespace {

using net::Patience;

Tally tally_of(const peer::DatagramMeasure& measure) {
  return {
      .bytes = measure.bytes, .calls = measure.packets, .seconds = std::max(measure.seconds, 1e-6)};
}

peer::DatagramStream::Loop loop_of(const Parameters& parameters, const control::Limits& limits) {
  const DatagramFormat format{.counts = parameters.interval_s > 0};
  if (!server_sends(parameters)) {
    return peer::receiving(format);
  }
  const double kbits = static_cast<double>(parameters.rate_kbits_per_s.value_or(0));
  return peer::sending({.bytes = static_cast<std::size_t>(parameters.block_bytes),
                        .bits_per_second = kbits * 1e3,
                        .time_ns = time_of(parameters, limits).count(),
                        .packets = parameters.blocks},
                       format);
}

}  // namespace

Result<sys::Descriptor> ServerTalk::open_udp(const Parameters& parameters) const {
  TRY(const net::Endpoint local, net::local_endpoint(channel_.descriptor()));
  net::SocketOptions socket;
  if (parameters.traffic_class > 0) {
    socket.dscp = parameters.traffic_class >> 2;
  }
  const std::uint16_t port = server_sends(parameters) ? std::uint16_t{0} : parameters.data_port;
  return net::bind_udp({local.address, port}, socket);
}

// Until both know that the data begins.
Result<> ServerTalk::meet(int socket, const Parameters& parameters) {
  if (const Result<> agreed = say(ok_line()); !agreed) {
    return agreed;
  }
  if (!server_sends(parameters)) {
    return await_begin_mark(socket, from_.address, Patience::of(kStep, stop_));
  }
  static_cast<void>(
      net::wait_for(-1, 0, Patience::of(kClientListens, stop_), "serve", from_.text()));
  const Result<> connected = net::connect_udp(socket, {from_.address, parameters.data_port});
  return connected ? send_begin_marks(socket, stop_) : connected;
}

Result<> ServerTalk::flow(const Parameters& parameters, peer::DatagramMeter& meter) const {
  const bool sends = server_sends(parameters);
  const Patience patience =
      Patience::of(time_of(parameters, options_.limits) + kServerGrace, stop_);
  while (!(sends ? meter.sent() : meter.ended())) {
    const Result<> ticked = net::wait_for(-1, 0, patience.at_most(kTick), "serve", from_.text());
    meter.tick();
    if (ticked.error().kind == ErrorKind::Interrupted || patience.over()) {
      return ticked;
    }
  }
  return {};
}

Result<Tally> ServerTalk::serve_udp(const Parameters& parameters) {
  Result<sys::Descriptor> fd = open_udp(parameters);
  if (!fd) {
    static_cast<void>(refuse(fd.error()));
    return std::unexpected(fd.error());
  }
  const bool sends = server_sends(parameters);
  const int socket = fd->get();
  Result<> done = meet(socket, parameters);
  done = done ? say(opening_text(parameters, {}, from_.address.text())) : done;
  if (!done) {
    return std::unexpected(done.error());
  }
  peer::DatagramMeter meter(0, [&](const peer::DatagramInterval& interval) {
    if (reports(parameters) && done) {
      done = say(interval_line(parameters, interval.bytes, interval.end_s - interval.start_s));
    }
  });
  meter.add({std::move(*fd), sends ? peer::Role::Send : peer::Role::Receive},
            loop_of(parameters, options_.limits));
  Result<> moved = meter.begin();
  moved = moved ? flow(parameters, meter) : moved;
  moved = moved && sends ? send_end_marks(socket, stop_) : moved;
  meter.end();
  moved = moved ? done : moved;
  return moved ? Result<Tally>(tally_of(meter.measures().front())) : std::unexpected(moved.error());
}

}  // namespace chokepoint::probe::nuttcp
