"""What the demonstration reads out of two packages, on archives made like them."""

from __future__ import annotations

import bz2
import sqlite3
import zipfile
from pathlib import Path

import pytest

from tootsie.curate.datashop.demo import real_text
from tootsie.datasets.errors import InputError

WIKITEXT = """{{Other uses}}
[[File:Albedo.svg|thumb|A [[picture]] of [[it|that]]]]
'''Albedo''' ({{IPAc-en|æ|l}}) is the ''[[diffuse reflection|reflecting]] power'' of a [[surface]].<ref name="a">{{cite|x=1}}</ref>
NOTE: it reaches {{convert|2,500|km2|sqmi}} &amp; more.<!-- no -->

{| class="wikitable"
! Surface || {{nowrap|x}}
{| class="inner"
|}
|}

==Earth==
See [http://example.org the site]<ref />.
* {{chem|C|n|H}} of <math>a_n</math>it

== See also ==
* [[Cool roof]]
[[Category:Light]]"""
PLAIN = (
    "Albedo is the reflecting power of a surface.\n\nNOTE: it reaches 2,500 km² & more.\n\n## Earth\n\nSee the site.\n\n"
    "* CnH of it"
)


def test_wikitext_becomes_paragraphs() -> None:
    assert real_text.plain(WIKITEXT) == PLAIN


def test_the_three_collections(tmp_path: Path) -> None:
    pages = "".join(
        f"<page><title>{title}</title><ns>{space}</ns><id>{number}</id>{redirect}<revision><timestamp>2016-04-18T23:12:22Z"
        f"</timestamp><text xml:space=\"preserve\">A '''{title}'''.\n\n== More ==\nRest</text></revision></page>"
        for number, (title, space, redirect) in enumerate(
            [("Acid rain", 0, ""), ("AcidRain", 0, '<redirect title="Acid rain" />'), ("Talk:Acid", 1, "")]
        )
    )
    dump = f'<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/">{pages}</mediawiki>'
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE elements (atomic_number, symbol, name, description, sources, uses)")
    database.execute("INSERT INTO elements VALUES (2, 'He', 'Helium', 'A gas. ', NULL, 'Balloons.')")
    database.execute("INSERT INTO elements VALUES (118, 'Og', 'Oganesson', NULL, '', NULL)")
    database.commit()
    for name, members in (
        ("gensim", {real_text._WIKIPEDIA: bz2.compress(dump.encode()), real_text._NEWS: b"One.\nTwo.\n"}),
        ("mendeleev", {real_text._ELEMENTS: database.serialize()}),
    ):
        with zipfile.ZipFile(tmp_path / real_text.WHEELS[name], "w") as archive:
            for member, content in members.items():
                archive.writestr(member, content)
    database.close()
    gensim, mendeleev = (tmp_path / file for file in real_text.WHEELS.values())
    (article,) = real_text.wikipedia(gensim)
    assert (article.id, article.text) == ("wikipedia-0", "# Acid rain\n\nA Acid rain.\n")
    assert article.metadata["url"] == "https://en.wikipedia.org/wiki/Acid_rain"
    assert article.metadata["license"] == "CC-BY-SA-3.0"
    assert [item.text for item in real_text.news(gensim)] == ["One.\n", "Two.\n"]
    (element,) = real_text.elements(mendeleev)
    assert (element.id, element.text) == ("element-He", "# Helium\n\nHelium: A gas.\n\nBalloons.\n")
    with pytest.raises(InputError, match="another file than the demonstration was made for"):
        real_text.download(tmp_path)
