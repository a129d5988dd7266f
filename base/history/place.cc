#include "base/history/place.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <filesystem>

#include "base/history/sqlite_store.h"

namespace chokepoint::history {
namespace {

std::optional<std::filesystem::path> state_folder(const cli::Context& context) {
  const auto folder = context.environment("XDG_STATE_HOME");
  if (folder && !folder->empty()) {
    return std::filesystem::path(*folder) / "chokepoint";
  }
  const auto home = context.environment("HOME");
  return home && !home->empty()
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

Result<std::int64_t> add_to(const std::string& place, const Batch& batch) {
  TRY(const std::unique_ptr<Store> store, open(place));
  return store->add(batch);
}

}  // namespace

void define_to_read(cli::Flags& flags, Flags& history) {
  flags.group("History").option("history", &history.place, "FILE",
                                "the history; default: history.db in the user's state folder");
}

void define(cli::Flags& flags, Flags& history) {
  flags.group("History")
      .option("history", &history.place, "FILE",
              "remember the results there; default: history.db in the user's state folder")
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
  return as_store(SqliteStore::open(place));
}

Result<std::unique_ptr<Store>> open_to_read(const std::string& place) {
  return as_store(SqliteStore::open_to_read(place));
}

void remember(const Flags& history, const Batch& batch, const cli::Context& context) {
  const auto place = place_of(history, context);
  if (!place || batch.empty()) {
    return;
  }
  const auto added = add_to(*place, batch);
  if (!added && !history.place.empty() && !context.quiet) {
    fmt::print(context.err, "not remembered: {}\n", describe(added.error()));
  }
}

}  // namespace chokepoint::history
