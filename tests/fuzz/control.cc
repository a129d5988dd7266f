// What strangers and peers say on the control connection: whatever the bytes, a message or an
// error, and no more bytes taken than the message has.
#include <cstdlib>
#include <cstring>

#include "base/control/handshake.h"
#include "base/control/message.h"
#include "base/json/codec.h"
#include "preflight/task/host_facts.h"
#include "preflight/task/task.h"
#include "probe/path/exchange.h"
#include "probe/tcp/measurement.h"
#include "probe/tcp/parameters.h"

namespace {

using namespace chokepoint;
using namespace chokepoint::probe;

// What a coordinator and an agent of a preflight say: no word of a task becomes a flag.
void understand_preflight(const control::Json& body) {
  if (const auto task = preflight::task_in(body)) {
    const auto again = preflight::task_in(json::to_json(*task));
    if (!again || *again != *task || task->peer.starts_with('-')) std::abort();
    std::ignore = preflight::command_of(*task, "chokepoint", true);
    if (preflight::longest(*task) <= task->time / 2) std::abort();
  }
  if (const auto facts = json::from_json<preflight::HostFacts>(body, "facts")) {
    if (json::from_json<preflight::HostFacts>(json::to_json(*facts), "facts") != *facts)
      std::abort();
  }
}

void understand(const control::Message& message) {
  understand_preflight(message.body);
  control::ServerHandshake server({"fuzz", "here"}, {});
  if (server.welcome(message)) std::ignore = server.agree();
  std::ignore = control::ServerHandshake::check(message);
  control::ClientHandshake client({"fuzz", "here"}, std::nullopt);
  client.hello();
  std::ignore = client.proof(message);
  std::ignore = client.admitted(message);
  std::ignore = control::read_attach(message);
  std::ignore = describe(control::error_in(message.body, "peer"));
  if (const auto parameters = tcp::parameters_in(message.body)) {
    if (!tcp::parameters_in(tcp::body_of(*parameters))) std::abort();
  }
  if (const auto half = tcp::half_in(message.body)) {
    if (!tcp::half_in(tcp::body_of(*half))) std::abort();
  }
  std::ignore = tcp::interval_in(message.body);
  if (const auto parameters = path::parameters_in(message.body)) {
    if (!path::parameters_in(path::body_of(*parameters))) std::abort();
  }
  if (const auto survey = path::survey_in(message.body)) {
    if (!path::survey_in(path::body_of(*survey))) std::abort();
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  control::FrameReader reader(control::kMaxFromClient);
  // Nobody without the key makes a frame that opens.
  const bool is_sealed = size > 0 && (data[0] & 1) == 0;
  if (is_sealed) reader.seal(control::Seal(control::secret_of("the fuzzer does not know it")));
  while (size > 0) {
    const std::span<std::byte> into = reader.wanted();
    if (into.empty()) std::abort();
    const std::size_t count = std::min(into.size(), size);
    std::memcpy(into.data(), data, count);
    data += count;
    size -= count;
    const auto message = reader.took(count);
    if (!message) break;
    if (*message && is_sealed && (*message)->type != control::Type::Refused) std::abort();
    if (*message) understand(**message);
  }
  return 0;
}
