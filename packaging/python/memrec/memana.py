"""python -m memrec.memana ARGUMENTS: runs the memana that was installed with this package."""
from memrec.__main__ import main

if __name__ == "__main__":
    main("memana")
