#include <fmt/format.h>

#include <utility>

#include "base/control/message.h"
#include "base/math/units.h"
#include "base/sys/descriptor.h"
#include "probe/rpc/engine.h"
#include "probe/rpc/exchange.h"
#include "probe/rpc/test.h"

namespace chokepoint::probe::rpc {
namespace {

using control::Client;
using net::Deadline;
using std::chrono::milliseconds;

constexpr std::chrono::hours kQueue{1};
// An interrupted test still collects what the server measured, but the user does not wait long.
constexpr milliseconds kAfterInterrupt{3000};

// Versions before this kind of test do not know it, and say the same as a server that was told not
// to offer it.
Error without_rpc(Error error, const Client& client, const std::string& program) {
  const std::string& theirs = client.admittance().server.program;
  if (error.kind == ErrorKind::Unsupported && theirs != program) {
    error.next_step = fmt::format(
        "it is {}, and this is {}: versions before 'probe rpc' do not know it; upgrade it there, "
        "or see --offer of 'chokepoint serve'",
        theirs, program);
  }
  return error;
}

// How long the last answers may take once the time is over; those that take longer are counted as
// unanswered.
constexpr std::chrono::seconds kDrain{40};

// Until the time is over and the last answer has come. True where the user interrupted it.
Result<bool> call_until_done(Client& client, Engine& engine, const Parameters& parameters,
                             int interrupt) {
  while (true) {
    const Result<bool> has_news = engine.turn();
    if (!has_news) {
      return fail(told_by(client, has_news.error(), interrupt));
    }
    if (!*has_news) {
      continue;
    }
    TRY(hear_progress(client, engine));
    if (sys::is_readable(interrupt)) {
      return true;
    }
    const auto over_for = engine.since_begin() - parameters.time;
    if (over_for >= kDrain || (over_for.count() >= 0 && engine.outstanding() == 0)) {
      return false;
    }
    if (engine.stalled() > patience_of(parameters)) {
      return fail(stalled(client, engine, parameters));
    }
  }
}

}  // namespace

Result<Trial> run(Client& client, const Parameters& parameters, const ClientContext& context,
                  const Watcher& watcher, const control::Waiting& waiting) {
  const int interrupt = context.interrupt;
  if (const Result<control::Json> ready =
          client.request("rpc", body_of(parameters), Deadline::of(kQueue, interrupt), waiting);
      !ready) {
    return fail(without_rpc(ready.error(), client, context.program));
  }
  TRY(std::vector<sys::Descriptor> connections,
      attach_all(client, parameters, Deadline::of(kAnswer, interrupt)));
  TRY(const std::unique_ptr<Engine> engine,
      Engine::make(std::move(connections), {}, parameters, context.root));
  TRY(engine->watch(client.channel().descriptor()));
  TRY(engine->watch(interrupt));
  TRY(engine->begin(watcher, context.interval));
  Trial trial{.parameters = parameters};
  TRY(trial.interrupted, call_until_done(client, *engine, parameters, interrupt));
  engine->end();
  TRY(Half server, stop(client, Deadline::of(trial.interrupted ? kAfterInterrupt : kAnswer)));
  trial.duration_s = engine->duration_s();
  trial.unanswered = engine->outstanding();
  trial.client = engine->host();
  trial.intervals = engine->intervals();
  Hop& first = trial.hops.emplace_back(engine->calls());
  first.host = client.admittance().server.host;
  first.address = client.peer().address.text();
  first.worker = server.worker;
  std::ranges::move(server.next, std::back_inserter(trial.hops));
  return trial;
}

}  // namespace chokepoint::probe::rpc
