"""modules.py LOOP DEPTH new|old - ns of processor time an event inside of DEPTH nested modules, each with a forward of its own:
three frames a module (new: PyTorch 2.x) or two (old: 1.x)."""
import ctypes
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cli/agent_modules/torch/nn/modules"))
import module

library = ctypes.PyDLL(sys.argv[1])
library.loop.restype = ctypes.c_double
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
    figures.append(library.loop(800, 200))


figures, outermost = [], None
for i in range(depth):
    outermost = level(i)(outermost) if outermost else level(i)()
outermost(act) if outermost else act()
print(f"{figures[0]:.1f}", file=sys.stderr)
