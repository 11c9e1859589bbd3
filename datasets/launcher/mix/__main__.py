"""``python -m tootsie.mix``: the verb ``mix`` of the command."""

from tootsie.datasets.command_line import run_stage
from tootsie.mixtures.command import app

if __name__ == "__main__":
    run_stage(app, "tootsie mix")
