// The commands over RDMA, for main() to register: each factory makes a command with its flags at
// their defaults.
#pragma once

#include <cstdint>

#include "base/cli/command.h"
#include "rdma/session/service.h"

namespace chokepoint::rdma {

// Which of the four tests `chokepoint rdma …` is.
enum class Verb : std::uint8_t { Write, Read, Send, Atomic };

cli::CommandFactory rdma_test_command(Verb verb, session::OpenLibrary open);
cli::CommandFactory devices_command();

}  // namespace chokepoint::rdma
