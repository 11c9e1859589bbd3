"""Footnotes of LaTeXML pages whose mark and text stand apart."""

from __future__ import annotations

from tootsie.curate.markdownify import markdownify


def note(role: str, mark: str, text: str = "") -> str:
    content = f'<sup class="ltx_note_mark">{mark}</sup><span class="ltx_note_type">{role}: </span>{text}'
    return (
        f'<span class="ltx_note ltx_role_{role}"><sup class="ltx_note_mark">{mark}</sup>'
        f'<span class="ltx_note_outer"><span class="ltx_note_content">{content}</span></span></span>'
    )


def convert(html: str) -> str:
    return markdownify(html, profile="arxiv")


def test_a_mark_belongs_to_the_next_text_with_its_label() -> None:
    html = (
        f"<p>a{note('footnotemark', 'x')}</p><p>{note('footnotetext', 'x', 'one')}</p>"
        f"<p>b{note('footnotemark', 'x')}</p><p>{note('footnotetext', 'x', 'two')}</p>"
    )
    assert convert(html) == "a[^1]\n\nb[^2]\n\n[^1]: one\n\n[^2]: two\n"


def test_a_later_mark_refers_to_the_note_before() -> None:
    html = f"<p>a{note('footnote', '1', 'one')}b{note('footnotemark', '1')}</p>"
    assert convert(html) == "a[^1]b[^1]\n\n[^1]: one\n"


def test_marks_in_tex_are_the_marks_in_text() -> None:
    mark = note("footnotemark", "$\\dagger$")
    html = f"<p>a{mark}</p><p>{note('footnotetext', '†', 'one')}</p>"
    assert convert(html) == "a[^1]\n\n[^1]: one\n"


def test_a_text_without_a_mark_stays_in_place_and_is_not_lost() -> None:
    html = f"<table><tr><td>3<sup>c</sup><td>4</table><div>{note('footnotetext', 'c', 'two transits')}</div><p>b</p>"
    assert "\n\n<sup>c</sup> two transits\n\nb\n" in convert(html)


def test_a_mark_without_a_text_is_no_dangling_footnote() -> None:
    assert convert(f"<p>a{note('footnotemark', '*')} b</p>") == "a<sup>\\*</sup> b\n"


def test_a_separate_text_leaves_no_gap_before_the_full_stop() -> None:
    html = f"<p>a{note('footnotemark', '1')} b {note('footnotetext', '1', 'one')}.</p>"
    assert convert(html) == "a[^1] b.\n\n[^1]: one\n"
