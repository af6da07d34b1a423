"""guides_train.py - the training of docs/guides: some steps that take GPU memory, with phases."""
import os
import sys

sys.path[:0] = [os.path.join(os.environ["SRC"], "packaging/python"), os.path.join(os.environ["SRC"], "tests/cli")]
import memrec
from gpu_driver import Driver

driver = Driver()
weights = driver.take(64 << 20)
for step in range(4):
    for phase in ("rollout", "forward", "backward", "optimizer"):
        with memrec.phase(phase):
            driver.free(driver.take((step + 1) << 20))
    memrec.step()
