#include "base/history/postgres_connection.h"

#include <fmt/format.h>
#include <poll.h>

#include <array>
#include <bit>
#include <limits>

#include "base/cli/text.h"
#include "base/history/server_url.h"
#include "base/net/resolver.h"

namespace chokepoint::history {
namespace {

constexpr const char* kOperation = "history";
// A server that has given up a statement has this long to say so.
constexpr std::chrono::milliseconds kGrace{500};

// The first line of it: libpq's messages have several.
std::string reason_in(const char* text) {
  const std::string_view whole = text == nullptr ? "" : text;
  return cli::printable(whole.substr(0, whole.find('\n')));
}

// SQLSTATE: https://www.postgresql.org/docs/current/errcodes-appendix.html
ErrorKind kind_of(std::string_view state) {
  constexpr std::array<std::pair<std::string_view, ErrorKind>, 11> kKinds{
      {{"42501", ErrorKind::Permission},
       {"57014", ErrorKind::Timeout},
       {"57P", ErrorKind::Unreachable},  // the server is being shut down
       {"25006", ErrorKind::ReadOnly},
       {"08", ErrorKind::Unreachable},
       {"22", ErrorKind::Malformed},
       {"23", ErrorKind::Malformed},
       {"40", ErrorKind::Busy},
       {"53", ErrorKind::Exhausted},
       {"54", ErrorKind::Malformed},
       {"55", ErrorKind::Busy}}};
  for (const auto& [beginning, kind] : kKinds) {
    if (state.starts_with(beginning)) {
      return kind;
    }
  }
  return ErrorKind::Io;
}

std::string_view next_step_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Permission:
      return "accounts that add need the role chokepoint_node, those that read chokepoint_reader, "
             "those that remove chokepoint_owner: see roles.sql";
    case ErrorKind::Timeout:
      return "see what the server is busy with: SELECT * FROM pg_stat_activity";
    case ErrorKind::Exhausted:
      return "see the server's disk and its number of connections";
    default:
      return "";
  }
}

using Options = std::unique_ptr<libpq::Option, void (*)(libpq::Option*)>;

// libpq waits for a name server as long as that likes: here it is asked first, with a deadline.
Result<> find_hosts(const libpq::Functions& functions, const std::string& url,
                    const std::string& name, const net::Deadline& deadline) {
  char* problem = nullptr;
  const Options options(functions.parse(url.c_str(), &problem), functions.free_options);
  if (problem != nullptr) {
    functions.free_memory(problem);  // it may hold the password
  }
  if (!options) {
    return fail(ErrorKind::Usage, kOperation, name, "is no URL of a database",
                "give postgresql://user@host/database");
  }
  std::string hosts;
  for (const libpq::Option* each = options.get(); each->keyword != nullptr; ++each) {
    const std::string_view keyword = each->keyword;
    if (each->value == nullptr || *each->value == '\0') {
      continue;
    }
    if (keyword == "hostaddr") {
      return {};
    }
    hosts = keyword == "host" ? each->value : hosts;
  }
  while (!hosts.empty()) {
    const std::string host = hosts.substr(0, hosts.find(','));
    hosts.erase(0, host.size() + 1);
    if (!host.empty() && host.front() != '/' && host.front() != '@') {
      auto found = net::resolve_within(host, std::nullopt, deadline);
      if (!found && found.error().kind == ErrorKind::Timeout) {
        return fail(std::move(found).error());
      }
    }
  }
  return {};
}

}  // namespace

std::uint64_t PostgresRow::bits(int column) const {
  const char* value = functions_.value(answer_, row_, column);
  const int length = functions_.length(answer_, row_, column);
  constexpr int kBitsPerByte = 8;
  std::uint64_t number = 0;
  for (int at = 0; at < std::min<int>(length, sizeof(number)); ++at) {
    number = number << kBitsPerByte | static_cast<unsigned char>(value[at]);
  }
  return number;
}

void PostgresRow::read(int column, std::int64_t& value) const {
  const std::uint64_t number = bits(column);
  switch (functions_.length(answer_, row_, column)) {
    case sizeof(std::int16_t):
      value = static_cast<std::int16_t>(number);
      break;
    case sizeof(std::int32_t):
      value = static_cast<std::int32_t>(number);
      break;
    default:
      value = static_cast<std::int64_t>(number);
  }
}

void PostgresRow::read(int column, double& value) const {
  value = functions_.is_null(answer_, row_, column) != 0 ? std::numeric_limits<double>::quiet_NaN()
                                                         : std::bit_cast<double>(bits(column));
}

void PostgresRow::read(int column, std::string& value) const {
  value.assign(functions_.value(answer_, row_, column),
               static_cast<std::size_t>(functions_.length(answer_, row_, column)));
}

Result<PostgresConnection> PostgresConnection::connect(const std::string& url,
                                                       const net::Deadline& deadline) {
  std::string name = cli::printable(shown_place(url));
  TRY(const auto functions, libpq::open());
  TRY(find_hosts(*functions, url, name, deadline));
  const std::array<const char*, 4> keywords{"dbname", "client_encoding",
                                            "fallback_application_name", nullptr};
  const std::array<const char*, 4> values{url.c_str(), "UTF8", "chokepoint", nullptr};
  constexpr int kExpandUrl = 1;
  Handle handle(functions->connect_start(keywords.data(), values.data(), kExpandUrl), {functions});
  if (!handle) {
    return fail(ErrorKind::Exhausted, kOperation, name, "no memory for a connection");
  }
  PostgresConnection connection(functions, std::move(handle), std::move(name));
  TRY(connection.finish_connecting(deadline));
  return connection;
}

Result<> PostgresConnection::finish_connecting(const net::Deadline& deadline) {
  // What the server has to say would go to standard error.
  functions_->set_receiver(handle_.get(), [](void*, libpq::ConstAnswer) {}, nullptr);
  bool is_reading = false;
  while (functions_->status(handle_.get()) != libpq::kConnectionBad) {
    TRY(net::wait_for(functions_->socket(handle_.get()),
                      static_cast<short>(is_reading ? POLLIN : POLLOUT), deadline, kOperation,
                      name_));
    const int state = functions_->connect_poll(handle_.get());
    if (state == libpq::kPollingOk) {
      functions_->set_nonblocking(handle_.get(), 1);
      return {};
    }
    if (state == libpq::kPollingFailed) {
      break;
    }
    is_reading = state == libpq::kPollingReading;
  }
  return lost();
}

std::unexpected<Error> PostgresConnection::lost() const {
  return fail(ErrorKind::Unreachable, kOperation, name_,
              reason_in(functions_->error_message(handle_.get())),
              "see whether the server runs, and whether it lets this account in (pg_hba.conf)");
}

Error PostgresConnection::error_of(libpq::ConstAnswer answer) const {
  const char* state = functions_->answer_field(answer, libpq::kFieldState);
  if (state == nullptr) {  // of libpq, not of the server: the connection is gone
    return std::move(lost()).error();
  }
  const char* message = functions_->answer_field(answer, libpq::kFieldMessage);
  const ErrorKind kind = kind_of(state);
  return {.kind = kind,
          .operation = kOperation,
          .subject = name_,
          .reason = reason_in(message == nullptr ? functions_->answer_message(answer) : message),
          .next_step = std::string(next_step_of(kind))};
}

Result<> PostgresConnection::run(const char* sql, const Values& values,
                                 std::chrono::milliseconds wait, const Take& take) {
  TRY(limit_statements(wait));
  const net::Deadline deadline = net::Deadline::of(wait + kGrace);
  TRY(send(sql, values));
  functions_->single_rows(handle_.get());
  TRY(flush(deadline));
  return take_answers(deadline, take);
}

// The server gives up first, and lets go of its locks.
Result<> PostgresConnection::limit_statements(std::chrono::milliseconds wait) {
  if (wait == limit_) {
    return {};
  }
  const net::Deadline deadline = net::Deadline::of(wait + kGrace);
  TRY(send("SELECT set_config('statement_timeout', $1, false)", {fmt::format("{}", wait.count())}));
  TRY(flush(deadline));
  TRY(take_answers(deadline, {}));
  limit_ = wait;
  return {};
}

Result<> PostgresConnection::run_script(const std::string& sql, std::chrono::milliseconds wait) {
  TRY(limit_statements(wait));
  const net::Deadline deadline = net::Deadline::of(wait + kGrace);
  if (functions_->send_query(handle_.get(), sql.c_str()) == 0) {
    return lost();
  }
  TRY(flush(deadline));
  return take_answers(deadline, {});
}

Result<> PostgresConnection::send(const char* sql, const Values& values) {
  std::vector<const char*> texts;
  for (const std::string& value : values) {
    texts.push_back(value.c_str());
  }
  if (functions_->send_parameters(handle_.get(), sql, static_cast<int>(texts.size()), nullptr,
                                  texts.data(), nullptr, nullptr, libpq::kBinary) == 0) {
    return lost();
  }
  return {};
}

Result<> PostgresConnection::flush(const net::Deadline& deadline) {
  while (true) {
    const int left = functions_->flush(handle_.get());
    if (left == 0) {
      return {};
    }
    if (left < 0) {
      return lost();
    }
    TRY(net::wait_for(functions_->socket(handle_.get()), POLLIN | POLLOUT, deadline, kOperation,
                      name_));
    // A server that answers meanwhile would wait for this to be read.
    if (functions_->consume(handle_.get()) == 0) {
      return lost();
    }
  }
}

Result<> PostgresConnection::take_answers(const net::Deadline& deadline, const Take& take) {
  Result<> done;
  while (true) {
    while (functions_->is_busy(handle_.get()) != 0) {
      TRY(net::wait_for(functions_->socket(handle_.get()), POLLIN, deadline, kOperation, name_));
      if (functions_->consume(handle_.get()) == 0) {
        return lost();
      }
    }
    const std::unique_ptr<struct libpq::OpaqueAnswer, void (*)(libpq::Answer)> answer(
        functions_->answer(handle_.get()), functions_->clear);
    if (!answer) {
      return done;
    }
    const int status = functions_->answer_status(answer.get());
    if (status == libpq::kSingleTuple || status == libpq::kTuplesOk) {
      for (int row = 0; take && row < functions_->rows(answer.get()); ++row) {
        take(PostgresRow(*functions_, answer.get(), row));
      }
    } else if (status != libpq::kCommandOk && done) {
      done = fail(error_of(answer.get()));
    }
  }
}

}  // namespace chokepoint::history
