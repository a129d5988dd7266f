#include "base/record/secrets.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "tests/base/record/record_folder.h"

namespace chokepoint::record {
namespace {

using Words = std::vector<std::string>;

Words masked_words(const Words& words) { return masked(words); }

TEST(Secrets, OfFlagsAreMasked) {
  EXPECT_EQ(masked_words({"train", "--hf-token=abc", "--lr", "0.1"}),
            (Words{"train", "--hf-token=***", "--lr", "0.1"}));
  EXPECT_EQ(masked_words({"--token", "abc", "--my_password", "a b", "--db-secret", "x", "out"}),
            (Words{"--token", "***", "--my_password", "***", "--db-secret", "***", "out"}));
  EXPECT_EQ(
      masked_words({"--wandb-api-key", "k", "--api_key=k", "--API-KEY=k", "-password", "p"}),
      (Words{"--wandb-api-key", "***", "--api_key=***", "--API-KEY=***", "-password", "***"}));
  EXPECT_EQ(masked_words({"--password=a b c"}), Words{"--password=***"});
}

TEST(Secrets, OfVariablesAreMasked) {
  EXPECT_EQ(masked_words({"env", "WANDB_API_KEY=abc", "HF_TOKEN=hf_1", "X_SECRET_Y=1",
                          "PGPASSWORD=p q", "aws_secret_access_key=z", "RANK=3"}),
            (Words{"env", "WANDB_API_KEY=***", "HF_TOKEN=***", "X_SECRET_Y=***", "PGPASSWORD=***",
                   "aws_secret_access_key=***", "RANK=3"}));
}

TEST(Secrets, InsideOfAShellsLineAreMasked) {
  EXPECT_EQ(masked_words({"sh", "-c", "A_KEY=\"x y\" python  t.py --token 'a b' --lr=1"}),
            (Words{"sh", "-c", "A_KEY=*** python  t.py --token *** --lr=1"}));
  EXPECT_EQ(masked_words({"bash", "-lc", "echo 'never closed", "--token", "t"}),
            (Words{"bash", "-lc", "echo 'never closed", "--token", "***"}));
}

TEST(Secrets, AreNotWhatOnlyLooksSimilar) {
  const Words plain{
      "--tokenizer-path", "gpt2",          "--max-tokens", "4096",      "--tokens=1e9",
      "--key-bindings",   "emacs",         "--label",      "key=value", "--token",
      "--verbose",        "monkey=banana", "token"};
  EXPECT_EQ(masked_words(plain), plain);
  EXPECT_EQ(masked_words({"--tokens", "abc,def"}), (Words{"--tokens", "***"}));
}

class StoredSecrets : public RecordFolder {
 protected:
  std::string stored(bool keeps_secrets) {
    WriterOptions wanted = options();
    wanted.command = {"train", "--token", "hf_1", "API_KEY=2"};
    wanted.keep_secrets = keeps_secrets;
    open_writer(wanted)->close();
    Reader reader = open_reader();
    return reader.all<Session>()->at(0).command;
  }
};

TEST_F(StoredSecrets, AreMaskedInTheRecord) {
  EXPECT_EQ(stored(false), "train --token '***' 'API_KEY=***'");
}

TEST_F(StoredSecrets, AreKeptIfTheUserWantsThem) {
  EXPECT_EQ(stored(true), "train --token hf_1 API_KEY=2");
}

TEST_F(StoredSecrets, ARecordAndItsFoldersAreNotEverybodys) {
  const mode_t before = ::umask(0);
  WriterOptions wanted = options();
  wanted.folder = folder() / "deep" / "er";
  open_writer(wanted)->close();
  ::umask(before);
  const auto mode_of = [](const std::filesystem::path& path) {
    struct stat status{};
    EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
    return status.st_mode & 07777U;
  };
  EXPECT_EQ(mode_of(wanted.folder / "n1.db"), 0640U);
  EXPECT_EQ(mode_of(wanted.folder), 0750U);
  EXPECT_EQ(mode_of(folder()), 0750U);
}

}  // namespace
}  // namespace chokepoint::record
