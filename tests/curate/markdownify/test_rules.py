"""Every rule that the code can count is registered, and nothing else is."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tootsie.curate.markdownify import Profile, convert
from tootsie.curate.markdownify.rules import RULES, as_markdown, rules_of, table

ORIGINS = {"alttext", "annotation", "mathml", "script", "image", "entry", "rendering", "container"}
NAMED_BY_ARGUMENT = {"drop", "_runin"}


def counted_names(path: Path) -> set[str]:
    """Names a module counts: subscripts of ``counters`` and arguments of the makers of handlers."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute):
            if node.value.attr == "counters":
                names |= strings(node.slice)
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in NAMED_BY_ARGUMENT
        ):
            names |= strings(node.args[0])
    return names


def strings(node: ast.expr) -> set[str]:
    if isinstance(node, ast.Constant):
        return {str(node.value)}
    if isinstance(node, ast.IfExp):
        return strings(node.body) | strings(node.orelse)
    if isinstance(node, ast.JoinedStr):
        assert ast.unparse(node).startswith("f'formulas_from_{"), ast.unparse(node)
        return {f"formulas_from_{origin}" for origin in ORIGINS}
    assert isinstance(node, ast.Name), ast.unparse(node)  # a maker's parameter: its calls are read
    return set()


def test_the_registry_holds_exactly_the_names_that_the_code_counts(project_root: Path) -> None:
    counted = set().union(*map(counted_names, (project_root / "curate/markdownify").glob("*.py")))
    assert counted - set(RULES) == set()
    assert set(RULES) - counted == set()


@pytest.mark.parametrize("profile", list(Profile))
def test_a_rule_of_one_profile_is_counted_in_a_module_of_that_profile(
    profile: Profile, project_root: Path
) -> None:
    folder = project_root / "curate/markdownify"
    own = {
        Profile.ARXIV: ("arxiv", "front_matter", "latexml_notes", "equations"),
        Profile.WIKIPEDIA: ("wikipedia", "wikipedia_notations", "conversion"),
        Profile.STACKEXCHANGE: ("stackexchange",),
        Profile.WEB: (),
    }[profile]
    names = set().union(*(counted_names(folder / f"{module}.py") for module in own))
    only_here = {name for name, rule in RULES.items() if rule.profiles == {profile}}
    assert only_here - names == set()


@pytest.mark.parametrize(
    ("folder", "profile"), [("ar5iv", "arxiv"), ("wikipedia", "wikipedia"), ("web", "web")]
)
def test_pages_apply_rules_of_their_profile_only(folder: str, profile: str, shared_data: Path) -> None:
    for path in sorted((shared_data / folder).rglob("*.html")):
        counters = convert(path.read_bytes(), profile=profile).counters
        assert set(counters) - set(rules_of(profile)) == set(), path


def test_each_rule_is_described_by_one_sentence() -> None:
    assert [name for name, rule in RULES.items() if not rule.description.endswith(".")] == []
    assert [
        name for name, rule in RULES.items() if name.endswith("_dropped") != (rule.effect == "dropped")
    ] == [
        "formulas_empty",
        "control_characters_removed",
    ]


def test_the_documentation_lists_the_rules(project_root: Path) -> None:
    """After a change: ``python -m tootsie.curate.markdownify.rules > docs/markdownify-rules.md``."""
    assert (project_root / "docs/markdownify-rules.md").read_text() == as_markdown()


def test_a_profile_lists_its_rules_only() -> None:
    lines = table("stackexchange").splitlines()
    assert len(lines) == len(rules_of("stackexchange"))
    assert [line.split()[0] for line in lines if "snippet" in line] == ["snippets", "snippet_results_dropped"]
    assert not any(line.startswith("hatnotes") for line in lines)
