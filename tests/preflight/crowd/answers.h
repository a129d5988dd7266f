// What a simulated agent answers to what it is asked, by the network that it stands in. One thread.
#pragma once

#include <string>

#include "base/control/message.h"
#include "preflight/task/task.h"
#include "tests/preflight/crowd/network.h"

namespace chokepoint::preflight::crowd {

// 127.1.0.1 is host 0's; others follow.
std::string address_of(HostIndex host);
std::string name_of_host(HostIndex host);
// A number that is no host's where the address is none of ours.
HostIndex host_at(std::string_view address);

// The body of Ready: {"facts": …}.
control::Json ready_body(const Network& network, HostIndex host);
// The document, as text. `together` and `flow` as way() has them.
std::string answer(const Network& network, HostIndex host, const Task& task, int together,
                   std::uint32_t flow);

}  // namespace chokepoint::preflight::crowd
