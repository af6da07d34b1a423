"""modules.py LOOP DEPTH new|old TIMES WAY WAYS - writes into TIMES the ns of processor time an event inside of DEPTH nested modules.
Each module has a forward of its own. A module has three frames (new, as in PyTorch 2.x) or two (old, as in 1.x). WAYS processes take
turns; this process has number WAY."""
import ctypes
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cli/agent_modules/torch/nn/modules"))
import module

library = ctypes.PyDLL(sys.argv[1])
depth, Base = int(sys.argv[2]), module.Module if sys.argv[3] == "new" else module.old_module()
FORWARD = """
class Level(Base):
    def forward(self, act):
        for module in self.inner or (act,):
            module(act) if self.inner else act()
"""


def level(number):
    names = {"Base": Base}
    exec(compile("\n" * number + FORWARD, "model.py", "exec"), names)  # lines of its own, as in a model
    return names["Level"]


def act():
    done.append(library.loop(os.fsencode(sys.argv[4]), int(sys.argv[5]), int(sys.argv[6])))


done, outermost = [], None
for i in range(depth):
    outermost = level(i)(outermost) if outermost else level(i)()
outermost(act) if outermost else act()
sys.exit(not done[0])
