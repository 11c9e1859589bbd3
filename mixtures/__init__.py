"""Stage three: a mixture spec and token-cache ledgers to a plan (``tootsie.mixtures``)."""
