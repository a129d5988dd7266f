// chokepoint.rdma/1. Values in, a document out.
#pragma once

#include "base/cli/output.h"
#include "rdma/fabric/judgement.h"
#include "rdma/session/trial.h"

namespace chokepoint::rdma {

// Into `document`, which has its head and its peer already.
void add_to(cli::Json& document, const session::Trial& trial, const fabric::Judgement& fabric);

}  // namespace chokepoint::rdma
