"""``python -m tootsie.curate``."""

from tootsie.curate.command import app
from tootsie.datasets.command_line import run_stage

run_stage(app, "tootsie curate")
