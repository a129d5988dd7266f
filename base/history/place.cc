#include "base/history/place.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <chrono>
#include <filesystem>

#include "base/history/postgres_store.h"
#include "base/history/server_url.h"
#include "base/history/spooling_store.h"
#include "base/history/sqlite_store.h"

namespace chokepoint::history {
namespace {

std::optional<std::filesystem::path> state_folder(const cli::Context& context) {
  const auto folder = context.environment("XDG_STATE_HOME");
  if (folder && !folder->empty()) {
    return std::filesystem::path(*folder) / "chokepoint";
  }
  // A home that does not exist, as accounts of services have, is nobody's to make.
  const auto home = context.environment("HOME");
  std::error_code ignored;
  return home && std::filesystem::is_directory(*home, ignored)
             ? std::optional(std::filesystem::path(*home) / ".local/state/chokepoint")
             : std::nullopt;
}

template <class T>
Result<std::unique_ptr<Store>> as_store(Result<std::unique_ptr<T>> opened) {
  if (!opened) {
    return std::unexpected(std::move(opened).error());
  }
  return std::unique_ptr<Store>(*std::move(opened));
}

// A command that has ended waits this long for what earlier ones left; 'history add' for all of it.
constexpr std::chrono::seconds kMostAtAnEnd{3};
constexpr std::chrono::minutes kMostOnDemand{10};

Result<std::unique_ptr<Store>> open_or_spool(const std::string& place, const cli::Context& context,
                                             std::chrono::nanoseconds most_handing_over) {
  if (!is_server_url(place)) {
    return open(place);
  }
  const auto folder = state_folder(context);
  return std::make_unique<SpoolingStore>(
      [place] { return open(place); },
      SpoolingStore::Spooling{.target = shown_place(place),
                              .file = folder ? *folder / "spool.db" : std::filesystem::path(),
                              .most_handing_over = most_handing_over});
}

Result<std::int64_t> add_at_end(const std::string& place, const Batch& batch,
                                const cli::Context& context) {
  TRY(const std::unique_ptr<Store> store, open_or_spool(place, context, kMostAtAnEnd));
  return store->add(batch);
}

}  // namespace

void define_to_read(cli::Flags& flags, Flags& history) {
  flags.group("History").option("history", &history.place, "FILE|URL",
                                "the history, or postgresql://user@host/database; default: "
                                "history.db in the user's state folder");
}

void define(cli::Flags& flags, Flags& history) {
  flags.group("History")
      .option("history", &history.place, "FILE|URL",
              "remember the results there, or in postgresql://user@host/database; default: "
              "history.db in the user's state folder")
      .toggle("no-history", &history.is_off, "remember nothing");
}

std::optional<std::string> place_of(const Flags& history, const cli::Context& context) {
  if (history.is_off || history.place == kNone) {
    return std::nullopt;
  }
  if (!history.place.empty()) {
    return history.place;
  }
  const auto folder = state_folder(context);
  return folder ? std::optional((*folder / "history.db").string()) : std::nullopt;
}

Result<std::unique_ptr<Store>> open(const std::string& place) {
  return is_server_url(place) ? as_store(PostgresStore::open(place))
                              : as_store(SqliteStore::open(place));
}

Result<std::unique_ptr<Store>> open_to_add(const std::string& place, const cli::Context& context) {
  return open_or_spool(place, context, kMostOnDemand);
}

Result<std::unique_ptr<Store>> open_to_read(const std::string& place) {
  return is_server_url(place) ? as_store(PostgresStore::open_to_read(place))
                              : as_store(SqliteStore::open_to_read(place));
}

void remember(const Flags& history, const Batch& batch, const cli::Context& context) {
  const auto place = place_of(history, context);
  if (!place || batch.empty()) {
    return;
  }
  const auto added = add_at_end(*place, batch, context);
  if (!added && !history.place.empty() && !context.quiet) {
    fmt::print(context.err, "not remembered: {}\n", describe(added.error()));
  }
}

}  // namespace chokepoint::history
