"""``python -m curate.markdownify`` in a checkout, ``python -m tootsie.curate.markdownify`` anywhere."""

from tootsie.curate.markdownify.command import main

if __name__ == "__main__":
    main()
