// What a person is shown of an RDMA test: both sides, the figures, what the ports counted and
// whether the fabric was clean.
#pragma once

#include "base/cli/context.h"
#include "rdma/fabric/judgement.h"
#include "rdma/session/trial.h"

namespace chokepoint::rdma {

void print_page(const cli::Context& context, const session::Trial& trial,
                const fabric::Judgement& fabric, const std::string& peer);

}  // namespace chokepoint::rdma
