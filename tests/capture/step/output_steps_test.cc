// Lines as training programs print them, copied from their output or from the code that prints
// them.
#include "capture/step/output_steps.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tests/fakes/nanoseconds.h"

namespace chokepoint::capture::step {
namespace {

using fakes::kMs;
using testing::ElementsAre;
using testing::IsEmpty;

class StepsOfOutput : public testing::Test {
 protected:
  void expression(const std::string& text, std::optional<std::int64_t> samples = std::nullopt) {
    steps = *OutputSteps::make(text, samples);
  }
  // The next piece comes `ms` later.
  void after(std::int64_t ms, const std::string& bytes, int stream = 0) {
    now += ms * kMs;
    steps->take(now, stream, bytes, [this](const Step& step) { seen.push_back(step); });
  }
  std::vector<std::int64_t> numbers() const {
    std::vector<std::int64_t> result;
    for (const Step& step : seen) result.push_back(step.number.value_or(-1));
    return result;
  }
  // Of one step, busy time first.
  std::vector<std::int64_t> each_ms() const {
    std::vector<std::int64_t> result;
    for (const Step& step : seen) {
      result.push_back(step.busy_ns.value_or(step.end_ns - step.start_ns) / step.merged / kMs);
    }
    return result;
  }

  std::unique_ptr<OutputSteps> steps = *OutputSteps::make("");
  std::vector<Step> seen;
  std::int64_t now = 1'000'000'000;
};

struct Form {
  const char* name;
  std::vector<std::string> lines;  // 200 ms apart
  std::vector<std::int64_t> numbers;
  std::vector<std::int64_t> each_ms;
};

class KnownForm : public StepsOfOutput, public testing::WithParamInterface<Form> {};

TEST_P(KnownForm, TellsNumbersAndDurations) {
  for (const std::string& line : GetParam().lines) after(200, line);
  EXPECT_EQ(numbers(), GetParam().numbers);
  EXPECT_EQ(each_ms(), GetParam().each_ms);
}

INSTANTIATE_TEST_SUITE_P(
    Of, KnownForm,
    testing::Values(
        Form{"ImageNet",
             {"Epoch: [0][   0/5005]\tTime  6.022 ( 6.022)\tData  4.519 ( 4.519)\tLoss 6.9e+00\n",
              "Epoch: [0][  10/5005]\tTime  0.153 ( 0.347)\tData  0.000 ( 0.411)\tLoss 7.1e+00\n",
              "Epoch: [0][  20/5005]\tTime  0.151 ( 0.253)\tData  0.000 ( 0.215)\tLoss 7.1e+00\n"},
             {10, 20},
             {20, 20}},
        Form{"torchvision",
             {"Epoch: [0]  [   0/1252]  eta: 0:33:01  lr: 0.1  img/s: 141.5  loss: 6.95\n",
              "Epoch: [0]  [   1/1252]  eta: 0:13:07  lr: 0.1  img/s: 398.1  loss: 7.01\n",
              "Test:   [  0/196]  eta: 0:01:00  loss: 6.9\n",
              "Test:   [  1/196]  eta: 0:01:00  loss: 6.9\n"},
             {1},
             {200}},
        Form{
            "MMEngine",
            {"11/20 10:00:00 - mmengine - INFO - Epoch(train) [1][ 50/3757]  lr: 1e-3  loss: 1.2\n",
             "11/20 10:00:02 - mmengine - INFO - Epoch(train) [1][ 60/3757]  lr: 1e-3  loss: "
             "1.1\n"},
            {60},
            {20}},
        Form{"LightningTqdm",
             {"\rEpoch 0:  12%|█▏        | 115/938 [00:01<00:09, 82.07it/s, v_num=0]",
              "\rEpoch 0:  12%|█▏        | 116/938 [00:01<00:09, 82.09it/s, v_num=0]",
              "\rEpoch 0:  12%|█▏        | 117/938 [00:01<00:09, 82.10it/s, v_num=0]",
              "\rValidation DataLoader 0:  10%|█    | 1/10 [00:00<00:00, 200it/s]",
              "\rValidation DataLoader 0:  20%|██   | 2/10 [00:00<00:00, 200it/s]"},
             {116, 117},
             {200, 200}},
        Form{"LightningRich",
             {"Epoch 0/9 ━━━━╺━━━━━━━ 114/938 0:00:01 • 0:00:09 82.07it/s v_num: 0\n",
              "Epoch 0/9 ━━━━╺━━━━━━━ 115/938 0:00:01 • 0:00:09 82.07it/s v_num: 0\n"},
             {115},
             {200}},
        Form{"HfTrainer",
             {"\r 10%|█         | 50/500 [00:25<03:51,  1.95it/s]",
              "\n{'loss': 2.3012, 'grad_norm': 4.2, 'learning_rate': 4.5e-05, 'epoch': 0.02}\n",
              "\r 10%|█         | 51/500 [00:26<03:50,  1.95it/s]",
              "\r 10%|█         | 52/500 [00:26<03:50,  1.95it/s]",
              "\n{'eval_loss': 2.1, 'eval_runtime': 1.2, 'eval_steps_per_second': 3.4}\n"},
             {51, 52},
             {400, 200}},
        Form{"ColossalAi",
             {"\rEpoch [1/3]:  38%|███▊      | 19/50 [00:11<00:18,  1.66it/s, loss=2.3]",
              "\rEpoch [1/3]:  40%|████      | 20/50 [00:12<00:18,  1.66it/s, loss=2.2]",
              "\rEpoch [1/3]:  44%|████▍     | 22/50 [00:12<00:17,  1.66it/s, loss=2.2]"},
             {20, 22},
             {200, 100}},
        Form{"Megatron",
             {" iteration       10/     100 | consumed samples:          160 | elapsed time per "
              "iteration (ms): 19.5 | learning rate: 1.500E-04 |\n",
              " iteration       20/     100 | consumed samples:          320 | elapsed time per "
              "iteration (ms): 18.5 | learning rate: 1.500E-04 |\n",
              " validation loss at iteration 20 | lm loss value: 9.1 |\n",
              " iteration       30/     100 | consumed samples:          480 | elapsed time per "
              "iteration (ms): 17.5 | learning rate: 1.500E-04 |\n"},
             {20, 30},
             {18, 17}},
        Form{"DeepSpeed",
             {"steps: 10 loss: 7.1024 iter time (s): 0.018 samples/sec: 888.1\n",
              "steps: 20 loss: 6.9024 iter time (s): 0.019 samples/sec: 842.0\n"},
             {20},
             {19}},
        Form{"NanoGpt",
             {"iter 10: loss 3.5012, time 123.45ms, mfu 12.31%\n",
              "iter 11: loss 3.4412, time 124.45ms, mfu 12.30%\n",
              "step 11: train loss 3.2, val loss 3.3\n",
              "iter 12: loss 3.4012, time 124.45ms, mfu 12.30%\n"},
             {11, 12},
             {200, 400}},
        Form{"Torchtitan",
             {"\x1b[0m[rank0]:[titan] 2026-11-20 10:00:01,123 - root - INFO - \x1b[31mstep:  1  "
              "\x1b[32mloss: 12.2  \x1b[33mmemory: 40GiB\x1b[39m\n",
              "\x1b[0m[rank0]:[titan] 2026-11-20 10:00:02,123 - root - INFO - \x1b[31mstep: 11  "
              "\x1b[32mloss: 10.2  \x1b[33mmemory: 40GiB\x1b[39m\n"},
             {11},
             {20}},
        Form{"Keras",
             {"\r 10/100 [==>...........................] - ETA: 5s - loss: 2.3",
              "\r 11/100 [==>...........................] - ETA: 5s - loss: 2.3"},
             {11},
             {200}},
        Form{"Words", {"step 17\n", "step 18\n", "step 19.\n"}, {18, 19}, {200, 200}},
        Form{"Assignments", {"step=17 loss=3\n", "step=18 loss=2.5\n"}, {18}, {200}},
        Form{"Json",
             {"{\"step\": 17, \"loss\": 3.1e-05}\n", "{\"step\": 18, \"loss\": 3.1}\n"},
             {18},
             {200}},
        Form{"Brackets", {"[17/100] loss 3\n", "[18/100] loss 3\n"}, {18}, {200}}),
    [](const auto& given) { return given.param.name; });

TEST_F(StepsOfOutput, SamplesBecomeStepsWhereTheirNumberIsKnown) {
  const std::string first = "Train Epoch: 1 [0/60000 (0%)]\tLoss: 2.300024\n";
  const std::string second = "Train Epoch: 1 [640/60000 (1%)]\tLoss: 1.177811\n";
  after(100, first);
  after(200, second);
  EXPECT_THAT(seen, IsEmpty());
  expression("", 64);
  after(100, first);
  after(200, second);
  EXPECT_THAT(numbers(), ElementsAre(10));
  EXPECT_THAT(each_ms(), ElementsAre(20));
}

TEST_F(StepsOfOutput, OneLineIsNoStep) {
  after(100, "step 17\n");
  after(100, "step 17\n");
  EXPECT_THAT(seen, IsEmpty());
}

TEST_F(StepsOfOutput, ABarThatIsRedrawnTellsAStepOnce) {
  const auto bar = [](int number) {
    return "\r  1%|▏   | " + std::to_string(number) + "/900 [00:01<00:09, 3.07it/s]";
  };
  for (const int number : {1, 1, 1, 2, 2, 2, 3}) after(100, bar(number));
  EXPECT_THAT(numbers(), ElementsAre(2, 3));
  EXPECT_THAT(each_ms(), ElementsAre(300, 300));
}

TEST_F(StepsOfOutput, ALineMayComeInPieces) {
  after(100, "ste");
  after(100, "p 17");
  after(100, "1 loss\nstep 1");
  after(100, "72");
  after(100, " loss\n");
  EXPECT_THAT(numbers(), ElementsAre(172));
  EXPECT_EQ(seen[0].end_ns - seen[0].start_ns, 200 * kMs);
}

TEST_F(StepsOfOutput, StreamsAreNotPutTogether) {
  after(100, "step 1", 0);
  after(100, "step 5\n", 1);
  after(100, "\n", 0);
  after(100, "step 2\n", 0);
  EXPECT_THAT(numbers(), testing::Not(testing::Contains(15)));
}

TEST_F(StepsOfOutput, LinesOfOnePieceAreMerged) {
  after(0, "step 1\n");
  after(300, "step 2\nstep 3\nstep 4\n");
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].merged, 3);
  EXPECT_EQ(seen[0].number, 4);
  EXPECT_EQ(seen[0].end_ns - seen[0].start_ns, 300 * kMs);
}

TEST_F(StepsOfOutput, RanksThatSayTheSameSayItOnce) {
  for (int step = 1; step <= 4; ++step) {
    for (const char* rank : {"[rank0]: ", "[default1]:", "2: ", "[1,3]<stdout>:"}) {
      after(rank[1] == 'r' ? 170 : 10, rank + ("step " + std::to_string(step)) + "\n");
    }
  }
  EXPECT_THAT(numbers(), ElementsAre(2, 3, 4));
  EXPECT_THAT(each_ms(), ElementsAre(200, 200, 200));
}

TEST_F(StepsOfOutput, ARankThatIsLateBeginsNoEpoch) {
  for (int step = 1; step <= 5; ++step) {
    after(170, "step " + std::to_string(step) + "\n");
    after(30, "step " + std::to_string(step - 1) + "\n");
  }
  EXPECT_THAT(numbers(), ElementsAre(2, 3, 4, 5));
}

TEST_F(StepsOfOutput, EpochsBeginAgain) {
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (int step = 0; step < 3; ++step) {
      after(200, "Epoch: [" + std::to_string(epoch) + "][" + std::to_string(step) + "/3]\tTime\n");
    }
  }
  EXPECT_THAT(numbers(), ElementsAre(1, 2, 1, 2, 1, 2));
}

TEST_F(StepsOfOutput, EpochsOfTwoSteps) {
  for (int line = 0; line < 8; ++line) {
    after(200, "step " + std::to_string(line % 2) + "\n");
  }
  EXPECT_THAT(numbers(), ElementsAre(1, 1, 1, 1));
}

TEST_F(StepsOfOutput, DownloadsAndEvaluationsAreNotSteps) {
  for (int i = 1; i < 9; ++i) {
    const std::string n = std::to_string(i);
    after(10, "\rDownloading shards:  50%|█   | " + n + "/9 [00:01<00:02, 2.0it/s]");
    after(10, "\rMap:  50%|█   | " + n + "/9 [00:01<00:02, 2.0 examples/s]");
    after(10, "\rEpochs:  50%|█   | " + n + "/9 [00:01<00:02, 2.0it/s]");
    after(10, "\nTest: [" + n + "/9] Time 0.1\n");
  }
  EXPECT_THAT(seen, IsEmpty());
}

TEST_F(StepsOfOutput, TheBarOfAnEvaluationDoesNotTakeOver) {
  const auto bar = [](int number, int total) {
    return "\r  1%|▏   | " + std::to_string(number) + "/" + std::to_string(total) +
           " [00:01<00:09, 3.07it/s]";
  };
  for (int i = 0; i < 10; ++i) after(200, bar(i, 900));
  for (int i = 0; i < 9; ++i) after(50, bar(i, 10));
  for (int i = 10; i < 13; ++i) after(200, bar(i, 900));
  EXPECT_THAT(numbers(), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
}

TEST_F(StepsOfOutput, ABuildBeforeTheTrainingGivesWay) {
  for (int i = 1; i < 4; ++i) after(1000, "[" + std::to_string(i) + "/3] c++ kernel.o\n");
  for (int i = 1; i < 9; ++i) after(200, "iter " + std::to_string(i) + " loss 3\n");
  EXPECT_EQ(numbers().back(), 8);
  std::int64_t end = 0;
  for (const Step& step : seen) {
    EXPECT_GE(step.start_ns, end);
    end = step.end_ns;
  }
}

TEST_F(StepsOfOutput, AUsersExpression) {
  expression(R"(tick (?P<step>\d+) took (?P<ms>[\d.]+) for (?P<samples>\d+))");
  after(200, "tick 4 took 3 for 64\n");
  after(200, "step 5\ntick 6 took 90.5 for 128\n");
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].number, 6);
  EXPECT_EQ(seen[0].samples, 128);
  EXPECT_EQ(seen[0].busy_ns, 181 * kMs);
}

TEST_F(StepsOfOutput, AnExpressionWithoutANumberCountsLines) {
  expression("batch done");
  for (int i = 0; i < 3; ++i) after(200, "batch done\n");
  EXPECT_THAT(numbers(), ElementsAre(2, 3));
}

TEST_F(StepsOfOutput, AnExpressionThatCannotBeUnderstoodIsTheUsersMistake) {
  for (const char* bad : {"(", "(?P<setp>\\d+)", "(?<step>\\d+)"}) {
    const auto made = OutputSteps::make(bad);
    ASSERT_FALSE(made) << bad;
    EXPECT_EQ(made.error().kind, ErrorKind::Usage);
    EXPECT_THAT(describe(made.error()), testing::HasSubstr(bad));
  }
}

TEST_F(StepsOfOutput, EndlessLinesAndBinaryAreBorne) {
  std::string noise;
  for (std::uint32_t i = 0; i < 1 << 20; ++i) noise += static_cast<char>(i * 7919 >> 5);
  std::erase(noise, '\n');
  std::erase(noise, '\r');
  after(100, "step 1\n" + noise);
  after(100, noise + "\nstep 2\n");
  EXPECT_THAT(numbers(), ElementsAre(2));
}

}  // namespace
}  // namespace chokepoint::capture::step
