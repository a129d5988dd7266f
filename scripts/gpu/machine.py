"""What the machine is, and whether there is a GPU on it at all."""

import ctypes
import os
import shutil

from outcome import Skipped, decide

PYTHON = shutil.which("python3") or "python3"


def gpu_count(library="libcuda.so.1"):
    """How many GPUs CUDA's driver has; or why none can be asked for."""
    try:
        driver = ctypes.CDLL(library)
    except OSError:
        return 0, f"no GPU: {library} is not there"
    code = driver.cuInit(0)
    count = ctypes.c_int(0)
    if code == 0:
        code = driver.cuDeviceGetCount(ctypes.byref(count))
    if code != 0:
        return 0, f"no GPU: CUDA's driver says {code}"
    return count.value, "" if count.value else "no GPU: CUDA's driver has none"


def lacking(chokepoint):
    """Why no check can run; empty where they can."""
    if not os.access(chokepoint, os.X_OK):
        raise SystemExit(f"gpu-check: {chokepoint} cannot be run; run scripts/build or "
                         "scripts/package, or name a tarball with --tarball")
    return gpu_count(os.environ.get("CHOKEPOINT_CUDA", "libcuda.so.1"))[1]


TORCH_FACTS = """
import json, torch
print(json.dumps({"torch": torch.__version__, "cuda": torch.version.cuda,
                  "nccl": ".".join(str(part) for part in torch.cuda.nccl.version()),
                  "gpu": torch.cuda.get_device_name(0),
                  "gpus": torch.cuda.device_count(),
                  "nccl_library": next((line.split()[-1] for line in open("/proc/self/maps")
                                        if "/libnccl.so" in line), None)}))
"""


def torch_facts(session):
    """PyTorch's versions; skips the check where there is none."""
    if "torch" not in session.shared:
        import programs
        program = session.start("torch", [PYTHON, "-c", TORCH_FACTS])
        text = program.wait(session.left_s(), fine=range(-255, 256))
        session.shared["torch"] = (programs.document(text, "python3")
                                   if program.process.returncode == 0 else None)
        session.shared["no-torch"] = program.complaint()
    if session.shared["torch"] is None:
        raise Skipped("PyTorch cannot be used: " + session.shared["no-torch"])
    return session.shared["torch"]


def nccl_folder(session):
    """A folder with PyTorch's NCCL alone, which lies where no loader looks; nothing where it has
    none of its own. Its own folder may be the system's, whose other libraries are not meant."""
    try:
        library = torch_facts(session).get("nccl_library")
    except Skipped:
        return None
    if not library:
        return None
    folder = session.work / "nccl"
    if not folder.exists():
        folder.mkdir()
        (folder / "libnccl.so.2").symlink_to(library)
    return folder


def facts(session):
    version = session.run("version", [session.chokepoint, "--version"]).strip()
    if shutil.which("nvidia-smi"):
        session.run("nvidia-smi", ["nvidia-smi", "-q"], fine=range(256))
    doctor = session.ask("doctor", ["doctor", "--json"], fine=(0, 3))
    torch = torch_facts(session)
    driver = driver_version()
    kernel = os.uname().release
    return decide(doctor.get("schema") == "chokepoint.doctor/1",
                  f"{torch['gpus']} × {torch['gpu']}, driver {driver}, CUDA {torch['cuda']}, "
                  f"PyTorch {torch['torch']}, NCCL {torch['nccl']}, kernel {kernel}, {version}",
                  torch=torch, driver=driver, kernel=kernel, chokepoint=version,
                  doctor=doctor.get("verdict"))


def driver_version():
    try:
        with open("/proc/driver/nvidia/version", encoding="utf-8") as file:
            return next(word for word in file.read().split()
                        if "." in word and word.replace(".", "").isdigit())
    except (OSError, StopIteration):
        return "of unknown version"
