// Where metrics are served. Pure but for names, which the system's resolver knows.
#pragma once

#include <string>

#include "base/net/address.h"
#include "base/sys/error.h"

namespace chokepoint::capture::live {

Result<net::Endpoint> parse_metrics_address(const std::string& text);

// Can somebody listen there? The error tells what is in the way.
Result<> try_to_listen(const net::Endpoint& endpoint);

}  // namespace chokepoint::capture::live
