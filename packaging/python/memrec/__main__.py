"""python -m memrec ARGUMENTS: runs the memrec that was installed with this package. python -m memrec.memana: memana."""
import os
import sys
import sysconfig


def program(name):
    """The path of an installed program: of this environment, of the user, or of PATH."""
    for scheme in (None, sysconfig.get_preferred_scheme("user") if hasattr(sysconfig, "get_preferred_scheme") else "posix_user"):
        folder = sysconfig.get_path("scripts", scheme) if scheme else sysconfig.get_path("scripts")
        path = os.path.join(folder, name)
        if os.access(path, os.X_OK):
            return path
    return name


def main(name="memrec"):
    """Becomes the program."""
    path = program(name)
    try:
        os.execvp(path, [path] + sys.argv[1:])
    except OSError as error:
        sys.exit(f"{name}: {error.strerror} (is the package installed as a whole?)")


if __name__ == "__main__":
    main()
