"""Under which licence a StackExchange post stands."""

from __future__ import annotations

CHANGES = (("2018-05-02", "CC BY-SA 4.0"), ("2011-04-08", "CC BY-SA 3.0"), ("", "CC BY-SA 2.5"))
"""First day of each licence, newest first. Source: https://stackoverflow.com/help/licensing"""


def post_licence(created: str | None, stated: str | None) -> str:
    """Return the licence of a post.

    Args:
      created: ISO-8601 date of the post.
      stated: the post's ``ContentLicense``, which wins where it is there.
    """
    if stated:
        return stated
    if not created:
        return "CC BY-SA"
    return next(licence for first_day, licence in CHANGES if created[:10] >= first_day)
