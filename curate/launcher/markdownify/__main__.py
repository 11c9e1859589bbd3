"""``python -m curate.markdownify`` outside a checkout: start the installed converter."""

from tootsie.curate.markdownify.command import main

if __name__ == "__main__":
    main()
