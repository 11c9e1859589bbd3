"""``python -m tootsie.mixtures``: the same as ``tootsie mix``."""

from tootsie.datasets.command_line import run_stage
from tootsie.mixtures.command import app

if __name__ == "__main__":
    run_stage(app, "tootsie mix")
