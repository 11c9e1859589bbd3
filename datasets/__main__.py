"""``python -m tootsie.datasets``."""

from tootsie.datasets.command import app
from tootsie.datasets.command_line import run_stage

run_stage(app, "tootsie data")
