"""All checks, in the order of the report."""

from __future__ import annotations

from tootsie.mixtures.preflight.boundaries import BOUNDARY_CHECKS
from tootsie.mixtures.preflight.contamination import CONTAMINATION_CHECKS
from tootsie.mixtures.preflight.data import DATA_CHECKS
from tootsie.mixtures.preflight.settings import SETTINGS_CHECKS

CHECKS = (*DATA_CHECKS, *CONTAMINATION_CHECKS, *SETTINGS_CHECKS, *BOUNDARY_CHECKS)
