"""process_trees.py SCENARIO - ways in which programs make processes, each of which takes GPU memory or does not.

A worker writes account.PID (JSON: peak, taken, live) before its calls, so that its trace can be checked. The scenarios
are the functions below; each says what it does.
"""
import ctypes
import json
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gpu_driver import Driver

MIB = 1 << 20


def work(driver=None, sizes=(3, 1, 2), folder="."):
    """Takes three blocks, and keeps the first."""
    with open("%s/account.%d" % (folder, os.getpid()), "w") as file:
        json.dump({"peak": sum(sizes) * MIB, "taken": len(sizes), "live": sizes[0] * MIB}, file)
    driver = driver or Driver()
    taken = [driver.take(size * MIB) for size in sizes]
    for address in taken[1:]:
        driver.free(address)


def wait(*pids):
    for pid in pids:
        if os.waitpid(pid, 0)[1]:
            sys.exit("process %d failed" % pid)


def forked(function, *args):
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        function(*args)
        status = 0
    finally:
        os._exit(status)


def idle():
    """A child of a recorded process that does nothing, and one that calls the driver with what it inherited."""
    driver = Driver()
    first = driver.take(5 * MIB)
    wait(forked(lambda: None), forked(lambda: [driver.take(7 * MIB) for _ in range(500)]))
    driver.free(first)
    work(driver)
    with open("account.%d" % os.getpid(), "w") as file:
        json.dump({"peak": 6 * MIB, "taken": 4, "live": 3 * MIB}, file)


def fork_first():
    """Forked before anything was recorded: processes like any other."""
    wait(*[forked(work) for _ in range(3)])


def pool(method):
    """multiprocessing's workers; the program itself takes nothing."""
    context = multiprocessing.get_context(method)
    workers = [context.Process(target=work) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    sys.exit(any(worker.exitcode for worker in workers))


def spawn():
    pool("spawn")


def forkserver():
    pool("forkserver")


def children():
    """A recorded process that starts programs which take nothing, by vfork, posix_spawn and the shell."""
    driver = Driver()
    first = driver.take(1 * MIB)
    for i in range(5):
        if subprocess.run(["true"], close_fds=False).returncode:
            sys.exit("vfork")
        wait(os.posix_spawn("/bin/true", ["true"], os.environ))
        if os.system("true"):
            sys.exit("system")
    driver.free(first)
    work(driver)
    with open("account.%d" % os.getpid(), "w") as file:
        json.dump({"peak": 6 * MIB, "taken": 4, "live": 3 * MIB}, file)


def crowd():
    """200 children, one after the other, of which every fourth takes memory."""
    for i in range(200):
        wait(forked(work if i % 4 == 0 else lambda: None))
    try:
        os.waitpid(-1, os.WNOHANG)
        sys.exit("a child that is not ours")
    except ChildProcessError:
        pass


def reaper():
    """Adopts orphans, and waits for all its children before it ends."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
    work()
    orphan = os.fork()
    if not orphan:
        if not os.fork():
            os.read(os.open("go", os.O_RDONLY), 1)
            os._exit(0)
        os._exit(0)
    wait(orphan)
    with open("go", "w"):
        pass
    os.waitpid(-1, 0)  # the orphan's child: it is still adopted
    try:
        os.waitpid(-1, 0)
        sys.exit("something else was adopted")
    except ChildProcessError:
        print("no child is left")


def wall():
    """A thread waits for children of all kinds (__WALL) and takes whatever ends, until the program is done."""
    child = forked(lambda: os.read(os.open("go", os.O_RDONLY), 1))

    def take_all():
        while os.waitpid(-1, 0x40000000)[0] != child:
            pass

    thread = threading.Thread(target=take_all)
    thread.start()
    work()
    with open("go", "w"):
        pass
    thread.join()


def homeless():
    """Its working folder is removed before it begins."""
    here = os.getcwd()
    os.mkdir("gone")
    os.chdir("gone")
    os.rmdir("../gone")
    work(folder=here)


def few_files():
    """As few descriptors as it takes, and all of them in use."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))
    ctypes.CDLL("libcuda.so.1").cuInit(0)
    held = []
    try:
        while True:
            held.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        pass
    driver = Driver()
    address = driver.take(MIB)
    driver.free(address)
    print("done")


def fewer_files():
    """A small limit, as some services have it."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))
    work()


def daemon():
    """One process that ends, and one that leaves the session and goes on until ./go is written."""
    if not os.fork():
        os.setsid()
        if os.fork():
            os._exit(0)
        work()
        with open("daemon.pid", "w") as file:
            file.write(str(os.getpid()))
        os.rename("daemon.pid", "daemon")
        os.read(os.open("go", os.O_RDONLY), 1)
        os._exit(0)
    os.wait()
    work()
    while not os.path.exists("daemon"):
        os.sched_yield()


def raylet():
    """Was there before memrec. Starts a worker for each line of ./orders: a JSON object of variables, added to its own."""
    with open("orders") as orders:
        for line in orders:
            environment = dict(os.environ, **json.loads(line)["env_vars"])
            worker = subprocess.Popen([sys.executable, __file__, "work"], env=environment)
            print("worker %d: %d" % (worker.pid, worker.wait()), flush=True)


def launcher():
    """Starts two ranks, as torchrun does, and kills one that is slow to end."""
    ranks = []
    for rank in range(2):
        environment = dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2")
        ranks.append(subprocess.Popen([sys.executable, __file__, "rank%d" % rank], env=environment))
    ranks[0].wait()
    while not os.path.exists("busy"):
        os.sched_yield()
    ranks[1].send_signal(signal.SIGTERM)
    sys.exit(ranks[1].wait() != -signal.SIGTERM)


def rank0():
    work()


def rank1():
    """Goes on for ever."""
    work()
    with open("busy", "w"):
        pass
    signal.pause()


if __name__ == "__main__":
    globals()[sys.argv[1]]()
