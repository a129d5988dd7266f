#include "analysis/web/access.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/web/query.h"
#include "base/net/address.h"

namespace chokepoint::analysis::web {
namespace {

constexpr std::string_view kToken = "token";

// "localhost:8080" and "[::1]:8080" without the port: a tunnel has one of its own.
std::optional<std::string> name_in(std::string_view host) {
  const bool is_clean = host.find_first_of(" \t/@\\") == host.npos;
  const auto parsed = net::parse_host_port(host, 0);
  return is_clean && parsed && !parsed->host.empty() ? std::optional(parsed->host) : std::nullopt;
}

}  // namespace

std::string safe_headers(std::string_view policy) {
  return fmt::format(
      "Content-Security-Policy: {}\r\n"
      "X-Content-Type-Options: nosniff\r\n"
      "X-Frame-Options: DENY\r\n"
      "Referrer-Policy: no-referrer\r\n"
      "Cross-Origin-Resource-Policy: same-origin\r\n"
      "Cache-Control: no-store\r\n",
      policy);
}

net::Page plain_page(std::string status, std::string_view text) {
  return {.status = std::move(status),
          .body = std::string(text) + "\n",
          .headers = safe_headers("default-src 'none'; frame-ancestors 'none'")};
}

Access::Access(const Rules& rules)
    : rules_(rules),
      comparing_(control::random_secret()),
      session_(control::random_id()),
      cookie_name_(fmt::format("chokepoint-{}", rules.port)) {}

std::optional<net::Page> Access::intercept(const net::PageRequest& request) const {
  if (request.method != "GET" && request.method != "HEAD") {
    return plain_page("405 Method Not Allowed", "GET and HEAD are served");
  }
  if (!request.path.starts_with('/')) {
    return plain_page("400 Bad Request", "this is no address of this server");
  }
  const auto host = request.header("Host");
  const auto name = host ? name_in(*host) : std::nullopt;
  if (!name) {
    return plain_page("400 Bad Request", "one header Host is needed");
  }
  if (!is_own_name(*name)) {
    return plain_page("421 Misdirected Request",
                      "this server is not known by that name: use the address that 'chokepoint "
                      "web' printed, or localhost");
  }
  const auto site = request.header("Sec-Fetch-Site");
  if (site && (*site == "cross-site" || *site == "same-site") && request.path != "/") {
    return plain_page("403 Forbidden", "another site may open the start page alone");
  }
  return rules_.token.empty() || has_cookie(request) ? std::nullopt : ask_for_token(request);
}

// An address is no name that somebody else can make lead here. This host's name in some domain may
// be one, so it is enough only where a token is asked for, too.
bool Access::is_own_name(std::string_view host) const {
  const std::string_view own = rules_.host_name;
  const bool is_in_a_domain = host.size() > own.size() && host[own.size()] == '.' && !own.empty() &&
                              net::is_same_name(host.substr(0, own.size()), own);
  return net::Address::parse(host).has_value() || net::is_same_name(host, "localhost") ||
         net::is_same_name(host, own) || (is_in_a_domain && !rules_.token.empty());
}

bool Access::is_right(std::string_view text, std::string_view right) const {
  return control::same(control::mac_of(comparing_, {text}), control::mac_of(comparing_, {right}));
}

bool Access::has_cookie(const net::PageRequest& request) const {
  std::string_view cookies = request.header("Cookie").value_or("");
  while (!cookies.empty()) {
    const std::string_view cookie = cookies.substr(0, cookies.find(';'));
    cookies.remove_prefix(std::min(cookie.size() + 1, cookies.size()));
    const std::size_t begin = std::min(cookie.find_first_not_of(' '), cookie.size());
    const std::string_view pair = cookie.substr(begin);
    const std::size_t equals = std::min(pair.find('='), pair.size());
    if (pair.substr(0, equals) == cookie_name_ && equals < pair.size() &&
        is_right(pair.substr(equals + 1), session_)) {
      return true;
    }
  }
  return false;
}

// The token leaves the address bar, and with it the browser's history, at once.
std::optional<net::Page> Access::ask_for_token(const net::PageRequest& request) const {
  const auto token = parameter(request.query, kToken);
  if (!token || !is_right(*token, rules_.token)) {
    return plain_page("401 Unauthorized",
                      "open the address that 'chokepoint web' printed, with its token");
  }
  net::Page page = plain_page("303 See Other", "");
  page.headers +=
      fmt::format("Location: /\r\nSet-Cookie: {}={}; HttpOnly; SameSite=Strict; Path=/\r\n",
                  cookie_name_, session_);
  return page;
}

}  // namespace chokepoint::analysis::web
