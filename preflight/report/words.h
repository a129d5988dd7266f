// What states are called in the document, and which state a word of it means. Pure functions.
#pragma once

#include <optional>
#include <string_view>

#include "preflight/judge/finding.h"
#include "preflight/result/measured.h"

namespace chokepoint::preflight {

std::string_view name_of(Presence presence);  // "no-agent" …
std::optional<Presence> presence_named(std::string_view name);

std::string_view name_of(Place place);  // "port" …

// Empty where nothing is known.
std::string_view name_of(TcpLimit limit);  // "receive-window" …
std::optional<TcpLimit> tcp_limit_named(std::string_view name);

// Empty where nothing is known.
std::string_view name_of(FamilyState state);  // "works" …
std::optional<FamilyState> family_state_named(std::string_view name);

}  // namespace chokepoint::preflight
