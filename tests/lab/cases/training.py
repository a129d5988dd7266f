"""The jobs of scripts/train do what they say: on two hosts, by real Gloo."""

import json
import re

import training
from checks import between, holds, near, same

STEPS = 6
HEADERS = 1.05
LINE = re.compile(r"^step (\d+) loss ([\d.]+) time ([\d.]+)ms$", re.MULTILINE)


def two_hosts(lab):
    left, right = lab.host("left"), lab.host("right")
    return left, right, lab.link(left, right)


def trained(lab, link, *options):
    """Both ranks' documents of what their time went to, and the bytes that went each way."""
    program = training.trainer()
    ends = {end.host.name: end for end in (link.a, link.b)}
    before = link.a.counters()
    ranks = [end.host.start([program, "--meet", lab.folder / "meet", "--rank", number, "--ranks", 2,
                             "--interface", end.interface, "--steps", STEPS, "--truth",
                             lab.folder / f"{number}.json", *options])
             for number, end in enumerate(ends.values())]
    for rank in ranks:
        same(rank.wait(30), 0, rank.told())
        same(len(LINE.findall(rank.stdout())), STEPS, "lines of steps")
    after = link.a.counters()
    return ([json.loads((lab.folder / f"{number}.json").read_text()) for number in (0, 1)],
            after["sent_bytes"] - before["sent_bytes"],
            after["received_bytes"] - before["received_bytes"])


def meet(lab):
    (lab.folder / "meet").mkdir()


def usual_ms(document, what):
    steps = sorted(what(step) for step in document["steps"])
    return steps[len(steps) // 2] / 1e6


def test_data_parallel_overlaps_and_sends_its_gradients(lab):
    meet(lab)
    _, _, link = two_hosts(lab)
    told, sent, received = trained(lab, link, "--pattern", "dp", "--bytes", 2_000_000,
                                   "--compute-ms", 50)
    for each in (sent, received):
        between(each, STEPS * 2_000_000, STEPS * 2_000_000 * HEADERS, "bytes one way")
    for document in told:
        same(len(document["steps"]), STEPS, "steps in the truth")
        holds(usual_ms(document, lambda step: step["compute_ns"]) >= 50, "computing was cut short")


def test_tensor_parallel_exchanges_each_layer(lab):
    meet(lab)
    _, _, link = two_hosts(lab)
    _, sent, _ = trained(lab, link, "--pattern", "tp", "--bytes", 100_000, "--pieces", 5,
                         "--compute-ms", 20)
    between(sent, STEPS * 11 * 100_000, STEPS * 11 * 100_000 * HEADERS, "10 all-reduces, a gather")


def test_a_pipeline_sends_forward_and_back_or_forward_only(lab):
    meet(lab)
    _, _, link = two_hosts(lab)
    _, sent, received = trained(lab, link, "--pattern", "pp", "--bytes", 1_000_000, "--compute-ms",
                                20, "--forward-only")
    between(sent, STEPS * 1_000_000, STEPS * 1_000_000 * HEADERS, "bytes forward")
    holds(received < 100_000, f"{received} bytes came back")


def test_a_late_rank_is_late_in_its_own_truth_alone(lab):
    meet(lab)
    _, _, link = two_hosts(lab)
    told, _, _ = trained(lab, link, "--compute-ms", 20, "--late-rank", 1, "--late-ms", 40)
    same([usual_ms(document, lambda step: step["late_ns"]) >= 40 for document in told],
         [False, True], "late")
    for document in told:
        holds(usual_ms(document, lambda step: step["end_ns"] - step["start_ns"]) >= 60,
              "the others did not wait")


def test_pytorch_learns_and_its_ranks_agree(lab):
    left, right, link = two_hosts(lab)
    python = training.python_with_torch()
    ranks = [end.host.start(
        ["env", f"RANK={number}", "WORLD_SIZE=2", f"MASTER_ADDR={link.a.ipv4}",
         f"MASTER_PORT={training.PORT}", "OMP_NUM_THREADS=1",
         f"GLOO_SOCKET_IFNAME={end.interface}", python, "-B", training.BY_TORCH["ddp"], "--width", 256,
         "--steps", 60])
        for number, end in enumerate((link.a, link.b))]
    for rank in ranks:
        same(rank.wait(60), 0, rank.told())
    losses = [[float(found[1]) for found in LINE.findall(rank.stdout())] for rank in ranks]
    same(len(losses[0]), 60, "lines of steps")
    near(losses[0][-1], losses[1][-1], 0.001, "the mean loss, as either rank tells it")
    holds(sum(losses[0][-10:]) < 0.5 * sum(losses[0][:10]), f"the loss stays: {losses[0]}")
