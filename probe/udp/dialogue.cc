#include "probe/udp/dialogue.h"

#include <poll.h>

#include "base/control/fields.h"
#include "base/control/message.h"

namespace chokepoint::probe::udp {
namespace {

using control::Fields;
using control::Json;
using control::Message;
using control::Type;

constexpr std::chrono::milliseconds kStep{10};

Result<std::vector<std::uint64_t>> numbers_in(const Json& body) {
  std::vector<std::uint64_t> numbers;
  const auto list = body.find("sent");
  if (list == body.end() || !list->is_array()) {
    return fail(ErrorKind::Malformed, "read message", "udp stop 'sent'", "wanted a list");
  }
  for (const Json& each : *list) {
    if (!each.is_number_unsigned()) {
      return fail(ErrorKind::Malformed, "read message", "udp stop 'sent'", "wanted numbers");
    }
    numbers.push_back(each.get<std::uint64_t>());
  }
  return numbers;
}

}  // namespace

Result<> Dialogue::step(const net::Patience& patience) {
  const Result<> waited =
      net::wait_for(channel_.descriptor(), POLLIN, patience.at_most(kStep), "udp", channel_.peer());
  if (!waited && waited.error().kind != ErrorKind::Timeout) {
    return waited;
  }
  Result<std::optional<Message>> said = channel_.poll();
  while (said && *said) {
    if (const Result<> heard = hear(**said); !heard) {
      return heard;
    }
    said = channel_.poll();
  }
  return said ? tell(patience) : std::unexpected(said.error());
}

void Dialogue::stop() {
  stopping_ = true;
  threads_.stop_sending();
}

Result<> Dialogue::tell(const net::Patience& patience) {
  if (told_ || !threads_.sent_all()) {
    return {};
  }
  told_ = true;
  return channel_.send(
      {Type::Stop, {{"run", plan_.run}, {"sent", threads_.sent()}, {"now", stopping_}}}, patience);
}

Result<> Dialogue::hear(const Message& message) {
  switch (message.type) {
    case Type::Stop:
      return hear_stop(message);
    case Type::Report:
    case Type::Note:
      return hear_report(message);
    case Type::Failed:
      return fail(control::error_in(message.body, channel_.peer()));
    default:
      return fail(ErrorKind::Malformed, "udp", channel_.peer(),
                  std::string(control::name_of(message.type)) + " came in the middle of a run");
  }
}

Result<> Dialogue::hear_stop(const Message& message) {
  TRY(const std::vector<std::uint64_t> sent, numbers_in(message.body));
  if (heard_ || !threads_.expect(sent)) {
    return fail(ErrorKind::Malformed, "udp", channel_.peer(), "it told of other flows than asked");
  }
  heard_ = true;
  if (message.body.value("now", false)) {
    threads_.stop_sending();
  }
  return {};
}

Result<> Dialogue::hear_report(const Message& message) {
  if (message.type == Type::Note) {
    TRY(SideReport report, side_report_in(message.body));
    peer_report_ = std::move(report);
    return {};
  }
  Fields in(message.body, "udp report");
  const auto count = [&](const char* name) {
    return static_cast<std::uint64_t>(in.integer(name, 0, INT64_MAX));
  };
  const Result<LiveCounts> counts = in.finish(LiveCounts{
      .packets = count("packets"), .bytes = count("bytes"), .missing = count("missing")});
  if (!counts) {
    return std::unexpected(counts.error());
  }
  peer_so_far_ = *counts;
  return {};
}

Message live_report(const LiveCounts& counts) {
  return {Type::Report,
          {{"packets", counts.packets}, {"bytes", counts.bytes}, {"missing", counts.missing}}};
}

}  // namespace chokepoint::probe::udp
