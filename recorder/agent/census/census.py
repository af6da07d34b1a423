# census.py - finds the kinds of PyTorch's memory: weights, buffers, gradients, optimizer states, master weights.
#
# This is the only code of memrec that runs in the program's interpreter. census.c compiles it once, with these names:
#
#   modules       sys.modules; the census imports nothing
#   enter         calls after_step below, unless the thread is traced or profiled
#   tell          adds one record to the ring; false: the ring takes no more
#   begin_names   begins a list of modules' names; false: no names are wanted
#   tell_name     adds the name of a module: the module, its name, its model, number of the list
#   end_names     ends the list: its number (0: nothing has changed since the last list), number of names
#   tell_before   adds a block or a segment from before the recording (memrec attach, memrec start)
#   trouble       reports an error of the census in the trace
#   find_objects  all objects of a class, from the garbage collector's list, without running their code
#   life          number of the recorded process; a forked child that is recorded by itself has another number
#   refresh       seconds after which all is reported again, because --keep may drop the reports; 0: never
#
# The census makes no tensor, draws no random number, and changes and keeps no object of the program. It reads objects
# from instance dictionaries and by C code of Python and PyTorch, so no property and no overridden method runs.

WEIGHT, BUFFER, GRADIENT, STATE, MASTER = range(1, 6)  # enum mt_census
TIED = 1 << 6  # the same memory as a record before
PARAMETERS_AT_ONCE = 1024  # most parameters reported after one step; the rest follows after the next steps
ROOTS = 4096  # most models with a number, those that are gone included
OFTEN = 16  # reports of one optimizer; then one each time its steps have doubled

# Numbers of enum mt_kind, for memory from before the recording.
TENSOR_ALLOC, DRIVER_ALLOC, VMM_CREATE, VMM_RELEASE, VMM_MAP = 1, 8, 18, 19, 21
PIECE = 2 << 20  # bytes by which expandable segments grow and shrink

# Attributes that frameworks keep beside a parameter, in its __dict__: Megatron and apex, DeepSpeed's third stage.
BESIDE = (("main_grad", GRADIENT), ("main_param", MASTER), ("ds_tensor", WEIGHT))
# Attributes of modules with the size of a weight that is stored elsewhere, in parts or packed: nn.Embedding,
# nn.Linear, Megatron's.
SIZES = (("num_embeddings", "embedding_dim"), ("out_features", "in_features"), ("output_size", "input_size"))

# A class of modules with one of these can be called.
CALLED = ("forward", "__call__", "__getattr__", "__getattribute__")
# Names that wrappers give to the module inside them.
WRAPPED = ("_fsdp_wrapped_module", "_orig_mod", "_checkpoint_wrapped_module")

numbers = {"census": 0, "life": 0, "busy": False, "optimizers": 0, "telling": 0, "roots": 0}
known = {}  # id of an optimizer -> Known
answer = {"before": ""}
names_told = {"what": None, "time": 0}  # the last list of names, and its time
roots = {}  # (id of a model, name of its class) -> its place among all models, its word: "Sequential#1"
newest = {}  # word of a class -> number of the newest model of the class


class Known:
    """Facts of an optimizer that was seen: numbers only, never the optimizer."""

    __slots__ = ("name", "steps", "set", "due", "taken", "next", "place", "time")

    def __init__(self, name):
        self.name = name
        self.steps = self.due = self.taken = self.next = self.place = self.time = 0
        self.set = None


def begin():
    """None: not yet; "": the hook is registered; else why it cannot be."""
    torch, optim = modules.get("torch"), modules.get("torch.optim.optimizer")
    if optim is None or not is_there(torch):
        return None
    register = getattr(optim, "register_optimizer_step_post_hook", None)
    if register is None:
        return "PyTorch %s does not tell of its optimizers' steps; 2.0 and later do" % getattr(torch, "__version__", "")
    if is_calling(optim):
        return None
    numbers["is_compiling"] = getattr(getattr(torch, "compiler", None), "is_compiling", None) or never
    register(hook)
    return ""


def is_there(torch):
    return torch is not None and not getattr(getattr(torch, "__spec__", None), "_initializing", False)


def hook(optimizer, args, kwargs):
    """The function that PyTorch calls. torch.compile finds nothing in it; a program that traces itself sees this much."""
    if not numbers["is_compiling"]():
        enter(optimizer)


def never(*_):
    return False


def is_calling(optim):
    """Some thread may be on its way through the hooks of others: they must not change under it."""
    if not getattr(optim, "_global_optimizer_post_hooks", None):
        return False
    for frame in modules["sys"]._current_frames().values():
        while frame is not None:
            if frame.f_code.co_name == "wrapper" and frame.f_code.co_filename == optim.__file__:
                return True
            frame = frame.f_back
    return False


def after_step(optimizer):
    """Called after each step of each optimizer, in the thread that stepped."""
    quietly(look_at_optimizer, optimizer)


def models():
    """Called where no optimizer was seen to step: a model that nobody trains here, or whose steps are compiled."""
    quietly(look_at_models)


def names():
    """Called when modules were seen to run whose names were not told, and after an out-of-memory error."""
    if is_there(modules.get("torch")):
        quietly(look_at_names)


def before():
    """Called after memrec attach and memrec start. "": PyTorch holds nothing, or has told what it holds; else why that is not known."""
    answer["before"] = ""
    if is_there(modules.get("torch")):
        quietly(look_at_memory)
    return answer["before"]


def look_at_memory():
    torch, memory = modules["torch"], modules.get("torch.cuda.memory")
    if memory is None or not torch.cuda.is_initialized():
        return
    answer["before"] = "memory from before the recording is unknown: PyTorch's allocator could not be asked"
    totals, reserved = {}, {}
    segments = snapshot_of(memory)
    for segment in segments:
        reserved[segment["device"]] = reserved.get(segment["device"], 0) + segment["total_size"]
        tell_segment(segment)
    for segment in segments:
        device, address = segment["device"], segment["address"]
        for block in segment["blocks"]:
            address = block.get("address", address)
            if block["state"] == "active_allocated":
                totals[device] = totals.get(device, 0) + block["size"]
                tell_before(TENSOR_ALLOC, device, address, block["size"], totals[device], reserved[device])
            address += block["size"]
    answer["before"] = ""


def snapshot_of(memory):
    try:
        return memory.memory_snapshot(include_traces=False)
    except TypeError:  # an older PyTorch has no such argument
        return memory.memory_snapshot()


def tell_segment(segment):
    """An expandable one consists of pieces, which live as long as they are mapped."""
    device, address, size = segment["device"], segment["address"], segment["total_size"]
    if not segment.get("is_expandable"):
        tell_before(DRIVER_ALLOC, device, address, size, 0, 0)
        return
    for at in range(address, address + size, PIECE):
        for kind in (VMM_CREATE, VMM_MAP, VMM_RELEASE):
            tell_before(kind, device, at, PIECE, 0, 0)


def quietly(function, *arguments):
    """
    Once at a time; without torch functions of the program's (modes, subclasses), and without the garbage collector coming
    by. Errors of ours end here. One with frames of others at its end is a signal handler's, and the program's.
    """
    if numbers["busy"]:
        return
    numbers["busy"] = True
    gc = modules.get("gc")
    collects = gc is not None and gc.isenabled()
    if collects:
        gc.disable()
    try:
        torch = modules["torch"]
        with (getattr(torch._C, "DisableTorchFunction", None) or torch._C.DisableTorchFunctionSubclass)():
            function(*arguments)
    except Exception as error:
        if not is_ours(error):
            raise
        trouble("an error in it: %s: %.150s" % (type(error).__name__, error))
    finally:
        if collects:
            gc.enable()
        numbers["busy"] = False


def is_ours(error):
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    return at is None or at.tb_frame.f_code.co_filename == quietly.__code__.co_filename


def look_at_optimizer(optimizer):
    if numbers["life"] != life():
        known.clear()
        numbers["life"] = life()
    own = object.__getattribute__(optimizer, "__dict__")
    it = known.get(id(optimizer)) or meet(optimizer)
    it.steps += 1
    if is_due(it, set_of(own)):
        take(it, own)


def look_at_models():
    found = [] if known else find_objects(modules["torch.optim.optimizer"].Optimizer)
    for optimizer in found:
        own = object.__getattribute__(optimizer, "__dict__")
        if "param_groups" in own and "state" in own:  # accelerate's optimizer wraps another one and has none of these
            take(meet(optimizer), own)
    if not known:
        take(Known("-"), {"param_groups": (), "state": {}})


def look_at_names():
    Census("-", ()).look_at_modules(True)


def meet(optimizer):
    if len(known) > 256:
        known.clear()
    numbers["optimizers"] += 1
    it = known[id(optimizer)] = Known("%s#%d" % (word(type(optimizer).__name__), numbers["optimizers"]))
    return it


def set_of(own):
    """Differs when parameters or states came or went, or the parameters moved."""
    groups = [len(group["params"]) for group in own["param_groups"]]
    first = next((p for group in own["param_groups"] for p in group["params"]), None)
    return len(own["state"]), groups, id(first), first is not None and address_of(local(first))


def is_due(it, now):
    if it.set != now:
        it.set, it.due, it.place = now, 2, 0
    if refresh and clock() - it.time > refresh:
        it.due = it.due or 1
        return True
    return it.due and (it.taken < OFTEN or it.steps >= it.next)


def clock():
    time = modules.get("time")
    return time.monotonic() if time else 0


def take(it, own):
    parameters = [p for group in own["param_groups"] for p in group["params"]]
    census = Census(it.name, {id(p) for p in parameters})
    if it.place == 0:
        numbers["census"] += 1
    census.look_at_modules(it.place == 0)
    for p in parameters[it.place:it.place + PARAMETERS_AT_ONCE]:
        census.parameter(p, own["state"])
    it.place += PARAMETERS_AT_ONCE
    if it.place < len(parameters) and not census.refused:
        return
    census.modules()
    it.due, it.place, it.taken, it.next, it.time = it.due - 1, 0, it.taken + 1, it.steps * 2, clock()


class Census:
    """One portion of it. Lives as long as the call."""

    def __init__(self, optimizer, optimized):
        self.optimizer = optimizer
        self.optimized = optimized  # ids of its parameters
        self.names = {}  # id of a parameter -> (name, class of its module, model, sizes by the module)
        self.others = []  # parameters and buffers without an optimizer: pairs (kind, tensor)
        self.orphans = False  # some of them are trained: the optimizer has copies
        self.said = set()
        self.refused = False
        self.seen = set()  # ids of modules
        self.places = []  # (module, its name without parts of wrappers, model)
        self.runs = {}  # id of a class -> can_run

    def look_at_modules(self, tells_names):
        base = modules["torch"].nn.Module
        self.own = dict_reader(base)
        found = find_objects(base)
        inner = {id(child) for module in found for _, child in children(self.own(module), base)}
        tops = [root for root in found if id(root) not in inner]
        forget_roots(tops)
        for (_, model), at in sorted([(model_of(root), at) for at, root in enumerate(tops)]):
            self.walk(tops[at], model, base)
        if tells_names and begin_names():
            self.tell_names()

    def walk(self, root, model, base):
        stack = [(root, "", "")]
        while stack:
            module, prefix, place = stack.pop()
            if id(module) in self.seen:
                continue
            self.seen.add(id(module))
            own = self.own(module)
            if can_run(type(module), base, self.runs) or (own and dict.__contains__(own, "forward")):
                self.places.append((module, place[:-1], model))
            for what, key in ((WEIGHT, "_parameters"), (BUFFER, "_buffers")):
                for name, tensor in items(own, key):
                    self.meet(what, tensor, prefix + part(name), module, model, said_sizes(own) if name == "weight" else None)
            inner = children(own, base)
            for name, child in reversed(inner):
                name = part(name)
                stack.append((child, prefix + name + ".", place if is_wrapped(name, inner) else place + name + "."))

    def meet(self, what, tensor, name, module, model, sizes):
        if not issubclass(type(tensor), modules["torch"].Tensor) or id(tensor) in self.names:
            return
        self.names[id(tensor)] = (name, word(class_of(module)), model, sizes)
        if id(tensor) not in self.optimized:
            self.others.append((what, tensor))
            self.orphans = self.orphans or (what == WEIGHT and tensor.requires_grad)

    def tell_names(self):
        """Nothing where all is as it was at the last telling."""
        now = life(), hash(tuple([(id(module), name, model) for module, name, model in self.places]))
        if now == names_told["what"] and not (refresh and clock() - names_told["time"] > refresh):
            end_names(0, 0)
            return
        names_told.update(what=now, time=clock())
        numbers["telling"] += 1
        for module, name, model in self.places:
            tell_name(module, name, model, numbers["telling"])
        end_names(numbers["telling"], len(self.places))

    def parameter(self, p, state):
        copy = id(p) not in self.names and self.orphans and p.dtype is modules["torch"].float32
        self.tensor(MASTER if copy else WEIGHT, p, p)
        if p.is_leaf:
            self.tensor(GRADIENT, p, p.grad)
        of = state.get(p)
        for key, value in (of.items() if isinstance(of, dict) else ()):
            self.tensor(STATE, p, value, str(key))
        self.beside(p)

    def modules(self):
        for what, tensor in self.others:
            self.tensor(what, tensor, tensor)
            if what == WEIGHT:
                if tensor.is_leaf:
                    self.tensor(GRADIENT, tensor, tensor.grad)
                self.beside(tensor)

    def beside(self, p):
        own = getattr(p, "__dict__", None) or {}
        for key, what in BESIDE:
            self.tensor(what, p, own.get(key), key)
        quantized = getattr(own.get("quant_state"), "__dict__", None) or {}
        for key, value in quantized.items():
            self.tensor(WEIGHT, p, value, key)

    def tensor(self, what, of, value, key="-"):
        """One record, or as many as a wrapper has tensors."""
        torch = modules["torch"]
        if value is None or not isinstance(value, torch.Tensor) or self.refused:
            return
        try:
            part = local(value)
            address = address_of(part)
            if address is None:
                for inner in inside(value):
                    self.tensor(what, of, inner, key)
                return
            self.record(what, of, value, part, address, key)
        except (AttributeError, RuntimeError, TypeError, ValueError, NotImplementedError):
            pass  # an unusual tensor, which is not reported

    def record(self, what, of, whole, part, address, key):
        name, module, model, sizes = self.names.get(id(of), ("", "-", "-", None))
        shape = tuple(whole.shape)
        if what == WEIGHT and sizes and key in ("-", "ds_tensor"):
            shape = sizes
        nbytes = part.numel() * part.element_size() if address else 0
        if not address and not (what == WEIGHT and sizes):
            return
        same = (what, address, nbytes)
        if address and same in self.said:
            what |= TIED
        self.said.add(same)
        owner = self.optimizer if id(of) in self.optimized else "-"
        words = str(part.dtype).rpartition(".")[2], dims(shape), dims(part.shape), module, owner, word(key), model
        device = part.device
        if not tell(what | numbers["census"] << 8, name, " ".join(words), device.type, -1 if device.index is None else device.index,
                    address, nbytes):
            self.refused = True


def is_wrapped(name, inner):
    """The module that a wrapper (DDP, FSDP, torch.compile, activation checkpointing) is around: the name says nothing."""
    return name in WRAPPED or (name == "module" and len(inner) == 1)


def model_of(root):
    """The same at each telling: models are in the order in which they were seen, and each class has numbers of its own."""
    key = id(root), class_of(root)
    if key not in roots:
        kind = word(key[1])
        newest[kind] = newest.get(kind, 0) + 1
        numbers["roots"] += 1
        roots[key] = numbers["roots"], "%s#%d" % (kind, newest[kind])
    return roots[key]


def forget_roots(tops):
    """Models that come and go leave no more than ROOTS numbers behind. Those that are there keep theirs."""
    if len(roots) <= ROOTS:
        return
    here = {(id(root), class_of(root)) for root in tops}
    for key in [key for key in roots if key not in here]:
        del roots[key]


def dict_reader(base):
    """Reads a module's __dict__ as its base class does, whatever a subclass makes of attributes."""
    slots = [kind.__dict__["__dict__"] for kind in base.__mro__ if "__dict__" in kind.__dict__]
    return slots[0].__get__ if slots else never


def items(own, key):
    """Entries of a table of a module's. The table may be anything."""
    table = dict.get(own, key) if own else None
    return list(dict.items(table)) if issubclass(type(table), dict) else []


def children(own, base):
    return [(name, child) for name, child in items(own, "_modules") if issubclass(type(child), base)]


def can_run(kind, base, known):
    """Whether a stack can have a call of it. A class without a forward of its own holds modules: ModuleList, ModuleDict."""
    if id(kind) not in known:
        own = [names_of(each) for each in lines_of(kind) if not any(each is one for one in lines_of(base))]
        known[id(kind)] = not own or any(name in names for names in own for name in CALLED)
    return known[id(kind)]


def lines_of(kind):
    """The class and those it is made of, whatever its metaclass says."""
    return type.__dict__["__mro__"].__get__(kind)


def names_of(kind):
    return type.__dict__["__dict__"].__get__(kind)


def class_of(it):
    return type.__dict__["__name__"].__get__(type(it))


def part(name):
    """A part of a name; a program may put anything there."""
    return name if type(name) is str and name.isprintable() else word(name) if type(name) is str else "-"


def said_sizes(own):
    for rows, columns in SIZES:
        if type(dict.get(own, rows)) is int and type(dict.get(own, columns)) is int:
            return own[rows], own[columns]
    return None


def local(tensor):
    """The part of a DTensor that is here."""
    slot = getattr(type(tensor), "_local_tensor", None)
    return slot.__get__(tensor) if slot is not None else tensor


def address_of(tensor):
    """The address; 0: nowhere just now; None: it is made of others, or has no memory that one could name."""
    torch = modules["torch"]
    if tensor.device.type == "meta" or tensor.layout is not torch.strided or type(tensor).__name__ == "FakeTensor":
        return None
    if not tensor.numel():
        return 0
    base = getattr(torch._C, "_data_address", None)  # address of the storage; data_ptr() would end the sharing of a lazy copy
    try:
        address = base(tensor) if base else tensor.data_ptr()
        if address and base:
            address += tensor.storage_offset() * tensor.element_size()
        return address or None
    except (RuntimeError, TypeError):
        return None


def inside(tensor):
    """The tensors that a wrapper (torchao and others) is made of."""
    flatten = getattr(tensor, "__tensor_flatten__", None)
    try:
        return [getattr(tensor, name) for name in flatten()[0]] if flatten else []
    except Exception:
        return []


def dims(shape):
    return "x".join(str(int(n)) for n in shape) or "-"


def word(text):
    return "".join(c if c.isalnum() or c in "_.-#" else "_" for c in str(text))[:40] or "-"
