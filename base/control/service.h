// A kind of test as a server offers it. One object serves all sessions, each from its own thread.
//
//   Request ──► check ──► turn taken ──► serve: Ready, data, Report…, ──► Result
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/control/limits.h"
#include "base/control/message.h"
#include "base/control/session.h"
#include "base/control/test_queue.h"
#include "base/sys/error.h"

namespace chokepoint::control {

class Service {
 public:
  virtual ~Service() = default;

  virtual std::string_view kind() const = 0;
  // Before the test has to wait for its turn: parameters that are wrong or over the limits.
  virtual Result<Demand> check(const Json& parameters, const Limits& limits) const = 0;
  // Sends Ready and the other messages of its kind of test. The body of the Result; an error is
  // sent to the client as Failed. Returns soon after the client has gone or the server shall stop,
  // with everything that it started ended.
  virtual Result<Json> serve(Session& session, const Json& parameters) = 0;
};

using Services = std::vector<std::unique_ptr<Service>>;

// One whose parameters are a value: they are read here, before the turn and after it.
template <class Parameters, Result<Parameters> (*kRead)(const Json& body)>
class TestService : public Service {
 public:
  Result<Demand> check(const Json& body, const Limits& limits) const final {
    TRY(const Parameters parameters, kRead(body));
    return demand(parameters, limits);
  }
  Result<Json> serve(Session& session, const Json& body) final {
    TRY(const Parameters parameters, kRead(body));
    return run(session, parameters);
  }

 protected:
  // As check() and serve().
  virtual Result<Demand> demand(const Parameters& parameters, const Limits& limits) const = 0;
  virtual Result<Json> run(Session& session, const Parameters& parameters) = 0;
};

}  // namespace chokepoint::control
