// A kind of test as the server offers it. One object serves all sessions, each from its own thread.
//
//   Request ──► check ──► turn taken ──► serve: Ready, data, Report…, ──► Result
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/control/message.h"
#include "base/control/session.h"
#include "base/sys/error.h"

namespace chokepoint::control {

// Whether a test disturbs others: a heavy one fills the path, a light one needs next to nothing.
// None: it is no test itself, and takes no turn.
enum class Weight { None, Light, Heavy };

class Service {
 public:
  virtual ~Service() = default;

  virtual std::string_view kind() const = 0;
  // Before the test has to wait for its turn: parameters that are wrong or over the limits.
  virtual Result<Weight> check(const Json& parameters, const Limits& limits) const = 0;
  // Sends Ready and whatever its kind of test says. The body of the Result; an error is told to the
  // client as Failed. Returns soon after the client has gone or the server shall stop, with
  // everything that it started ended.
  virtual Result<Json> serve(Session& session, const Json& parameters) = 0;
};

using Services = std::vector<std::unique_ptr<Service>>;

}  // namespace chokepoint::control
