#include "analysis/web/site.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "analysis/web/query.h"
#include "base/page/page.h"

namespace chokepoint::analysis::web {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr const char* kHtml = "text/html; charset=utf-8";
constexpr const char* kJson = "application/json";

// The page takes script, style and documents from here and nothing from elsewhere.
constexpr std::string_view kPagePolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
// A report carries its own script, and names it by its hash. It is shown as of an origin of its
// own: even a script that got into it could ask this server for nothing.
constexpr std::string_view kReportPolicy =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "sandbox allow-scripts allow-modals";
constexpr std::string_view kNoPolicy = "default-src 'none'; frame-ancestors 'none'";

constexpr std::string_view kStartPage =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n<title>chokepoint</title>\n"
    "<link rel=\"icon\" href=\"data:,\">\n<link rel=\"stylesheet\" href=\"/page.css\">\n</head>\n"
    "<body data-view=\"fleet\">\n<noscript>This page needs its script.</noscript>\n"
    "<script src=\"/page.js\"></script>\n</body>\n</html>\n";

net::Page page(const char* type, std::string_view policy, std::string body) {
  return {.type = type, .body = std::move(body), .headers = safe_headers(policy)};
}

std::optional<net::Page> known_page(std::string_view path) {
  if (path == "/") {
    return page(kHtml, kPagePolicy, std::string(kStartPage));
  }
  if (path == "/page.js") {
    return page("text/javascript; charset=utf-8", kNoPolicy, std::string(page::page_script()));
  }
  if (path == "/page.css") {
    return page("text/css; charset=utf-8", kNoPolicy, std::string(page::page_style()));
  }
  return std::nullopt;
}

}  // namespace

struct Site::Asked {
  Question question = {};
  const char* type = kJson;
  std::string_view policy = kNoPolicy;
};

std::optional<std::string> run_below(const std::string& folder,
                                     const std::optional<std::string>& named) {
  if (!named || !named->starts_with(folder)) {
    return std::nullopt;
  }
  std::string_view rest = std::string_view(*named).substr(folder.size());
  if (!rest.empty() && !folder.ends_with('/')) {
    if (!rest.starts_with('/')) {
      return std::nullopt;
    }
    rest.remove_prefix(1);
    if (rest.empty()) {
      return std::nullopt;
    }
  }
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find('/'));
    if (part.empty() || part.starts_with('.') || rest.size() == part.size() + 1) {
      return std::nullopt;
    }
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  }
  return named;
}

std::optional<Site::Asked> Site::asked_of_history(const net::PageRequest& request) const {
  Question question{.words = {"web"}};
  question.words.insert(question.words.end(), places_.options.begin(), places_.options.end());
  if (request.path == "/data/newest") {
    question.words.emplace_back("--newest");
    question.fresh = seconds(15);
    question.usable = minutes(1);
    return Asked{.question = std::move(question)};
  }
  if (request.path == "/data/fleet") {
    question.fresh = minutes(1);
    question.usable = minutes(30);
    return Asked{.question = std::move(question)};
  }
  const auto subject = parameter(request.query, "subject");
  if (request.path != "/data/subject" || !subject || subject->empty()) {
    return std::nullopt;
  }
  if (const auto metric = parameter(request.query, "metric"); metric && !metric->empty()) {
    question.words.push_back("--metric=" + *metric);
  }
  question.words.push_back("--runs=" + places_.runs);
  question.words.insert(question.words.end(), {"--", *subject});
  question.fresh = seconds(30);
  question.usable = seconds(30);
  return Asked{.question = std::move(question)};
}

std::optional<Site::Asked> Site::asked_of_run(const net::PageRequest& request) const {
  if (request.path == "/data/runs") {
    return Asked{.question = {.words = {"runs", "--json", "--limit", "200", "--", places_.runs},
                              .fresh = seconds(10),
                              .usable = minutes(10)}};
  }
  const auto run = run_below(places_.runs, parameter(request.query, "run"));
  if (run && request.path == "/data/live") {
    return Asked{.question = {.words = {"live", "--once", "--json", "--", *run},
                              .fresh = seconds(2),
                              .usable = seconds(2)}};
  }
  if (run && request.path == "/report") {
    return Asked{.question = {.words = {"report", "--quiet", "-o", "-", "--", *run},
                              .fresh = seconds(20),
                              .usable = seconds(20)},
                 .type = kHtml,
                 .policy = kReportPolicy};
  }
  return std::nullopt;
}

std::optional<Site::Asked> Site::asked_for(const net::PageRequest& request) const {
  const auto of_history = asked_of_history(request);
  return of_history ? of_history : asked_of_run(request);
}

void Site::respond(const net::PageRequest& request, const net::PageReply& reply) const {
  if (auto refused = access_.intercept(request)) {
    return reply(*std::move(refused));
  }
  if (auto known = known_page(request.path)) {
    return reply(*std::move(known));
  }
  const auto asked = asked_for(request);
  if (!asked) {
    return reply(plain_page("404 Not Found", "nothing is served at this address"));
  }
  answers_.give(asked->question,
                [reply, type = asked->type, policy = asked->policy](const Answer& answer) {
                  reply(answer.has_failed ? plain_page("500 Internal Server Error", *answer.text)
                                          : page(type, policy, *answer.text));
                });
}

}  // namespace chokepoint::analysis::web
