from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tootsie.curate.stackexchange_layout import (
    POST_FIELDS,
    TEMPLATES,
    Layout,
    Template,
    draw,
    fill,
    load_template,
    parse_lines,
    parse_template,
)
from tootsie.datasets.errors import SpecError

VALUES = dict.fromkeys(POST_FIELDS, "") | {"title": "Why?", "body": "First.\n\n\n\n    code", "site": "x.com"}


def test_segments_lines_and_blank_lines_without_values_leave_no_trace() -> None:
    lines = parse_lines(
        "# {title}\n\nScore: {score_before} · Author: {author} · on {site}\n\n{tags}\n\n{body}\n\n{score_after}\n\nend"
    )
    assert fill(lines, VALUES) == "# Why?\n\non x.com\n\nFirst.\n\n\n\n    code\n\nend"
    assert fill(lines, VALUES | {"score_before": "0", "author": "Ann"}).startswith(
        "# Why?\n\nScore: 0 · Author: Ann · on x.com\n\nFirst."
    )


def test_values_are_never_read_as_templates() -> None:
    hostile = "{title} {0} {body.__class__} {{ }} · %s"
    assert fill(parse_lines("{body}"), {"body": hostile, "title": "no"}) == hostile


@pytest.mark.parametrize("name", TEMPLATES)
def test_own_templates_are_whole(name: str) -> None:
    template = TEMPLATES[name]
    parse_template({field: getattr(template, field) for field in Template.__dataclass_fields__}, name)
    layout = Layout(template)
    shown = VALUES | {
        "score_before": "7",
        "author": "Ann",
        "tags": "a, b",
        "body": "BODY",
        "comments": "COMMENTS",
    }
    question = layout.question(shown)
    assert all(part in question for part in ("Why?", "7", "Ann", "a, b", "BODY", "COMMENTS"))
    assert layout.answer(shown, accepted=True) != layout.answer(shown, accepted=False)
    for accepted in (False, True):
        text = layout.answer(shown, accepted=accepted)
        assert all(part in text for part in ("7", "Ann", "BODY", "COMMENTS"))
        after = layout.answer(shown | {"score_before": "", "score_after": "7"}, accepted=accepted)
        assert text.index("7") < text.index("BODY")
        assert after.index("7") > after.index("BODY")
        bare = layout.answer(VALUES | {"body": "BODY"}, accepted=accepted)
        assert "BODY" in bare
        assert not any(part in bare for part in ("·", "by", "rated", "votes", "score", "Score", "\n\n\n"))
    # A title is no part of the paragraph that follows, and a rule no underline of one.
    assert "\n\n" in question[question.index("Why?") :]
    assert "\n---\n" not in question


def test_comments() -> None:
    layout = Layout(TEMPLATES["headings"])
    comments = [{"text": "one", "author": "Ann"}, {"text": "two", "author": ""}]
    assert layout.comments(comments) == "**Comments**\n\n- one · Ann\n- two"
    assert layout.comments([]) == ""


def test_draws_are_even_and_differ_by_seed_and_purpose() -> None:
    keys = [f"math.stackexchange.com/{number}" for number in range(4000)]
    first = [draw(0, "scores", key, 2) for key in keys]
    assert 1850 < sum(first) < 2150
    for other in ([draw(1, "scores", key, 2) for key in keys], [draw(0, "template", key, 2) for key in keys]):
        assert 1850 < sum(a == b for a, b in zip(first, other, strict=True)) < 2150
    assert all(900 < count < 1100 for count in Counter(draw(0, "template", key, 4) for key in keys).values())


def test_draws_are_the_same_in_every_process() -> None:
    code = (
        "from tootsie.curate.stackexchange_layout import draw; "
        "print([draw(3, 'scores', f'a.com/{n}', 2) for n in range(64)])"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": hash_seed},
        ).stdout
        for hash_seed in ("1", "2")
    }
    assert outputs == {f"{[draw(3, 'scores', f'a.com/{n}', 2) for n in range(64)]}\n"}


GOOD = "question: '{title}\n\n  {body}'\nanswer: '{body}'\n"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("- a\n", "a template is a mapping"),
        ("question: '{body}'\n", "answer: is missing"),
        (GOOD + "footer: x\n", "footer: no such key"),
        (GOOD + "accepted: 3\n", "accepted: must be a text"),
        (GOOD + "accepted: '{bdoy}'\n", "accepted: no such placeholder"),
        (GOOD + "accepted: '{title}'\n", r"accepted: must have {body} once"),
        (GOOD + "accepted: |\n  {body}\n\n  {body}\n", r"accepted: must have {body} once"),
        (GOOD + "accepted: '> {body}'\n", "must stand alone on their line"),
        (GOOD + "accepted: '{body} · {tags}'\n", "must stand alone on their line"),
        (GOOD + "accepted: '{body.__class__}'\n", "a placeholder is a name in braces"),
        (GOOD + "accepted: '{body!r}'\n", "a placeholder is a name in braces"),
        (GOOD + "accepted: '{body:>10}'\n", "a placeholder is a name in braces"),
        (GOOD + "accepted: '{0}'\n", "a placeholder is a name in braces"),
        (GOOD + "accepted: '{}'\n", "a placeholder is a name in braces"),
        (GOOD + "accepted: '{body'\n", "accepted: "),
        (GOOD + "comment: '- {body}'\n", "comment: no such placeholder"),
        (GOOD + "comment: '- {author}'\n", "comment: must have {text} once"),
        (GOOD + "accepted: !!python/object/apply:os.getcwd []\n", "tag"),
    ],
)
def test_a_template_that_cannot_be_used(tmp_path: Path, content: str, problem: str) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(content)
    with pytest.raises(SpecError) as caught:
        load_template(str(path), authors=True)
    assert problem in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_mistake_is_told_by_the_key_that_has_it(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text("question: '{body}'\nanswer: y\n")
    with pytest.raises(SpecError, match=r"own\.yaml: answer: must have \{body\} once \(found 'y'\)"):
        load_template(str(path), authors=True)


def test_a_template_of_the_users_own(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text("question: |\n  {{q}} {title}\n\n  {body}\nanswer: |\n  {author}\n\n  {body}\n")
    texts = load_template(str(path), authors=True)
    assert isinstance(texts, dict)
    layout = Layout(Template(**texts))
    assert layout.question({"title": "Why?", "body": "So."}) == "{q} Why?\n\nSo."
    assert layout.answer({"author": "Ann", "body": "So."}, accepted=True) == "Ann\n\nSo."
    with pytest.raises(SpecError, match="--authors=keep"):
        load_template(str(path), authors=False)


def test_names_of_templates() -> None:
    assert load_template("dialogue", authors=False) == "dialogue"
    assert load_template("shuffle", authors=False) == "shuffle"
    with pytest.raises(SpecError, match=r"no such template.*headings, labels, rules, dialogue, shuffle"):
        load_template("header", authors=False)
