"""Real training over verbs between two machines, watched by chokepoint."""

import training
from checks import holds, same
from training import Training

SMALL = ("--bytes", 400_000, "--compute-ms", 60)
ENDED = {"a": 0, "b": 0}


def test_ranks_train_over_verbs_and_leave_a_record_each(pair):
    a, _ = pair
    played = training.play(pair, Training(seconds=6, options=SMALL), a.share / "clean")
    same(played.statuses, ENDED, "exit statuses")
    holds(len(played.steps_ms["a"]) > 10, f"steps: {played.steps_ms}")
    holds(played.counters["a"]["sent_pkts"] > 400 * len(played.steps_ms["a"]), played.counters)
    told = a.json(["chokepoint", "record", "show", played.records, "--json"])
    same(sorted(node["name"] for node in told["nodes"]), ["a", "b"], "nodes of the record")


def test_loss_is_made_good_by_sending_again(pair):
    lossy = Training(seconds=6, options=SMALL, netem=("loss", "1%"), is_watched=False)
    played = training.play(pair, lossy, pair[0].share / "lossy")
    same(played.statuses, ENDED, "exit statuses")
    holds(played.counters["a"]["completer_retry_err"] > 20, played.counters)
    holds(played.counters["b"]["out_of_seq_request"] > 20, played.counters)


def test_the_same_job_goes_over_tcp(pair):
    by_tcp = Training(seconds=4, options=SMALL, rdma=False, is_watched=False)
    played = training.play(pair, by_tcp, pair[0].share / "tcp")
    same(played.statuses, ENDED, "exit statuses")
    same(played.counters["a"].get("sent_pkts", 0), 0, "packets of the RDMA device")
