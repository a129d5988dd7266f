// Who may read what `web` serves. Each request is looked at before anything is done for it:
//
//   method   GET or HEAD, and nothing else
//   Host     a name or an address of this host: a page of another site whose name was made to lead
//            here (DNS rebinding) is refused
//   origin   only the start page may be opened from another site
//   token    where there is one, by "?token=" once and from then on by a cookie
//
// Immutable; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/control/key.h"
#include "base/net/page_server.h"

namespace chokepoint::analysis::web {

// Headers that each response has: no other origin, nothing kept, nothing guessed.
std::string safe_headers(std::string_view policy);

net::Page plain_page(std::string status, std::string_view text);

class Access {
 public:
  struct Rules {
    std::string token = {};      // empty: none is asked for
    std::string host_name = {};  // of this host
    int port = 0;                // cookies of other ports are others'
  };

  explicit Access(const Rules& rules);

  // Nothing where the request may go on; else what it gets.
  std::optional<net::Page> intercept(const net::PageRequest& request) const;

 private:
  bool is_own_name(std::string_view host) const;
  bool has_cookie(const net::PageRequest& request) const;
  bool is_right(std::string_view text, std::string_view right) const;
  std::optional<net::Page> ask_for_token(const net::PageRequest& request) const;

  Rules rules_;
  control::Secret comparing_;  // texts are compared by their codes under it, in constant time
  std::string session_;        // what the cookie holds
  std::string cookie_name_;
};

}  // namespace chokepoint::analysis::web
