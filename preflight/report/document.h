// The result of a preflight for programs: chokepoint.preflight/1 with all that was measured and
// judged (docs/guide/preflight.md explains its fields), written and read back, as a page for
// browsers, and as a list of hosts for a scheduler. No I/O.
#pragma once

#include <string>
#include <string_view>

#include "base/cli/context.h"
#include "base/cli/output.h"
#include "base/sys/error.h"
#include "preflight/judge/judge.h"
#include "preflight/task/measured.h"

namespace chokepoint::preflight {

inline constexpr const char* kSchema = "chokepoint.preflight/1";

cli::Json document_of(const cli::Context& context, const Measured& measured,
                      const Judgement& judgement);

// The JSON Schema of all but its head, for docs/reference.
cli::Json document_schema();

// One HTML file that needs no other: base/page's, with the document in it, and the text page for
// readers without scripts. For a large cluster the file has less than the document, so that a
// browser opens it quickly. Unsupported if this was built without what draws pages.
Result<std::string> html_of(const cli::Context& context, const Measured& measured,
                            const Judgement& judgement);

// For more pairs than a page shows one by one: figures of three digits, a list of equal figures as
// that figure, nothing that the page does not draw, and "reduced".
inline constexpr std::size_t kMaxPairsInFull = 30000;
void reduce(cli::Json& document);

// Hosts to which a scheduler should give no job: a line for each host that alone is at fault for
// something CRITICAL: its name as it was given, a space, the reason. Not for faults between hosts,
// nor for an agent that is missing or has another key, which is no fault of the host. Empty if
// no pair could be tested: then this host may be at fault.
std::string drain_list(const Measured& measured, const Judgement& judgement);

// A document read back, to be compared with a later preflight. The file is not trusted: all of it
// is checked. Malformed if it is no such document, Newer if it is a newer version of it.
Result<Measured> measured_in(const cli::Json& document);

// The same from a file's text, which may be cut short.
Result<Measured> measured_in_text(std::string_view text);

}  // namespace chokepoint::preflight
