"""ranks.py N PROGRAM... - the program as N ranks of one run. torchrun of PyTorch 1.13 does not start on Python 3.11."""
import os
import socket
import subprocess
import sys

with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
count = int(sys.argv[1])
ranks = [subprocess.Popen([sys.executable] + sys.argv[2:], env=dict(
    os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(count), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port)))
         for rank in range(count)]
sys.exit(max(abs(rank.wait()) for rank in ranks))
