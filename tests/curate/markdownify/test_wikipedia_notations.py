"""Pictures of a notation become the notation."""

from __future__ import annotations

from tootsie.curate.markdownify import convert


def test_hieroglyphs_are_their_codes() -> None:
    html = (
        '<p>The name <span class="mw-hiero-outer"><table class="mw-hiero-table"><tr><td>'
        '<img class="mw-hiero-img" alt="G17"><img alt="X1"></td></tr></table></span> means</p>'
    )
    conversion = convert(html, profile="wikipedia")
    assert "`G17 X1`" in conversion.markdown
    assert conversion.counters["hieroglyphs"] == 1


def test_a_chess_diagram_is_its_position() -> None:
    html = (
        '<table class="chess-board"><tr><td>8</td><td><img alt="a8 black rook"></td><td><img alt="b8"></td></tr>'
        '<tr><td>1</td><td><img alt="e1 white king"></td><td><img alt="h1 white knight"></td></tr></table><p>White moves.</p>'
    )
    assert convert(html, profile="wikipedia").markdown == "`r7/8/8/8/8/8/8/4K2N`\n\nWhite moves.\n"


def test_music_is_its_source() -> None:
    lilypond = '<div class="mw-ext-score"><img alt="\\relative c\' {\n  c4 d }" src=x></div>'
    assert convert(lilypond, profile="wikipedia").markdown == "```lilypond\n\\relative c' {\n  c4 d }\n```\n"
    abc = '<div class="mw-ext-score"><img alt="X:1\nK:C\nCDE"></div>'
    assert convert(abc, profile="wikipedia").markdown == "```abc\nX:1\nK:C\nCDE\n```\n"


def test_a_board_without_known_pieces_stays_a_table() -> None:
    html = '<table class="chess-board"><tr><td>a</td><td>b</td></tr></table>'
    assert convert(html, profile="wikipedia").markdown == "|  |  |\n| --- | --- |\n| a | b |\n"
