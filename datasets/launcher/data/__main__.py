"""``python -m tootsie.data``: the verb ``data`` of the command."""

from tootsie.datasets.command import app
from tootsie.datasets.command_line import run_stage

if __name__ == "__main__":
    run_stage(app, "tootsie data")
