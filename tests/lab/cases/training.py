"""The jobs of scripts/train do what they say: on two hosts, by real Gloo."""

import json
import re

import training
from checks import between, holds, near, same
from hosts import with_names

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


class Calls:
    """Remote calls from rank 0 on one host to rank 1 on another, both with IPv4 and IPv6, that meet
    at an IPv6 address."""

    def __init__(self, lab, *options, watched=False, named=(), name_leads_to="ipv6"):
        self.lab = lab
        self.left, self.right, self.link = two_hosts(lab)
        self.options, self.watched, self.named = options, watched, named
        self.names = [f"{getattr(end, name_leads_to)} {end.host.name}"
                      for end in (self.link.a, self.link.b)]

    def inside(self, end, *words):
        """The words run with the job's variables, on a host that knows both names."""
        variables = [f"MASTER_ADDR={self.link.a.ipv6}", f"MASTER_PORT={training.PORT}",
                     *(f"{name}={end.interface}" for name in self.named)]
        return [*with_names(end.host, *self.names), "env", *variables, *words]

    def start(self):
        python = training.python_with_torch()
        ranks = []
        for number, end in enumerate((self.link.a, self.link.b)):
            run = (["chokepoint", "run", "--out", self.lab.folder / "run", "--node", end.host.name,
                    "--"] if self.watched else [])
            ranks.append(end.host.start(self.inside(
                end, "RANK=" + str(number), "WORLD_SIZE=2", "OMP_NUM_THREADS=1", *run, python,
                "-B", training.BY_TORCH["rpc"], "--tcp", "--width", 256, *self.options)))
        return ranks

    def doctor(self):
        document = self.left.json(self.inside(self.link.a, "chokepoint", "doctor", "--json"))
        return {check["id"]: check for check in document["checks"]}["names.meeting-family"]

    def diagnosis(self):
        return self.left.json(["chokepoint", "diagnose", self.lab.folder / "run", "--json"])


def families_of(link, ranks):
    """Of connections between the two hosts, while both ranks run: to MASTER_PORT, and others."""
    found = {True: set(), False: set()}
    for line in link.a.host.run(["ss", "-Htn", "state", "established"]).stdout().splitlines():
        near, far = line.split()[2:4]
        if near.rpartition(":")[0] != far.rpartition(":")[0]:
            found[f":{training.PORT}" in near].add("ipv6" if near.startswith("[") else "ipv4")
    holds(all(rank.running() for rank in ranks), "a rank has ended")
    return found[True], found[False]


def stepping(ranks):
    ranks[0].until(lambda: len(LINE.findall(ranks[0].stdout())) > 2, 30, "a few steps")
    return ranks


def evidence_of(verdict):
    return "; ".join(each["what"] for each in verdict["evidence"])


def test_remote_calls_learn_and_both_ends_tell_of_steps(lab):
    calls = Calls(lab, "--steps", 60)
    before = calls.link.a.counters()
    ranks = calls.start()
    for rank in ranks:
        same(rank.wait(60), 0, rank.told())
    losses = [float(found[1]) for found in LINE.findall(ranks[0].stdout())]
    same([len(losses), len(training.STEP.findall(ranks[1].stdout()))], [60, 60], "lines of steps")
    holds(sum(losses[-10:]) < 0.5 * sum(losses[:10]), f"the loss stays: {losses}")
    sent = calls.link.a.counters()["sent_bytes"] - before["sent_bytes"]
    holds(sent > 60 * 16 * 256 * 4, f"{sent} bytes are less than the batches")


def test_the_name_chooses_the_family_of_remote_calls(lab):
    calls = Calls(lab, "--seconds", 4, "--steps", 100_000, watched=True, name_leads_to="ipv4")
    calls.lab.needs("ss")
    same(families_of(calls.link, stepping(ranks := calls.start())), ({"ipv6"}, {"ipv4"}),
         "families to MASTER_PORT, and of the calls")
    check = calls.doctor()
    same(check["status"], "WARNING", check)
    holds(f"torch RPC offers {calls.link.a.ipv4}, by the name left" in check["found"], check)
    for rank in ranks:
        same(rank.wait(60), 0, rank.told())
    told = evidence_of(calls.diagnosis()["verdict"])
    holds("the ranks meet at" in told and "their data go over IPv4" in told, told)


def test_a_name_that_leads_to_ipv6_alone_keeps_remote_calls_there(lab):
    calls = Calls(lab, "--seconds", 2, "--steps", 100_000)
    calls.lab.needs("ss")
    same(families_of(calls.link, stepping(calls.start())), ({"ipv6"}, {"ipv6"}), "families")
    same(calls.doctor()["status"], "PASS", "doctor")


def test_an_interface_named_to_rpc_is_taken_by_its_ipv4_which_fails_where_ipv6_alone_passes(lab):
    calls = Calls(lab, "--steps", 5, "--timeout", 5, watched=True, named=("TP_SOCKET_IFNAME",))
    far = calls.link.b  # of another IPv4 network, to which there is no way
    far.host.ip("address", "del", f"{far.ipv4}/24", "dev", far.interface)
    far.host.ip("address", "add", "192.0.2.2/24", "dev", far.interface)
    check = calls.doctor()
    same(check["status"], "WARNING", check)
    holds(f"{calls.link.a.ipv4}, by TP_SOCKET_IFNAME=" in check["found"], check)
    ranks = calls.start()
    for rank in ranks:
        holds(rank.wait(80) != 0, "it did not fail")
    holds("network is unreachable" in ranks[1].told(), ranks[1].told())
    verdict = calls.diagnosis()["verdict"]
    same([verdict["class"], verdict["cause"]], ["wrong-path", "meeting-family"], verdict)
    told = evidence_of(verdict)
    for part in (f"meet at {calls.link.a.ipv6}", "right offers its peers 192.0.2.2"):
        holds(part in told, f"{part!r} is not in: {told}")
