#include "base/history/libpq.h"

#include <fmt/format.h>

namespace chokepoint::history::libpq {
const char* Functions::load(const sys::Library& library) {
  const char* missing = nullptr;
  library.find("PQconninfoParse", parse, missing);
  library.find("PQconninfoFree", free_options, missing);
  library.find("PQfreemem", free_memory, missing);
  library.find("PQconnectStartParams", connect_start, missing);
  library.find("PQconnectPoll", connect_poll, missing);
  library.find("PQstatus", status, missing);
  library.find("PQsocket", socket, missing);
  library.find("PQfinish", finish, missing);
  library.find("PQerrorMessage", error_message, missing);
  library.find("PQsetnonblocking", set_nonblocking, missing);
  library.find("PQsetNoticeReceiver", set_receiver, missing);
  library.find("PQsendQuery", send_query, missing);
  library.find("PQsendQueryParams", send_parameters, missing);
  library.find("PQsetSingleRowMode", single_rows, missing);
  library.find("PQflush", flush, missing);
  library.find("PQconsumeInput", consume, missing);
  library.find("PQisBusy", is_busy, missing);
  library.find("PQgetResult", answer, missing);
  library.find("PQresultStatus", answer_status, missing);
  library.find("PQresultErrorField", answer_field, missing);
  library.find("PQresultErrorMessage", answer_message, missing);
  library.find("PQntuples", rows, missing);
  library.find("PQgetvalue", value, missing);
  library.find("PQgetlength", length, missing);
  library.find("PQgetisnull", is_null, missing);
  library.find("PQclear", clear, missing);
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
