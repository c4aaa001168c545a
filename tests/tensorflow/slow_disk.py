# SPDX-License-Identifier: Apache-2.0
"""Runs a program on a slow disk: slow_disk.c between it and the files of one folder."""
import os
import struct
import subprocess
import sys
import tempfile

_LIMITS, _FOLDER = "SLOW_DISK_LIMITS", "SLOW_DISK_FOLDER"


def run_again():
    """This program once more with the library before the disk, unless that has been done: call it
    before TensorFlow is imported."""
    if _LIMITS in os.environ:
        return
    with tempfile.TemporaryDirectory(prefix="plumber-slow-disk-") as folder:
        library = os.path.join(folder, "slow_disk.so")
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "slow_disk.c")
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", library, source, "-ldl",
                        "-lpthread"], check=True)
        limits, data = os.path.join(folder, "limits"), os.path.join(folder, "data")
        with open(limits, "wb") as file:
            file.write(struct.pack("dd", 0, 0))
        os.mkdir(data)
        environment = {**os.environ, _LIMITS: limits, _FOLDER: data, "LD_PRELOAD": library}
        done = subprocess.run([sys.executable, *sys.argv], env=environment, check=False)
    sys.exit(done.returncode)


def folder():
    """The folder whose files are slow."""
    return os.environ[_FOLDER]


def disk(bytes_per_s, latency_s=0.0):
    """From now on the disk gives so much (0: without limit), and each read takes so long."""
    with open(os.environ[_LIMITS], "r+b") as file:
        file.write(struct.pack("dd", bytes_per_s, latency_s))
