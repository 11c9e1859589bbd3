"""``python -m tootsie.report``: the verb ``report`` of the command."""

from tootsie.datasets.command_line import run_stage
from tootsie.train.report.command import app

if __name__ == "__main__":
    run_stage(app, "tootsie report")
