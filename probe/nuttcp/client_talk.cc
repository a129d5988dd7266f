#include "probe/nuttcp/client_talk.h"

#include <fmt/format.h>

#include <algorithm>

#include "probe/peer/dial.h"

namespace chokepoint::probe::nuttcp {
namespace {

using net::Patience;
using std::chrono::seconds;

constexpr seconds kConnect{10};
constexpr seconds kAnswer{10};
// After UDP a server still sends its end marks for two seconds.
constexpr seconds kResults{10};

Error not_nuttcp(Error error, const std::string& peer) {
  error.subject = peer;
  if (error.kind == ErrorKind::Timeout) {
    error.next_step = "is 'nuttcp -S' running there, or another program?";
  }
  return error;
}

std::string without_newlines(std::string text) {
  std::ranges::replace_if(text, [](char c) { return c < ' ' || c > '~'; }, ' ');
  while (!text.empty() && text.back() == ' ') {
    text.pop_back();
  }
  return text;
}

}  // namespace

Result<ClientTalk> ClientTalk::begin(const ClientOptions& options) {
  const Patience patience = Patience::of(kConnect, options.interrupt);
  TRY(peer::Dialled dialled,
      peer::dial(options.peer, options.family, options.socket, "nuttcp -S", patience));
  LineChannel channel(
      std::move(dialled.fd),
      fmt::format("nuttcp on {} port {}", dialled.peer.address.text(), dialled.peer.port));
  const Patience answer = Patience::of(kAnswer, options.interrupt);
  const Result<> greeted = channel.send(hello_line(), answer);
  const Result<std::string> hello =
      greeted ? channel.line(answer) : std::unexpected(greeted.error());
  const Result<Version> version = hello ? read_hello(*hello) : std::unexpected(hello.error());
  if (!version) {
    return fail(not_nuttcp(version.error(), channel.peer()));
  }
  return ClientTalk(std::move(channel), dialled.peer, *version, options.interrupt);
}

Result<> ClientTalk::ask(const Parameters& parameters) {
  const Patience patience = Patience::of(kAnswer, interrupt_);
  const Result<> asked = channel_.send(encode(parameters), patience);
  const Result<std::string> line = asked ? channel_.line(patience) : std::unexpected(asked.error());
  const Result<Answer> answer = line ? read_answer(*line) : std::unexpected(line.error());
  if (!answer) {
    return fail(not_nuttcp(answer.error(), channel_.peer()));
  }
  if (*answer == Answer::Ok) {
    return {};
  }
  const Result<std::string> why = channel_.line(patience);
  return fail(ErrorKind::Refused, "", channel_.peer(),
              why ? without_newlines(*why) : "it refuses without a reason");
}

Result<ResultText> ClientTalk::results() {
  const Result<std::string> text = channel_.rest(kMostResultText, Patience::of(kResults));
  Result<ResultText> results = text ? read_results(*text) : std::unexpected(text.error());
  if (!results) {
    return fail(not_nuttcp(results.error(), channel_.peer()));
  }
  return results;
}

}  // namespace chokepoint::probe::nuttcp
