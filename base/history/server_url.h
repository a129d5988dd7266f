// The URL of a history on a server of PostgreSQL: "postgresql://user@host/database", also with
// "postgres://". Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace chokepoint::history {

bool is_server_url(std::string_view place);

// Without the password, for messages and documents. A file's name stays as it is.
std::string shown_place(const std::string& place);

}  // namespace chokepoint::history
