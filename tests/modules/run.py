"""run.py FILE CASE FOLDER - a program of tests/modules or tests/frameworks, with the oracle in the place of its account."""
import os
import runpy
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:1] = [HERE, os.path.join(HERE, "../frameworks")]
import oracle

path = next(p for p in (os.path.join(folder, sys.argv[1]) for folder in sys.path) if os.path.exists(p))
sys.modules["account"] = oracle
sys.argv = [path] + sys.argv[2:]
with oracle.begin():
    runpy.run_path(path, run_name="__main__")
