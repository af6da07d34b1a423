"""census_names.py HOW - the names of modules that the recorder tells, against a torch of a few lines; RINGS names the folder of
the rings. Each HOW is a program, which runs as a child, and a function check_HOW, which looks at what its ring has."""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "census_fake")]

said = {}  # the child's words: what -> address


def say(**modules):
    for what, module in modules.items():
        print(what, id(module), flush=True)


def act():
    import torch
    for _ in range(64):  # the recorder looks at each 32nd
        torch.tensor(8)


def tree(*names, kind=None):
    import torch
    made = (kind or torch.nn.Module)()
    for name in names:
        made._modules[name] = torch.nn.Module()
    return made


def plain():
    model = tree("first", "second")
    model._modules["second"]._modules["deep"] = tree("er")
    say(model=model, first=model._modules["first"], deeper=model._modules["second"]._modules["deep"]._modules["er"])
    model(act)
    model(act)


def check_plain(tellings):
    assert len(tellings) == 1, tellings  # when they came in, and never again
    for telling in tellings:
        assert telling == {said["model"]: ("", "Module#1"), said["first"]: ("first", "Module#1"),
                           said["deeper"]: ("second.deep.er", "Module#1"), **telling} and len(telling) == 5, telling


def more():
    """A new module comes in later; the number of the first model stays."""
    import torch
    model = tree("first")
    model(act)
    other = type("Other", (torch.nn.Module,), {"forward": torch.nn.Module.forward})()
    say(model=model, other=other)
    other(act)
    model(act)


def check_more(tellings):
    assert len(tellings) == 2 and len(tellings[0]) == 2 and len(tellings[1]) == 3, tellings
    for telling in tellings:
        assert telling[said["model"]] == ("", "Module#1")
    assert tellings[1][said["other"]] == ("", "Other#1")


def strays():
    """Modules that belong to no model come and go, one of the model's class among them."""
    import torch
    loss = type("Loss", (torch.nn.Module,), {"forward": torch.nn.Module.forward})
    model = tree("first")
    say(model=model, first=model._modules["first"])
    model(act)
    for _ in range(3):
        stray, other = loss(), tree("first")
        model(act)
        stray(act)
        other(act)
        torch.optim.Optimizer([torch.tensor(4)]).step()
        del stray, other


def check_strays(tellings):
    assert len(tellings) > 1 and any(("", "Loss#1") in telling.values() for telling in tellings), tellings
    for telling in tellings:
        assert telling[said["model"]] == ("", "Module#1") and telling[said["first"]] == ("first", "Module#1"), telling


def many():
    """More models than numbers are kept for: those that are there keep theirs."""
    import torch
    model = tree("first")
    say(model=model)
    model(act)
    for look, count in enumerate((1400, 1400, 1400, 1)):
        kind = type("Gone%d" % look, (torch.nn.Module,), {"forward": torch.nn.Module.forward})
        crowd = [kind() for _ in range(count)]
        crowd[0](act)
        torch.optim.Optimizer([torch.tensor(4)]).step()
        del crowd


def check_many(tellings):
    assert len(tellings) == 5 and ("", "Gone2#1400") in tellings[3].values(), [len(telling) for telling in tellings]
    for telling in tellings:
        assert telling[said["model"]] == ("", "Module#1")


def steps():
    """With each census, when a name is another than before."""
    import torch
    model = tree("first")
    model._modules["first"]._parameters["weight"] = torch.tensor(4)
    optimizer = torch.optim.Optimizer([model._modules["first"]._parameters["weight"]])
    model(act)
    model(act)
    optimizer.step()
    model._modules["second"] = model._modules.pop("first")
    optimizer.step()
    say(first=model._modules["second"])


def check_steps(tellings):
    assert [telling[said["first"]][0] for telling in tellings] == ["first", "second"], tellings


def oom():
    import agent_hooks as hooks
    model = tree("first")
    model(act)
    model._modules["moved"] = model._modules.pop("first")
    say(moved=model._modules["moved"])
    hooks.oom(1 << 40, 0, 0, hooks.GPU)
    for _ in range(9):
        pass
    sys.stdout.flush()
    os._exit(0)  # nothing is told at such an end


def check_oom(tellings):
    assert [telling[said["moved"]][0] for telling in tellings] == ["first", "moved"], tellings


def wrapped():
    import torch
    kinds = {name: type(name, (torch.nn.Module,), {"forward": torch.nn.Module.forward}) for name in ("DDP", "Unit", "Compiled", "Checkpoint")}
    inner = tree("linear")
    outer = tree(kind=kinds["DDP"])
    outer._modules["module"] = compiled = kinds["Compiled"]()
    compiled._modules["_orig_mod"] = unit = kinds["Unit"]()
    unit._modules["_fsdp_wrapped_module"] = body = tree("head")
    body._modules["block"] = kinds["Checkpoint"]()
    body._modules["block"]._modules["_checkpoint_wrapped_module"] = inner
    body._modules["module"] = own = tree("module")
    say(outer=outer, body=body, head=body._modules["head"], inner=inner, linear=inner._modules["linear"], own=own)
    outer(act)


def check_wrapped(tellings):
    for what, name in (("outer", ""), ("body", ""), ("head", "head"), ("inner", "block"), ("linear", "block.linear"),
                       ("own", "module")):
        assert tellings[-1][said[what]] == (name, "DDP#1"), (what, tellings[-1][said[what]])


def shared():
    one, other = tree("a"), tree("b")
    other._modules["also"] = one._modules["a"]
    one._modules["self"] = one._modules["a"]
    one._modules["a"]._modules["up"] = one._modules["a"]
    say(shared=one._modules["a"])
    one._modules["a"]._modules.pop("up")
    one(act)
    other(act)


def check_shared(tellings):
    for telling in tellings:
        assert len(telling) == 4 and telling[said["shared"]][0] == "a", telling


def recycled():
    """The same address, another module: the next census tells it by its name."""
    import gc
    import torch
    gc.disable()
    gc.freeze()
    model = tree("kept")
    model._modules["gone"] = torch.nn.Module()
    model(act)
    address = id(model._modules.pop("gone"))
    keep = []
    while not keep or id(keep[-1]) != address:
        keep.append(torch.nn.Module())
        assert len(keep) < 10000
    say(new=keep[-1])
    model._modules["new"] = keep.pop()
    del keep
    gc.unfreeze()
    model(act)
    torch.optim.Optimizer([torch.tensor(4)]).step()


def check_recycled(tellings):
    assert (tellings[0][said["new"]][0], tellings[-1][said["new"]][0]) == ("gone", "new"), tellings


def worst():
    """Nothing of the program's runs. Every module that can be named and called is named; a holder of modules is not called."""
    import torch
    ran = []

    def runs(*_):
        ran.append(sys._getframe(1).f_code.co_name)
        raise RuntimeError("a module of the worst kind")

    class Meta(type(torch.nn.Module)):
        __name__ = property(runs)
        __instancecheck__ = __subclasscheck__ = __eq__ = runs
        __hash__ = type.__hash__

    class Worst(torch.nn.Module, metaclass=Meta):
        __getattr__ = __eq__ = __bool__ = __len__ = __str__ = __repr__ = __iter__ = runs
        __hash__ = object.__hash__
        __dict__ = __class__ = _modules = _parameters = property(runs)

        def __getattribute__(self, name):
            if name == "forward":
                return lambda act: act()
            return runs()

        def __init__(self):
            pass

    class Table(dict):
        items = values = keys = get = __getitem__ = __iter__ = __bool__ = __len__ = runs

    class Odd:
        __getattr__ = __bool__ = __len__ = __iter__ = items = __class__ = property(runs)

    class Name(str):
        __str__ = __format__ = __eq__ = __add__ = __radd__ = runs
        __hash__ = str.__hash__

    def with_table(table):
        made = torch.nn.Module()
        made.__dict__["_modules"] = table
        return made

    last, worst_kind = torch.nn.Module(), Worst()
    children = {"a\0b": torch.nn.Module(), "\udcff": torch.nn.Module(), 7: torch.nn.Module(), Name("n"): torch.nn.Module(),
                "no": 3, "none": None, "worst": worst_kind, "x" * 5000: torch.nn.Module(), "last": last,
                "holder": type("Holder", (torch.nn.Module,), {})(), "odd": with_table(Odd()), "number": with_table(7), "list": with_table([torch.nn.Module()]), "slots": object(),
                "table": with_table(Table({"in": torch.nn.Module()})), "empty": object.__new__(torch.nn.Module)}
    model = torch.nn.Module()
    model.__dict__["_modules"] = children
    model.__dict__["_parameters"] = {"odd": Odd(), 3: 4, "good": torch.tensor(4)}
    say(last=last, worst=worst_kind, inside=dict.__getitem__(children["table"].__dict__["_modules"], "in"))
    torch.nn.Module._call_impl(last, act)
    torch.nn.Module._call_impl(worst_kind, act)
    optimizer = torch.optim.Optimizer([torch.tensor(4)])
    optimizer.step()
    assert not ran, ran
    print("ran", len(ran))
    del model, children, worst_kind


def check_worst(tellings):
    names = {name for name, _ in tellings[0].values()}
    assert said["ran"] == 0 and tellings[0][said["last"]][0] == "last" and tellings[0][said["inside"]][0] == "table.in" and \
        tellings[0][said["worst"]][0] == "worst" and "a_b" in names and "holder" not in names, tellings


def ring_of(how):
    import agent_ring
    child = subprocess.run([sys.executable, "-W", "error", "-X", "dev", __file__, "child", how], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, env=dict(os.environ, LD_PRELOAD=os.environ["LIB"]))
    assert not child.returncode and not child.stderr, child.stderr.decode()
    for line in child.stdout.decode().splitlines():
        what, number = line.split()
        said[what] = int(number)
    path, = [os.path.join(os.environ["RINGS"], name) for name in os.listdir(os.environ["RINGS"]) if name.endswith(".ring")]
    return agent_ring.Ring(path)


def main(how):
    ring = ring_of(how)
    tellings, told = [], {}
    for event in ring.events:
        if event.what != "INSTANCE_NAME":
            continue
        if event.addr:
            assert event.addr not in told
            told[event.addr] = event.name, event.domain
        else:
            assert event.size == len(told) and event.flags == len(tellings) + 1, (event.size, event.flags, told)
            tellings.append(told)
            told = {}
    assert not told, told
    if os.environ.get("OPTIONS", "").startswith("no-"):
        assert not tellings, tellings
    else:
        globals()["check_" + how](tellings)


if sys.argv[1] == "child":
    import torch
    torch.tensor(1)
    for _ in range(4):  # the recorder comes by
        act()
    globals()[sys.argv[2]]()
else:
    main(sys.argv[1])
