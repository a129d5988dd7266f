#include "base/history/libpq.h"

#include <fmt/format.h>

namespace chokepoint::history::libpq {
namespace {

template <class Function>
void find(const sys::Library& library, const char* name, Function*& function,
          const char*& missing) {
  function = library.function<Function>(name);
  if (function == nullptr && missing == nullptr) {
    missing = name;
  }
}

}  // namespace

const char* Functions::load(const sys::Library& library) {
  const char* missing = nullptr;
  find(library, "PQconninfoParse", parse, missing);
  find(library, "PQconninfoFree", free_options, missing);
  find(library, "PQfreemem", free_memory, missing);
  find(library, "PQconnectStartParams", connect_start, missing);
  find(library, "PQconnectPoll", connect_poll, missing);
  find(library, "PQstatus", status, missing);
  find(library, "PQsocket", socket, missing);
  find(library, "PQfinish", finish, missing);
  find(library, "PQerrorMessage", error_message, missing);
  find(library, "PQsetnonblocking", set_nonblocking, missing);
  find(library, "PQsetNoticeReceiver", set_receiver, missing);
  find(library, "PQsendQuery", send_query, missing);
  find(library, "PQsendQueryParams", send_parameters, missing);
  find(library, "PQsetSingleRowMode", single_rows, missing);
  find(library, "PQflush", flush, missing);
  find(library, "PQconsumeInput", consume, missing);
  find(library, "PQisBusy", is_busy, missing);
  find(library, "PQgetResult", answer, missing);
  find(library, "PQresultStatus", answer_status, missing);
  find(library, "PQresultErrorField", answer_field, missing);
  find(library, "PQresultErrorMessage", answer_message, missing);
  find(library, "PQntuples", rows, missing);
  find(library, "PQgetvalue", value, missing);
  find(library, "PQgetlength", length, missing);
  find(library, "PQgetisnull", is_null, missing);
  find(library, "PQclear", clear, missing);
  return missing;
}

Result<std::shared_ptr<const Functions>> open(const char* name) {
  const Result<sys::Library> library = sys::Library::open_for_good(name);
  if (!library) {
    return fail(ErrorKind::NotFound, "history", name,
                "PostgreSQL's client library is not on this host",
                "install it: apt-get install libpq5, or dnf install libpq");
  }
  auto functions = std::make_shared<Functions>();
  if (const char* missing = functions->load(*library)) {
    return fail(ErrorKind::Unsupported, "history", name, fmt::format("it lacks {}", missing),
                "install libpq of PostgreSQL 9.2 or newer");
  }
  return functions;
}

}  // namespace chokepoint::history::libpq
