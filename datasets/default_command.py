"""Command groups in which one command may be left unnamed: ``tootsie train RUN.yaml`` for ``tootsie train run RUN.yaml``."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup


def with_default(name: str) -> type[TyperGroup]:
    """Return the class of a group that takes its first argument for one of ``name``'s where it is not a command."""

    class Group(TyperGroup):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            if args and args[0] not in self.commands and args[0] not in ("--help", "-h"):
                args = [name, *args]
            return super().parse_args(ctx, args)

    return Group
