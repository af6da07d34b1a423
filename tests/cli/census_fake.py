"""census_fake.py HOW - a program with a torch of a few lines, in one of the situations that a guest gets into."""
import os
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "census_fake"))
import torch


class Layer(torch.nn.Module):
    def __init__(self, *shape):
        super().__init__()
        self._parameters["weight"] = torch.tensor(*shape)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self._modules["first"], self._modules["second"] = Layer(128, 64), Layer(64, 32)


def parameters(model):
    return [layer._parameters["weight"] for layer in model._modules.values()]


def turn(seconds=0.3):
    """Lets the recorder come by. The recorder looks at every 32nd tensor, and Python at pending calls between bytecodes."""
    end = time.time() + seconds
    while time.time() < end:
        for _ in range(64):
            torch.tensor(8)
        time.sleep(0.01)


def train(model, optimizer, steps=3):
    for _ in range(steps):
        for p in parameters(model):
            p.grad = torch.tensor(*p.shape)
        optimizer.step()


def raises(*arguments):
    raise RuntimeError("an optimizer of the worst kind")


def blocked():
    """The main thread waits in C by now, and never comes back."""
    time.sleep(0.5)
    model = Model()
    optimizer = torch.optim.Optimizer(parameters(model))
    turn(6)
    train(model, optimizer)
    print("done", flush=True)
    os._exit(0)


def main(how):
    if how == "old":
        del sys.modules["torch.optim.optimizer"].register_optimizer_step_post_hook
    if how == "blocked":
        thread = threading.Thread(target=blocked)
        thread.start()
        thread.join()
    model = Model()
    optimizer = torch.optim.Optimizer(parameters(model))
    turn()
    if how == "thread":
        thread = threading.Thread(target=train, args=(model, optimizer))
        thread.start()
        thread.join()
    elif how in ("minutes", "changes"):
        times = iter(range(0, 10**9, 61))
        sys.modules["time"] = type("Time", (), {"monotonic": staticmethod(lambda: next(times))})
        for _ in range(40):
            train(model, optimizer, 1)
            if how == "changes":  # another set in each step
                optimizer.param_groups[0]["params"].append(torch.tensor(4))
    elif how == "broken":
        for name, value in (("param_groups", 7), ("state", None), ("param_groups", [{}]), ("param_groups", [{"params": [3]}])):
            worst = torch.optim.Optimizer(parameters(model))
            worst.step = lambda: None
            setattr(worst, name, value)
            for hook in sys.modules["torch.optim.optimizer"]._global_optimizer_post_hooks.values():
                hook(worst, (), {})
        tensor = type("Worst", (torch.Tensor,), {"data_ptr": raises, "numel": raises})
        optimizer.param_groups[0]["params"].append(torch.tensor(4, kind=torch.Tensor))
        optimizer.param_groups[0]["params"][-1].__class__ = tensor
        train(model, optimizer)
    elif how == "wrapped":  # nobody steps; one optimizer only stands before another
        wrapper = object.__new__(torch.optim.Optimizer)
        turn(6)
        del wrapper
    elif how == "signal":  # an exception of a signal handler belongs to the program, wherever it comes
        def handler(number, frame):
            raise TimeoutError("the program's own")
        signal.signal(signal.SIGALRM, handler)
        caught = 0
        for _ in range(300):
            optimizer = torch.optim.Optimizer(parameters(model))
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.0005)
                while True:
                    train(model, optimizer)
            except TimeoutError:
                caught += 1
        print("caught", caught)
    elif how == "fork":
        train(model, optimizer, 1)
        child = os.fork()
        train(model, optimizer)
        if not child:
            os._exit(0)
        print("child", os.waitpid(child, 0)[1])
    elif how == "late":  # at the very end, when the interpreter is on its way out
        import atexit
        atexit.register(train, model, optimizer)
    elif how == "deep":  # at the limit of recursion
        def dive(depth):
            try:
                dive(depth + 1)
            except RecursionError:
                pass
            if depth % 7 == 0:
                try:
                    train(model, optimizer, 1)
                except RecursionError:
                    pass
        dive(0)
    else:
        train(model, optimizer)
    print("done")


main(sys.argv[1])
