#include "probe/nuttcp/server_talk.h"

#include <fmt/format.h>

#include "probe/nuttcp/server_rules.h"

namespace chokepoint::probe::nuttcp {

using net::Patience;

ServerTalk::ServerTalk(peer::Visitor client, const ServerOptions& options, int stop)
    : channel_(std::move(client.fd), client.from.text(),
               client.said.substr(client.said.find('\n') + 1)),
      from_(client.from),
      options_(options),
      stop_(stop) {}

Result<> ServerTalk::say(const std::string& text) {
  return channel_.send(text, Patience::of(kStep, stop_));
}

Result<std::string> ServerTalk::converse() {
  TRY(const Parameters parameters, hear_parameters());
  const Result<Tally> tally = parameters.udp ? serve_udp(parameters) : serve_tcp(parameters);
  TRY(tally ? say_closing(parameters, *tally) : std::unexpected(tally.error()));
  return fmt::format("{} {}, {} stream(s), {} bytes here", parameters.version.text(),
                     parameters.udp ? "UDP" : "TCP", parameters.streams, tally->bytes);
}

Result<Parameters> ServerTalk::hear_parameters() {
  const Patience patience = Patience::of(kStep, stop_);
  const Result<> greeted = channel_.send(hello_line(), patience);
  TRY(const std::string line, greeted ? channel_.line(patience) : std::unexpected(greeted.error()));
  Result<Parameters> parameters = decode_parameters(line);
  const Result<> granted =
      parameters ? check(*parameters, options_.limits) : std::unexpected(parameters.error());
  if (!granted) {
    static_cast<void>(refuse(granted.error()));
    return std::unexpected(granted.error());
  }
  if (!parameters->rate_kbits_per_s && options_.limits.rate_bits_per_s) {
    parameters->rate_kbits_per_s =
        static_cast<std::uint64_t>(*options_.limits.rate_bits_per_s / 1e3);
  }
  return parameters;
}

Result<> ServerTalk::refuse(const Error& error) {
  return say(refusal(error.subject + ": " + error.reason));
}

Result<> ServerTalk::say_closing(const Parameters& parameters, const Tally& tally) {
  return say((reports(parameters) ? "DONE\n" : "") + closing_text(parameters, tally));
}

}  // namespace chokepoint::probe::nuttcp
