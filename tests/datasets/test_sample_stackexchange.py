"""The sample StackExchange dumps: their form, their ids, their special cases, and that they can be built again."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import py7zr
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "datasets" / "sample" / "stackexchange"
MAIN, META = "sampleoverflow.stackexchange.com", "sampleoverflow.meta.stackexchange.com"
MEMBERS = ["Comments.xml", "Posts.xml", "Tags.xml", "Users.xml", "Votes.xml"]


def members(archive: Path) -> dict[str, bytes]:
    factory = py7zr.io.BytesIOFactory(1 << 28)
    with py7zr.SevenZipFile(archive) as packed:
        packed.extract(factory=factory)
    return {name: product.read() for name, product in factory.products.items()}


@pytest.fixture(scope="module")
def shipped() -> dict[str, dict[str, bytes]]:
    return {site: members(FOLDER / f"{site}.7z") for site in (MAIN, META)}


@pytest.fixture(scope="module")
def tables(shipped: dict[str, dict[str, bytes]]) -> dict[str, dict[str, list[dict[str, str]]]]:
    return {
        site: {
            name: [dict(row.attrib) for row in ElementTree.parse(io.BytesIO(data)).getroot()]
            for name, data in files.items()
        }
        for site, files in shipped.items()
    }


@pytest.fixture(scope="module")
def rebuilt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stackexchange")
    command = [sys.executable, str(FOLDER / "build.py"), "--output", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=120)
    assert done.returncode == 0, done.stderr
    return folder


class Text(HTMLParser):
    """The text of a body and its tags in order."""

    def __init__(self, body: str) -> None:
        super().__init__()
        self.text, self.tags = "", Counter()
        self.feed(body)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("site", [MAIN, META])
def test_an_archive_holds_the_tables_of_a_dump(shipped, site):
    assert sorted(shipped[site]) == MEMBERS
    for name, data in shipped[site].items():
        assert data.startswith(b'\xef\xbb\xbf<?xml version="1.0" encoding="utf-8"?>')
        assert data.endswith(b"</" + name.removesuffix(".xml").lower().encode() + b">")


def test_line_ends_are_crlf_in_one_dump_and_lf_in_the_other(shipped):
    posts = shipped[MAIN]["Posts.xml"]
    assert posts.count(b"\r\n") == posts.count(b"\n") > 800
    assert b"\r" not in shipped[META]["Posts.xml"]


@pytest.mark.parametrize("site", [MAIN, META])
def test_ids_are_unique_and_refer_to_what_exists(tables, site):
    dump = tables[site]
    for rows in dump.values():
        assert len({row["Id"] for row in rows}) == len(rows)
    posts = {row["Id"]: row for row in dump["Posts.xml"]}
    users = {row["Id"] for row in dump["Users.xml"]}
    answers = Counter(row.get("ParentId") for row in posts.values())
    for row in posts.values():
        assert row.get("OwnerUserId", "-1") in users
        if row["PostTypeId"] == "1":
            assert int(row["AnswerCount"]) == answers[row["Id"]]
            if accepted := row.get("AcceptedAnswerId"):
                assert posts[accepted]["ParentId"] == row["Id"]
        if row["PostTypeId"] == "2" and row["ParentId"] in posts:
            assert posts[row["ParentId"]]["PostTypeId"] == "1"
            assert posts[row["ParentId"]]["CreationDate"] < row["CreationDate"]
    comments = Counter(row["PostId"] for row in dump["Comments.xml"])
    assert comments == Counter(
        {i: int(row["CommentCount"]) for i, row in posts.items() if row["CommentCount"] != "0"}
    )
    assert {row["PostId"] for row in dump["Votes.xml"]} <= set(posts)
    tags = Counter(tag for row in posts.values() for tag in re.findall(r"[^<>|]+", row.get("Tags", "")))
    assert tags == Counter({row["TagName"]: int(row["Count"]) for row in dump["Tags.xml"]})
    for row in dump["Tags.xml"]:
        if "ExcerptPostId" in row:
            assert (posts[row["ExcerptPostId"]]["PostTypeId"], posts[row["WikiPostId"]]["PostTypeId"]) == (
                "4",
                "5",
            )


@pytest.mark.parametrize("site", [MAIN, META])
def test_votes_add_up_to_scores(tables, site):
    balance: Counter[str] = Counter()
    for row in tables[site]["Votes.xml"]:
        balance[row["PostId"]] += {"2": 1, "3": -1}.get(row["VoteTypeId"], 0)
    for row in tables[site]["Posts.xml"]:
        if row["PostTypeId"] in "12":
            assert balance[row["Id"]] == int(row["Score"])


def test_licences_follow_the_day_of_the_contribution(tables):
    seen = set()
    for row in tables[MAIN]["Posts.xml"] + tables[MAIN]["Comments.xml"]:
        day, licence = row["CreationDate"][:10], row.get("ContentLicense")
        expected = "2.5" if day < "2011-04-08" else "3.0" if day < "2018-05-02" else "4.0"
        assert licence in {None, f"CC BY-SA {expected}"}
        seen.add(licence)
    assert len(seen) == 4


def question(tables, title: str) -> dict[str, str]:
    return next(row for row in tables[MAIN]["Posts.xml"] if title in row.get("Title", ""))


def test_every_special_case_is_there(tables):
    posts = tables[MAIN]["Posts.xml"]
    questions = [row for row in posts if row["PostTypeId"] == "1"]
    ids = {row["Id"] for row in questions}
    assert {row["PostTypeId"] for row in posts} == {"1", "2", "4", "5", "6", "7"}
    assert any(row["AnswerCount"] == "0" for row in questions)
    assert any(int(row["Score"]) < 0 for row in questions)
    assert any(int(row["Score"]) < 0 for row in posts if row["PostTypeId"] == "2")
    assert any("ClosedDate" in row for row in questions)
    assert any("CommunityOwnedDate" in row for row in posts)
    assert any("OwnerDisplayName" in row and "OwnerUserId" not in row for row in posts)
    assert any("OwnerDisplayName" not in row and "OwnerUserId" not in row for row in posts)
    assert any(row["PostTypeId"] == "2" and row["ParentId"] not in ids for row in posts)
    assert any(row["Body"] == "" for row in questions)
    assert any(row["Body"] == "" and row["PostTypeId"] == "5" for row in posts)
    assert any("Tags" not in row for row in questions)
    assert any("LastEditDate" in row for row in posts)
    assert any("UserDisplayName" in row for row in tables[MAIN]["Comments.xml"])
    assert {row["CreationDate"][:4] for row in posts} == {str(year) for year in range(2010, 2025)}


@pytest.mark.parametrize(
    "pattern",
    [
        r'<pre class="lang-py prettyprint-override"><code>',
        r"<pre><code>",
        r"<blockquote>\n  <p>",  # the dialect before 2020
        r"<blockquote>\n<p>",
        r'<blockquote class="spoiler">',
        r'<div class="s-table-container">\n<table class="s-table">',
        r"<kbd>",
        r"<sup>2</sup>",
        r"<h1>",
        r"<hr />",
        r"<br />",
        r"<br>",
        r'<img src="https://',
        r'<a href="https://sampleoverflow\.stackexchange\.com/q/\d+">',
        r"\\begin\{align\}",
        r"\$\$\n?\\",
        r"\$a_\{i_j\} \* b\^\{\*\}_k &lt; c \\\\ d\$",
        r"[^$\\]\$5[^\d$]",
        r"&amp;amp;",
        r"&copy;",
        r"日本語|絵文字",
        "\N{BICYCLE}",
        r"<code>[^<]*```sh\n",  # a fence within code
        r"<code>a `nested` tick</code>",
        r"a_b_c, 2\*3\*4, C:\\temp\\new",
    ],
)
def test_bodies_hold(tables, pattern):
    assert any(re.search(pattern, row["Body"]) for row in tables[MAIN]["Posts.xml"]), pattern


def test_tags_are_in_angle_brackets_in_one_dump_and_between_bars_in_the_other(tables):
    assert all(
        re.fullmatch(r"(<[^<>|]+>)+", row["Tags"]) for row in tables[MAIN]["Posts.xml"] if "Tags" in row
    )
    assert all(
        re.fullmatch(r"\|([^<>|]+\|)+", row["Tags"]) for row in tables[META]["Posts.xml"] if "Tags" in row
    )


def test_there_is_enough_text_and_no_thread_twice(tables):
    posts = [row for row in tables[MAIN]["Posts.xml"] if row["PostTypeId"] in "12"]
    questions = [row for row in posts if row["PostTypeId"] == "1"]
    assert len(questions) >= 250
    assert sum(len(Text(row["Body"]).text) for row in posts) > 300_000
    assert len({row["Title"] for row in questions}) == len(questions)
    sentences = Counter(
        s for row in posts for s in re.findall(r"[A-Z][^.?!\n]{40,}[.?!]", Text(row["Body"]).text)
    )
    repeated = sum(count for count in sentences.values() if count > 4)
    assert repeated < 0.1 * sentences.total(), sentences.most_common(5)


def test_nothing_of_the_markup_or_of_a_machine_remains(tables):
    for site in (MAIN, META):
        for row in tables[site]["Posts.xml"]:
            outside = re.sub(r"<code>.*?</code>", "", row["Body"], flags=re.DOTALL)
            assert not re.search(r"```|\*\*|\]\(|\"q:|Traceback|^@\w", outside), row["Body"]
            assert not re.search(r"/(work|root|home/\w+|tmp/\w+)/", row["Body"])


def test_building_again_gives_the_same_files(shipped, rebuilt):
    for site in (MAIN, META):
        for name, data in shipped[site].items():
            assert (rebuilt / site / name).read_bytes() == data, (
                f"{site}/{name}: run build.py and commit the archives"
            )
        assert members(rebuilt / f"{site}.7z") == shipped[site]


def test_the_readme_states_the_counts(tables):
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    for site in (MAIN, META):
        kinds = Counter(row["PostTypeId"] for row in tables[site]["Posts.xml"])
        counts = [kinds["1"], kinds["2"], len(tables[site]["Comments.xml"]), len(tables[site]["Votes.xml"])]
        assert f"| `{site}` | " + " | ".join(f"{count:,}" for count in counts) in readme
