// The chokepoint.capture/1 document: every flow there is, written as it is made.
#pragma once

#include "base/cli/context.h"
#include "base/cli/output.h"
#include "capture/commands/findings.h"

namespace chokepoint::capture {

struct DocumentOptions {
  bool series = false;  // the course of the flows in Findings::top
};

// `head`: schema, host, started_at.
void print_document(const cli::Context& context, const cli::Json& head, const Findings& findings,
                    const observer::Observer& observer, const DocumentOptions& options);

}  // namespace chokepoint::capture
