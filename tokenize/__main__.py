"""``python -m tootsie.tokenize``: the same as ``tootsie tokenize``."""

from tootsie.datasets.command_line import run_stage
from tootsie.tokenize.command import app

if __name__ == "__main__":
    run_stage(app, "tootsie tokenize")
