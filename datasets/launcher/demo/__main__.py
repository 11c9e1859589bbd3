"""``python -m tootsie.demo``: the verb ``demo`` of the command."""

from tootsie.datasets.command_line import run_stage
from tootsie.train.demo.command import app

if __name__ == "__main__":
    run_stage(app, "tootsie demo")
