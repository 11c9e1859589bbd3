"""``python -m tootsie.train``."""

from tootsie.datasets.command_line import run_stage
from tootsie.train.command import app

if __name__ == "__main__":
    run_stage(app, "tootsie train")
