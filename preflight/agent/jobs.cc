#include "preflight/agent/jobs.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "base/cli/text.h"
#include "base/control/message.h"
#include "base/history/place.h"
#include "base/json/codec.h"
#include "base/net/address.h"
#include "base/net/resolver.h"
#include "base/sys/descriptor.h"
#include "base/sys/process.h"
#include "preflight/task/task.h"

namespace chokepoint::preflight {
namespace {

using control::Json;
using std::chrono::milliseconds;

constexpr milliseconds kGrace{1000};
constexpr std::size_t kMaxDocument = std::size_t{4} * 1024 * 1024;
constexpr std::size_t kMaxLineBytes = 400;
// Exit codes: docs/design.md, "Errors and exit codes".
constexpr int kUsage = 2;
constexpr int kFound = 3;
constexpr int kInterrupted = 130;

// A key fits into a pipe's buffer whole, so writing it does not wait for its reader.
Result<sys::Descriptor> input_of(const std::string& key) {
  if (key.empty()) {
    sys::Descriptor nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
    // Without one it would read what this process reads.
    return nothing ? Result<sys::Descriptor>(std::move(nothing))
                   : fail(from_errno(errno, "start", "test"));
  }
  TRY(sys::Pipe pipe, sys::open_pipe("start", "test"));
  if (write(pipe.write.get(), key.data(), key.size()) != static_cast<ssize_t>(key.size())) {
    return fail(from_errno(errno, "hand over", "key"));
  }
  return std::move(pipe.read);
}

std::string last_line(std::string text, std::string_view command) {
  text.erase(text.find_last_not_of('\n') + 1);
  text.erase(0, text.rfind('\n') + 1);
  for (const std::string& start :
       {fmt::format("chokepoint: {}: ", command), std::string("chokepoint: ")}) {
    if (text.starts_with(start)) {
      text.erase(0, start.size());
      break;
    }
  }
  return cli::printable(text.substr(0, kMaxLineBytes));
}

// A command prints its error as a line of text, from which only this much of the kind follows:
// the exit code of wrong usage, and the words of ECONNREFUSED, by which the lead knows that the
// peer's host answers.
ErrorKind kind_of(int exit_code, std::string_view line) {
  if (exit_code == kUsage) {
    return ErrorKind::Usage;
  }
  return line.contains(from_errno(ECONNREFUSED, "", "").reason) ? ErrorKind::Refused
                                                                : ErrorKind::Io;
}

using Clock = net::Deadline::Clock;

constexpr std::size_t kMaxOpen = 16;  // lookups of one conversation at once
// Of one lookup: a resolver asks each of its servers for 5 s before it takes the next
// (resolv.conf(5)).
constexpr std::chrono::seconds kMaxLookupTime{8};

NameLookup lookup_of(const std::string& name, const Names::Answer& answer) {
  NameLookup lookup{.name = name};
  if (!answer) {
    lookup.error = answer.error();
    return lookup;
  }
  for (const net::Address& address :
       std::span(*answer).first(std::min(answer->size(), kMaxNamedAddresses))) {
    lookup.addresses.push_back(address.text());
  }
  return lookup;
}

Names::Answer late(const std::string& name) {
  return fail(ErrorKind::Timeout, "resolve", name, "the resolver did not answer in time",
              "are the name servers in /etc/resolv.conf reachable from there?");
}

}  // namespace

Result<std::unique_ptr<Job>> Child::start(const Task& task, const ChildOptions& options,
                                          const sys::Clock& clock) {
  TRY(const sys::Descriptor in, input_of(options.key));
  TRY(sys::ChildOutput child,
      sys::start_child({.command = command_of(task, options.program, !options.key.empty()),
                        .environment = {sys::tie_to_this_process(), history::nothing()},
                        .in = in.get()},
                       "start"));
  return std::unique_ptr<Job>(new Child(task, options, clock, std::move(child)));
}

Child::Child(const Task& task, const ChildOptions& options, const sys::Clock& clock,
             sys::ChildOutput child)
    : task_(task),
      longest_(options.longest),
      deadline_(net::Deadline::Clock::now() + options.longest),
      clock_(clock),
      child_(std::move(child)) {}

Child::~Child() {
  if (!ended_) {
    sys::end_tree(child_.process.pid(), kGrace, sys::Root("/"), clock_);
  }
}

std::vector<int> Child::watched() const {
  return {child_.process.descriptor(), child_.out.descriptor(), child_.err.descriptor()};
}

std::unexpected<Error> Child::failed(ErrorKind kind, const std::string& reason) const {
  return fail(kind, command_name(task_.kind), task_.peer, reason);
}

Result<std::optional<Json>> Child::look() {
  // Asked first: what it wrote before its end is then read whole.
  const Result<std::optional<sys::ExitStatus>> status = child_.process.poll();
  child_.out.take(document_, kMaxDocument);
  child_.err.take_last(words_);
  if (!status) {
    return std::unexpected(status.error());
  }
  if (document_.size() > kMaxDocument) {
    return failed(ErrorKind::Malformed, "its document is larger than any");
  }
  if (*status) {
    ended_ = true;
    Result<Json> document = answer(**status);
    return document ? Result<std::optional<Json>>(std::move(*document))
                    : std::unexpected(document.error());
  }
  if (net::Deadline::Clock::now() < deadline_) {
    return std::nullopt;
  }
  std::string reason = fmt::format("was ended after {} s", longest_.count() / 1000);
  if (const std::string message = last_line(words_, command_name(task_.kind)); !message.empty()) {
    reason += "; the last it said: " + message;
  }
  return failed(ErrorKind::Timeout, reason);
}

Result<Json> Child::answer(const sys::ExitStatus& status) const {
  const std::string message = last_line(words_, command_name(task_.kind));
  if (status.signal != 0) {
    return failed(ErrorKind::Io, fmt::format("was ended by signal {}", status.signal));
  }
  if (status.code == kInterrupted) {
    return failed(ErrorKind::Io, "was interrupted on that host");
  }
  const bool is_done = status.code == 0 || status.code == kFound;
  if (!is_done && !message.empty()) {
    return failed(kind_of(status.code, message), message);
  }
  Json document = json::parse_object(document_, kMaxDocument, "document").value_or(Json());
  const auto schema = document.is_object() ? document.find("schema") : document.end();
  if (schema == document.end() || !schema->is_string()) {
    return failed(ErrorKind::Malformed,
                  fmt::format("exited with {} and without a document", status.code));
  }
  return document;
}

Names::Names(std::vector<std::string> names, std::chrono::milliseconds longest, Resolve resolve,
             LookupCount lookups)
    : names_(std::move(names)),
      deadline_(Clock::now() + longest),
      resolve_(std::move(resolve)),
      lookups_(std::move(lookups)),
      answers_(names_.size()) {}

sys::Late<Names::Answer> Names::ask(const std::string& name) const {
  ++*lookups_;
  return sys::Late<Answer>([resolve = resolve_, lookups = lookups_, name] {
    Answer answer = resolve(name);
    --*lookups;
    return answer;
  });
}

void Names::ask_some() {
  while (asked_ < names_.size() && open_.size() < kMaxOpen && *lookups_ < kMaxLookups &&
         Clock::now() < deadline_) {
    open_.push_back({.index = asked_,
                     .deadline = std::min(deadline_, Clock::now() + kMaxLookupTime),
                     .late = ask(names_[asked_])});
    ++asked_;
  }
}

bool Names::take(Question& question) {
  const auto now = Clock::now();
  const std::optional<Answer> answer = question.late.by(now);
  if (!answer && now < question.deadline) {
    return false;
  }
  const std::string& name = names_[question.index];
  answers_[question.index] = lookup_of(name, answer ? *answer : late(name));
  return true;
}

Result<std::optional<Json>> Names::look() {
  ask_some();
  std::erase_if(open_, [&](Question& question) { return take(question); });
  const bool is_late = Clock::now() >= deadline_;
  if (!open_.empty() || (asked_ < names_.size() && !is_late)) {
    return std::nullopt;
  }
  for (; asked_ < names_.size(); ++asked_) {
    answers_[asked_] = lookup_of(names_[asked_], late(names_[asked_]));
  }
  return Json{{"schema", kNamesSchema}, {"answers", json::to_json(answers_)}};
}

Names::Resolve system_resolver() {
  return [](const std::string& name) { return net::resolve(name, std::nullopt); };
}

}  // namespace chokepoint::preflight
