// Where libpq's own header is found, the build compares libpq.h with it.
#if __has_include(<postgresql/libpq-fe.h>)
#include <postgresql/libpq-fe.h>

#include "base/history/libpq.h"

namespace chokepoint::history::libpq {
namespace {

using sys::kSameType;

static_assert(kConnectionBad == CONNECTION_BAD && kPollingFailed == PGRES_POLLING_FAILED);
static_assert(kPollingReading == PGRES_POLLING_READING && kPollingOk == PGRES_POLLING_OK);
static_assert(kCommandOk == PGRES_COMMAND_OK && kTuplesOk == PGRES_TUPLES_OK);
static_assert(kSingleTuple == PGRES_SINGLE_TUPLE);
static_assert(kFieldState == PG_DIAG_SQLSTATE && kFieldMessage == PG_DIAG_MESSAGE_PRIMARY);
static_assert(sizeof(Option) == sizeof(PQconninfoOption));

static_assert(kSameType<decltype(Functions::parse), decltype(&PQconninfoParse)>);
static_assert(kSameType<decltype(Functions::free_options), decltype(&PQconninfoFree)>);
static_assert(kSameType<decltype(Functions::free_memory), decltype(&PQfreemem)>);
static_assert(kSameType<decltype(Functions::connect_start), decltype(&PQconnectStartParams)>);
static_assert(kSameType<decltype(Functions::connect_poll), decltype(&PQconnectPoll)>);
static_assert(kSameType<decltype(Functions::status), decltype(&PQstatus)>);
static_assert(kSameType<decltype(Functions::socket), decltype(&PQsocket)>);
static_assert(kSameType<decltype(Functions::finish), decltype(&PQfinish)>);
static_assert(kSameType<decltype(Functions::error_message), decltype(&PQerrorMessage)>);
static_assert(kSameType<decltype(Functions::set_nonblocking), decltype(&PQsetnonblocking)>);
static_assert(kSameType<decltype(Functions::send_query), decltype(&PQsendQuery)>);
static_assert(kSameType<decltype(Functions::send_parameters), decltype(&PQsendQueryParams)>);
static_assert(kSameType<decltype(Functions::single_rows), decltype(&PQsetSingleRowMode)>);
static_assert(kSameType<decltype(Functions::flush), decltype(&PQflush)>);
static_assert(kSameType<decltype(Functions::consume), decltype(&PQconsumeInput)>);
static_assert(kSameType<decltype(Functions::is_busy), decltype(&PQisBusy)>);
static_assert(kSameType<decltype(Functions::answer), decltype(&PQgetResult)>);
static_assert(kSameType<decltype(Functions::answer_status), decltype(&PQresultStatus)>);
static_assert(kSameType<decltype(Functions::answer_field), decltype(&PQresultErrorField)>);
static_assert(kSameType<decltype(Functions::answer_message), decltype(&PQresultErrorMessage)>);
static_assert(kSameType<decltype(Functions::rows), decltype(&PQntuples)>);
static_assert(kSameType<decltype(Functions::value), decltype(&PQgetvalue)>);
static_assert(kSameType<decltype(Functions::length), decltype(&PQgetlength)>);
static_assert(kSameType<decltype(Functions::is_null), decltype(&PQgetisnull)>);
static_assert(kSameType<decltype(Functions::clear), decltype(&PQclear)>);

}  // namespace
}  // namespace chokepoint::history::libpq

#endif
