// What runs on another host to start an agent there: fixed scripts for its /bin/sh, handed over in
// one line that every login shell reads alike, with quoted words. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace chokepoint::preflight {

// The script says this on a line of its own, and becomes the agent.
inline constexpr std::string_view kStarts = "chokepoint-agent: starts";
// The script says this and "SYSTEM MACHINE", and ends with kAbsentCode: none of the programs is
// there and knows --leash.
inline constexpr std::string_view kAbsent = "chokepoint-agent: absent on ";
inline constexpr int kAbsentCode = 97;

// A word that a shell takes as it is: 'it'\''s'.
std::string quoted(std::string_view word);

// sh -c SCRIPT with its words, for whoever starts it without another shell.
using Words = std::vector<std::string>;
// The first of these programs that is there and knows --leash, then the copy of this name.
Words agent_words(std::uint16_t port, std::string_view copy, const Words& programs);
// Makes the copy of this name out of a tarball on its standard input. Nobody finds half a copy, and
// two at once do no harm; one that is there stays.
Words copy_words(std::string_view copy);

// As one line for a login shell.
std::string as_line(const Words& words);

}  // namespace chokepoint::preflight
