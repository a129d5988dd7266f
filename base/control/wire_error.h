// Errors as the body of a Refused or Failed message. What a peer says is bounded and kept apart
// from this side's own words. Pure functions.
#pragma once

#include <string_view>

#include "base/control/message.h"
#include "base/sys/error.h"

namespace chokepoint::control {

Json body_of(const Error& error);
inline Message refused(const Error& error) { return {Type::Refused, body_of(error)}; }
inline Message failed(const Error& error) { return {Type::Failed, body_of(error)}; }

// `peer` becomes the subject where the peer named none.
Error error_in(const Json& body, std::string_view peer);

}  // namespace chokepoint::control
