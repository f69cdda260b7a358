"""A rank that only says that it is there: `torchrun -m tests.serve.ranks_asleep FOLDER`."""

import os
import sys
import time
from pathlib import Path

if __name__ == "__main__":
    (Path(sys.argv[1]) / os.environ["RANK"]).touch()
    time.sleep(120)
