"""The example of a job, and the report that the epilog makes of it."""

import shutil

from checks import holds, same, soon
from cluster import Cluster
from slurm import SCRIPTS, Slurm
from sshd import Logins

REPORT_SECONDS = 60
# Ranks that meet and hand each other what they have, as training does.
TRAINING = """
import os, socket, struct, sys, time
rank, port = int(os.environ["RANK"]), int(os.environ["MASTER_PORT"])
address = (os.environ["MASTER_ADDR"], port)
assert os.environ["WORLD_SIZE"] == "2"
if rank == 0:
    door = socket.create_server(address)
    peer = door.accept()[0]
else:
    for _ in range(200):
        try:
            peer = socket.create_connection(address)
            break
        except OSError:
            time.sleep(0.05)
for step in range(20):
    peer.sendall(bytes(100_000))
    left = 100_000
    while left:
        left -= len(peer.recv(left))
    print(f"step {step} loss 0.5 time 50ms", flush=True)
    time.sleep(0.05)
"""


def test_the_example_leaves_a_record_and_the_epilog_a_report(lab):
    slurm = Slurm(Cluster(lab, 3))
    slurm.configure(f"EpilogSlurmctld={slurm.script('epilog')}")
    slurm.start()
    folder = slurm.folder / "job"
    folder.mkdir()
    (folder / "train.py").write_text(TRAINING)
    number = slurm.submit([SCRIPTS / "job.sbatch", "train.py"], folder)
    slurm.await_job(number, seconds=60)
    records = folder / "chokepoint-runs" / str(number)
    same(sorted(file.stem for file in records.glob("*.db")), ["host1", "host2"], "records")
    told = (folder / f"slurm-{number}.out").read_text()
    holds("step 19" in told, told)
    report = records / "report.html"
    soon(report.exists, REPORT_SECONDS, "report")
    soon(lambda: "</html>" in report.read_text(), REPORT_SECONDS, "whole report")


def test_records_are_named_by_the_job_and_collected_from_its_nodes(lab):
    cluster = Cluster(lab, 3)
    logins = Logins(lab)
    for host in cluster.hosts:
        logins.serve(host, lab.programs)
    logins.use(cluster.head)
    slurm = Slurm(cluster).start()
    folder = slurm.folder / "job"
    folder.mkdir()
    number = slurm.submit(["-N2", "--wrap", "srun chokepoint run -q sleep 1"], folder)
    slurm.await_job(number)
    run = folder / "chokepoint-runs" / str(number)
    same(sorted(file.stem for file in run.glob("*.db")), ["host1", "host2"], "records")
    told = cluster.head.json(["chokepoint", "collect", "--slurm", number, "--out",
                              lab.folder / "all", "--json"], timeout=60)
    same({each["file"] for each in told["records"]}, {"host1.db", "host2.db"}, "records")
    same(sorted(file.stem for file in (lab.folder / "all").glob("*.db")), ["host1", "host2"],
         "records")


def test_a_job_without_a_record_is_left_alone(lab):
    slurm = Slurm(Cluster(lab, 2))
    slurm.configure(f"EpilogSlurmctld={slurm.script('epilog')}")
    slurm.start()
    folder = slurm.folder / "job"
    folder.mkdir()
    number = slurm.submit(["--wrap", "true"], folder)
    slurm.await_job(number)
    soon(lambda: slurm.node("host1")["State"] == "IDLE", 30, "idle")
    same([file.name for file in folder.iterdir()], [f"slurm-{number}.out"], "files")


def test_what_sacct_says_of_a_failed_job_stands_beside_its_record(lab):
    slurm = Slurm(Cluster(lab, 2)).account().start()
    folder = slurm.folder / "job"
    folder.mkdir()
    number = slurm.submit(["-N2", "--job-name=training", "--wrap",
                           "srun chokepoint run -q -- sh -c 'sleep 1; exit 3'"], folder)
    slurm.await_job(number, "FAILED")
    run = folder / "chokepoint-runs" / str(number)
    job = f"job {number} (training): FAILED"
    soon(lambda: "FAILED" in slurm.run(["sacct", "-X", "-n", "-j", number, "-o", "State"]).stdout(),
         30, "the job's end in the accounts")
    columns = "JobID,JobName,State,ExitCode,Reason,NodeList,Start,End"
    for words in (["-P", "-o", columns], ["--json"]):
        told = lab.folder / f"sacct{words[0]}"
        told.write_text(slurm.run(["sacct", "-j", number, *words]).stdout())
        given = slurm.head.json(["chokepoint", "diagnose", run, "--with", told, "--json"])["given"]
        same({each["tool"] for each in given}, {"slurm"}, words)
        found = [each for each in given if each["what"].startswith(job)]
        same([(each["unit"], each["says"]) for each in found], [("exit code", "for")], given)
        # Slurm 22.05 tells JSON no exit code.
        holds(found[0]["theirs"] in ([3] if words[0] == "-P" else [3, None]), given)
        holds(any(f"step {number}.0 (chokepoint): FAILED" in each["what"] for each in given), given)


# What the job's user planted would otherwise lead whoever writes the report to files of its own.
def test_who_is_not_the_jobs_user_writes_nothing_into_its_folder(lab):
    slurm = Slurm(Cluster(lab, 3), user="daemon")
    slurm.configure(f"EpilogSlurmctld={slurm.script('epilog', keeps_errors=True)}")
    slurm.start()
    folder = slurm.folder / "job"
    folder.mkdir()
    (folder / "train.py").write_text("print('step 1 loss 0.5 time 50ms')\n")
    precious = slurm.folder / "precious"
    precious.write_text("of SlurmUser")
    shutil.chown(precious, "daemon")
    number = slurm.submit([SCRIPTS / "job.sbatch", "train.py"], folder, held=True)
    records = folder / "chokepoint-runs" / str(number)
    records.mkdir(mode=0o755, parents=True)
    (records / "report.html").symlink_to(precious)
    slurm.release(number)
    slurm.await_job(number, seconds=60)
    told = slurm.told_by("epilog")
    soon(lambda: told.exists() and "SlurmUser is not root" in told.read_text(), 30,
         "the epilog's word")
    same(precious.read_text(), "of SlurmUser", "SlurmUser's file")
    holds((records / "report.html").is_symlink(), "the link was replaced")
