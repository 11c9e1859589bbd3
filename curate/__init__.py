"""Stage one: raw dumps to Markdown documents (``tootsie.curate``)."""
