"""Stage four: a plan and token caches to checkpoints and a model (``tootsie.train``)."""
