from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import py7zr
import pytest

from .conftest import answer, files_in, question, rows


def site(
    folder: Path,
    posts: list[dict],
    users: list[dict] | None = None,
    comments: list[dict] | None = None,
    links: list[dict] | None = None,
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "Posts.xml").write_text(rows("posts", posts))
    if users is not None:
        (folder / "Users.xml").write_text(rows("users", users))
    if comments is not None:
        (folder / "Comments.xml").write_text(rows("comments", comments))
    if links is not None:
        (folder / "PostLinks.xml").write_text(rows("postlinks", links))
    return folder


def damage(folder: Path, row: bytes, by: bytes, table: str = "Posts.xml") -> None:
    """Write ``by`` in place of a part of a table."""
    content = (folder / table).read_bytes()
    assert content.count(row) == 1
    (folder / table).write_bytes(content.replace(row, by))


USERS = [{"Id": 7, "DisplayName": "Ann"}, {"Id": 8, "DisplayName": "Bob"}]


def test_thread(curate, tmp_path: Path) -> None:
    posts = [
        question(1, AcceptedAnswerId=4),
        answer(2, 1, Score=9),
        answer(3, 1, Score=-2, ContentLicense="CC BY-SA 4.0"),
        answer(
            4, 1, Score=0, CreationDate="2012-01-01T00:00:00.000", OwnerUserId=99, OwnerDisplayName="gone"
        ),
    ]
    folder = site(tmp_path / "math.stackexchange.com", posts, USERS)
    result = curate("stackexchange", folder)
    assert result.code == 0
    (document,) = result.documents.values()
    assert document.id == "math.stackexchange.com/1"
    assert document.created == "2019-05-01T10:00:00.000"
    assert document.text == (
        "# Question 1?\n\nScore: 3 · Tags: alpha, beta\n\nI wonder about 1 & $x_{1}$.\n\n"
        "## Accepted answer\n\nScore: 0\n\nAnswer 4.\n\n"
        "## Answer\n\nScore: 9\n\nAnswer 2.\n\n"
        "## Answer\n\nScore: -2\n\nAnswer 3.\n"
    )
    assert document.metadata["url"] == "https://math.stackexchange.com/questions/1"
    assert document.metadata["license"] == "CC BY-SA 2.5 AND CC BY-SA 3.0 AND CC BY-SA 4.0"
    assert document.metadata["tags"] == ["alpha", "beta"]
    assert [(post["id"], post["author"], post["license"]) for post in document.metadata["posts"]] == [
        ("1", "Ann", "CC BY-SA 4.0"),
        ("4", "gone", "CC BY-SA 3.0"),
        ("2", "Bob", "CC BY-SA 2.5"),
        ("3", "Bob", "CC BY-SA 4.0"),
    ]
    assert document.metadata["posts"][0]["author_url"] == "https://math.stackexchange.com/users/7"
    assert result.dropped == {"answer joined to its question": 3}


def test_every_row_is_accounted_for(curate, tmp_path: Path) -> None:
    posts = [
        question(1),
        question(2),
        answer(3, 1),
        answer(4, 77),
        answer(3, 1),
        question(2),
        {"Id": 5, "PostTypeId": 5, "Body": "<p>wiki</p>"},
        {"Id": 6, "PostTypeId": 6, "Body": "<p>nomination</p>"},
        {"PostTypeId": 1, "Body": "<p>no id</p>"},
        question(8, Body="x" * 5000),
    ]
    folder = site(tmp_path / "a.stackexchange.com", posts)
    result = curate("stackexchange", folder, "--max-document-bytes=1000")
    assert result.code == 0
    assert result.manifest.accounting.read == 10
    assert result.dropped == {
        "answer joined to its question": 1,
        "damaged record": 1,
        "duplicate id": 2,
        "orphan answer": 1,
        "other post type": 1,
        "too large": 1,
        "wiki post": 1,
    }
    assert result.manifest.counters["threads without answers"] == 1
    dropped = curate(
        "stackexchange", folder, "--max-document-bytes=1000", "--unanswered=drop", out="answered"
    )
    assert dropped.dropped == result.dropped | {"no answers": 1}


def test_policies(curate, tmp_path: Path) -> None:
    comments = [
        {
            "Id": 2,
            "PostId": 2,
            "Text": "later",
            "CreationDate": "2019-06-02",
            "UserDisplayName": "gone",
            "ContentLicense": "CC BY-SA 3.0",
        },
        {"Id": 1, "PostId": 2, "Text": "a *star* and $a*b*c$", "CreationDate": "2019-06-01", "UserId": 7},
        {"Id": 3, "PostId": 55, "Text": "of a post that is not here"},
    ]
    folder = site(tmp_path / "a.stackexchange.com", [question(1), answer(2, 1)], USERS, comments)
    result = curate(
        "stackexchange", folder, "--comments=keep", "--scores=drop", "--tags=drop", "--authors=keep"
    )
    assert result.documents["a.stackexchange.com/1"].text == (
        "# Question 1?\n\nAuthor: Ann\n\nI wonder about 1 & $x_{1}$.\n\n"
        "## Answer\n\nAuthor: Bob\n\nAnswer 2.\n\n**Comments**\n\n- a *star* and $a*b*c$ · Ann\n- later · gone\n"
    )
    metadata = result.documents["a.stackexchange.com/1"].metadata
    assert metadata["comment_authors"] == ["Ann", "gone"]
    assert metadata["comments"] == [
        {
            "id": "1",
            "post": "2",
            "author": "Ann",
            "author_url": "https://a.stackexchange.com/users/7",
            "license": "CC BY-SA 4.0",
            "created": "2019-06-01",
        },
        {"id": "2", "post": "2", "author": "gone", "license": "CC BY-SA 3.0", "created": "2019-06-02"},
    ]
    assert "CC BY-SA 3.0" in metadata["license"]
    assert result.dropped["comment"] == 2
    assert curate("stackexchange", folder, "--scores=maybe", out="x").code == 2


def test_limit_counts_threads_and_keeps_their_answers(curate, tmp_path: Path) -> None:
    posts = [question(1), answer(10, 2), question(2), question(3), answer(11, 1), answer(12, 3)]
    result = curate("stackexchange", site(tmp_path / "a.stackexchange.com", posts), "--limit=2")
    assert sorted(result.documents) == ["a.stackexchange.com/1", "a.stackexchange.com/2"]
    assert [document.metadata["answers"] for document in result.documents.values()].count(1) >= 1


def test_scores_after_the_text_or_drawn_for_each_thread(curate, tmp_path: Path) -> None:
    posts = [post for n in range(1, 60) for post in (question(n), answer(1000 + n, n))]
    folder = site(tmp_path / "a.stackexchange.com", posts)
    after = curate("stackexchange", folder, "--scores=after", out="after").documents
    assert after["a.stackexchange.com/1"].text == (
        "# Question 1?\n\nTags: alpha, beta\n\nI wonder about 1 & $x_{1}$.\n\nScore: 3\n\n"
        "## Answer\n\nAnswer 1001.\n\nScore: 1\n"
    )
    before = curate("stackexchange", folder, out="before").documents
    result = curate("stackexchange", folder, "--scores=shuffle", out="shuffled")
    drawn = {key: document.text == after[key].text for key, document in result.documents.items()}
    assert all(
        after[key].text if late else before[key].text == result.documents[key].text
        for key, late in drawn.items()
    )
    assert 15 < sum(drawn.values()) < 45
    assert result.manifest.counters["threads with scores after the text"] == sum(drawn.values())
    assert result.manifest.counters["threads with scores before the text"] == 59 - sum(drawn.values())
    other = curate("stackexchange", folder, "--scores=shuffle", "--layout-seed=1", out="other").documents
    assert 10 < sum((document.text == after[key].text) != drawn[key] for key, document in other.items()) < 50
    # The draw is of the thread, whatever else is in the run and however it is spread.
    few = curate(
        "stackexchange", folder, "--scores=shuffle", "--limit=20", "--seed=9", "--shards=2", out="few"
    )
    assert all(document.text == result.documents[key].text for key, document in few.documents.items())


def test_templates(curate, tmp_path: Path) -> None:
    posts = [
        post for n in range(1, 40) for post in (question(n, AcceptedAnswerId=1000 + n), answer(1000 + n, n))
    ]
    folder = site(tmp_path / "a.stackexchange.com", posts)
    result = curate("stackexchange", folder, "--template=dialogue", "--scores=drop", "--tags=drop")
    assert result.documents["a.stackexchange.com/1"].text == (
        "**Q:** Question 1?\n\nI wonder about 1 & $x_{1}$.\n\n**A:** (accepted)\n\nAnswer 1001.\n"
    )
    shuffled = curate("stackexchange", folder, "--template=shuffle", out="shuffled")
    counts = {
        name: count
        for name, count in shuffled.manifest.counters.items()
        if name.startswith("threads in template")
    }
    assert len(counts) == 4
    assert sum(counts.values()) == 39
    own = tmp_path / "own.yaml"
    own.write_text("question: |\n  {site} asks: {title}\n\n  {body}\nanswer: |\n  {url}\n\n  {body}\n")
    mine = curate("stackexchange", folder, f"--template={own}", out="mine")
    assert mine.documents["a.stackexchange.com/1"].text == (
        "a.stackexchange.com asks: Question 1?\n\nI wonder about 1 & $x_{1}$.\n\n"
        "https://a.stackexchange.com/a/1001\n\nAnswer 1001.\n"
    )
    own.write_text(own.read_text().replace("asks", "wonders"))
    assert "--template" in curate("stackexchange", folder, f"--template={own}", out="mine").stderr


def test_low_scores_and_many_answers_are_left_out_and_counted(curate, tmp_path: Path) -> None:
    posts = [
        question(1, AcceptedAnswerId=10),
        answer(10, 1, Score=-5),
        *(answer(20 + n, 1, Score=n) for n in range(8)),
        question(2, Score=-1),
        answer(30, 2, Score=9),
        question(3),
        answer(40, 3, Score=0),
    ]
    folder = site(tmp_path / "a.stackexchange.com", posts)
    options = ["--min-question-score=0", "--min-answer-score=3", "--max-answers=3"]
    result = curate("stackexchange", folder, *options)
    assert [post["id"] for post in result.documents["a.stackexchange.com/1"].metadata["posts"]] == [
        "1",
        "10",
        "27",
        "26",
    ]
    assert sorted(result.documents) == ["a.stackexchange.com/1", "a.stackexchange.com/3"]
    assert result.dropped == {
        "answer beyond --max-answers": 3,
        "answer joined to its question": 3,
        "answer of a dropped question": 1,
        "answer with a low score": 4,
        "question with a low score": 1,
    }
    answered = curate("stackexchange", folder, *options, "--unanswered=drop", out="answered")
    assert sorted(answered.documents) == ["a.stackexchange.com/1"]
    assert answered.dropped == result.dropped | {"no answers": 1}


def test_order_of_answers(curate, tmp_path: Path) -> None:
    posts = [
        question(1, AcceptedAnswerId=9),
        answer(5, 1, Score=2, CreationDate="2015-01-01T00:00:00"),
        answer(4, 1, Score=2, CreationDate="2016-01-01T00:00:00"),
        answer(9, 1, Score=-3),
        answer(8, 1, Score=2, CreationDate="2015-01-01T00:00:00"),
        answer(7, 1, Score=5),
    ]

    def order(rows: list[dict], out: str) -> list[str]:
        result = curate("stackexchange", site(tmp_path / out / "a.stackexchange.com", rows), out=f"{out}-out")
        return [post["id"] for post in result.documents["a.stackexchange.com/1"].metadata["posts"]]

    assert order(posts, "forward") == order(posts[::-1], "backward") == ["1", "9", "7", "5", "8", "4"]


def test_closed_duplicate_edited_and_community_posts_say_so(curate, tmp_path: Path) -> None:
    posts = [
        question(1, ClosedDate="2020-01-01T00:00:00", LastEditDate="2019-06-01T00:00:00"),
        question(2, CommunityOwnedDate="2013-01-01T00:00:00"),
        question(3),
    ]
    links = [
        {"Id": 1, "PostId": 1, "RelatedPostId": 3, "LinkTypeId": 3},
        {"Id": 2, "PostId": 1, "RelatedPostId": 20, "LinkTypeId": 3},
        {"Id": 3, "PostId": 2, "RelatedPostId": 3, "LinkTypeId": 1},
        {"Id": 4, "PostId": 77, "RelatedPostId": 3, "LinkTypeId": 3},
    ]
    result = curate("stackexchange", site(tmp_path / "a.stackexchange.com", posts, links=links))
    first, second, third = (result.documents[f"a.stackexchange.com/{n}"].metadata for n in (1, 2, 3))
    assert (first["closed"], first["duplicate_of"]) == ("2020-01-01T00:00:00", ["3", "20"])
    assert first["posts"][0]["edited"] == "2019-06-01T00:00:00"
    assert second["community_wiki"] == "2013-01-01T00:00:00"
    assert not {"closed", "duplicate_of", "community_wiki"} & third.keys()
    assert result.dropped == {"link to a duplicate": 3}
    assert (
        result.manifest.counters["closed questions"] == result.manifest.counters["duplicate questions"] == 1
    )


def test_a_damaged_row_is_a_counted_reject_and_the_rest_is_read(curate, tmp_path: Path) -> None:
    posts = [question(n) for n in range(1, 40)]
    folder = site(tmp_path / "a.stackexchange.com", posts, USERS, [{"Id": 1, "PostId": 3, "Text": "fine"}])
    damage(folder, b"about 5 ", b"about \x1f ")
    damage(folder, b'DisplayName="Bob"', b'DisplayName="B&b"', "Users.xml")
    result = curate("stackexchange", folder, "--comments=keep", "--max-failures=0.1")
    assert result.code == 0
    assert len(result.documents) == 38
    assert result.dropped == {"comment": 1, "damaged record": 2}
    one, two = sorted(result.rejects, key=lambda reject: reject.metadata["detail"])
    assert one.id == "a.stackexchange.com/5"
    assert one.text.startswith('<row Id="5" PostTypeId="1"')
    assert one.metadata["detail"].startswith("posts: byte ")
    assert two.id == "a.stackexchange.com/users/8"
    assert two.metadata["detail"].startswith("users: byte ")
    strict = curate("stackexchange", folder, "--comments=keep", out="strict")
    assert strict.code == 2
    assert "--max-failures" in strict.stderr


def test_a_truncated_table_is_an_error_unless_its_rows_are_wanted(curate, tmp_path: Path) -> None:
    folder = site(tmp_path / "a.stackexchange.com", [question(1), question(2), question(3)])
    content = (folder / "Posts.xml").read_bytes()
    (folder / "Posts.xml").write_bytes(content[: content.index(b'Id="3"') + 40])
    result = curate("stackexchange", folder)
    assert result.code == 2
    assert "Posts.xml: the file is truncated" in result.stderr
    assert "--truncated=keep" in result.stderr
    assert not (result.folder / "_manifest.json").exists()
    kept = curate("stackexchange", folder, "--truncated=keep", out="kept")
    assert kept.code == 0
    assert sorted(kept.documents) == ["a.stackexchange.com/1", "a.stackexchange.com/2"]
    assert kept.dropped == {"end of a truncated file": 1}
    assert kept.rejects[0].text.startswith('<row Id="3"')


def test_parents_that_are_no_questions(curate, tmp_path: Path) -> None:
    posts = [
        answer(1, 2),
        answer(2, 1),
        answer(3, 3),
        answer(5, 4),
        question(4),
        {"Id": 6, "PostTypeId": 2, "Body": "<p>of nothing</p>"},
    ]
    result = curate("stackexchange", site(tmp_path / "a.stackexchange.com", posts))
    assert list(result.documents) == ["a.stackexchange.com/4"]
    assert result.dropped == {"answer joined to its question": 1, "orphan answer": 4}


def test_a_thread_that_is_too_large_is_dropped_whole(
    curate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = "<p>" + "long " * 60 + "</p>"
    posts = [question(1), *(answer(10 + n, 1, Body=long) for n in range(8)), question(2), answer(30, 2)]
    folder = site(tmp_path / "a.stackexchange.com", posts)
    result = curate("stackexchange", folder, "--max-document-bytes=1200")
    assert list(result.documents) == ["a.stackexchange.com/2"]
    assert result.dropped == {"answer joined to its question": 1, "too large": 9}
    assert "--max-document-bytes" in result.rejects[0].metadata["detail"]
    monkeypatch.setattr("tootsie.curate.stackexchange_thread.MAX_POSTS", 5)
    many = curate("stackexchange", folder, out="many")
    assert many.dropped == {"answer joined to its question": 1, "too large": 9}
    assert "more than 5 posts" in many.rejects[0].metadata["detail"]


def pack(path: Path, folder: Path, names: list[str]) -> Path:
    with py7zr.SevenZipFile(path, "w") as archive:
        for name in names:
            archive.write(folder / name, name)
    return path


def test_archives_of_one_site_and_of_single_tables(curate, tmp_path: Path) -> None:
    folder = site(tmp_path / "raw", [question(1), answer(2, 1)], USERS)
    whole = pack(tmp_path / "beer.stackexchange.com.7z", folder, ["Posts.xml", "Users.xml"])
    posts = pack(tmp_path / "stackoverflow.com-Posts.7z", folder, ["Posts.xml"])
    users = pack(tmp_path / "stackoverflow.com-Users.7z", folder, ["Users.xml"])
    result = curate("stackexchange", whole, posts, users)
    assert sorted(result.documents) == ["alcohol.stackexchange.com/1", "stackoverflow.com/1"]
    assert {document.metadata["posts"][0]["author"] for document in result.documents.values()} == {"Ann"}


def test_a_site_must_be_known(curate, tmp_path: Path) -> None:
    folder = site(tmp_path / "some folder", [question(1)])
    result = curate("stackexchange", folder)
    assert result.code == 2
    assert "--site" in result.stderr
    unknown = curate("stackexchange", site(tmp_path / "new.stackexchange.com", [question(1)]), out="unknown")
    assert list(unknown.documents) == ["new.stackexchange.com/1"]
    assert "warning: " in unknown.stderr
    assert "--site" in unknown.stderr
    named = curate("stackexchange", folder, "--site=cooking.stackexchange.com", out="named")
    assert "warning" not in named.stderr
    assert list(named.documents) == ["cooking.stackexchange.com/1"]


def test_sample_dump(curate, project_root: Path) -> None:
    result = curate("stackexchange", project_root / "datasets/sample/stackexchange/*.7z")
    assert result.code == 0
    assert result.manifest.accounting.written >= 20
    assert "answer joined to its question" in result.dropped


REAL = {
    "beer.stackexchange.com_2014": (244, 448),
    "conlang.meta.stackexchange.com_2020": (54, 115),
    "datascience.meta.stackexchange.com_2024_pipetags": (257, 341),
    "french.meta.stackexchange.com_2021": (274, 487),
    "history.meta.stackexchange.com_2018": (556, 1095),
    "meta.beer.stackexchange.com_2014": (24, 49),
    "stackoverflow_first_posts_nobom": (35, 63),
}


@pytest.mark.parametrize("name", sorted(REAL))
def test_real_sites(curate, shared_data: Path, name: str) -> None:
    result = curate("stackexchange", shared_data / "stackexchange" / name)
    assert result.code == 0
    questions, answers = REAL[name]
    assert result.manifest.accounting.written == questions
    assert result.dropped["answer joined to its question"] + result.dropped.get("orphan answer", 0) == answers
    documents = list(result.documents.values())
    assert all(document.metadata["tags"] for document in documents)
    assert all(document.metadata["license"].startswith("CC BY-SA ") for document in documents)
    if name.startswith("meta.beer"):
        assert documents[0].metadata["url"].startswith("https://alcohol.meta.stackexchange.com/questions/")


def test_old_and_new_tag_format_give_the_same_tags(curate, shared_data: Path) -> None:
    old = curate(
        "stackexchange", shared_data / "stackexchange/datascience.meta.stackexchange.com_2017", out="old"
    ).documents
    new = curate(
        "stackexchange",
        shared_data / "stackexchange/datascience.meta.stackexchange.com_2024_pipetags",
        out="new",
    ).documents
    both = old.keys() & new.keys()
    assert len(both) > 50
    same = sum(set(old[key].metadata["tags"]) & set(new[key].metadata["tags"]) != set() for key in both)
    assert same > 0.8 * len(both)


def test_formulas_are_those_of_the_site(curate, tmp_path: Path) -> None:
    body = r"<p>Set $HOME_A and $B_C, \$x_1\$, $y_2$.</p>"

    def text(host: str) -> str:
        title = r"On \$z_1\$ and $5"
        posts = [question(1, Body=body, Title=title, Tags="")]
        comments = [{"Id": 1, "PostId": 1, "Text": r"as \$w_1\$"}]
        folder = site(tmp_path / host, posts, comments=comments)
        document = curate("stackexchange", folder, "--scores=drop", "--comments=keep", out=f"out-{host}")
        return document.documents[f"{host}/1"].text

    assert text("electronics.stackexchange.com") == (
        "# On $z_1$ and \\$5\n\nSet \\$HOME_A and \\$B_C, $x_1$, $y_2$.\n\n**Comments**\n\n- as $w_1$\n"
    )
    assert "Set \\$HOME_A and \\$B_C, " in text("unix.stackexchange.com")
    assert "\\$y_2\\$." in text("unix.stackexchange.com")
    doubtful = text("some.stackexchange.com")
    assert "Set \\$HOME_A and \\$B_C, " in doubtful
    assert "$y_2$." in doubtful


LAYOUT = [
    "--scores=shuffle",
    "--template=shuffle",
    "--comments=keep",
    "--authors=keep",
    "--shards=5",
    "--max-failures=1",
]


def sites(folder: Path) -> list[Path]:
    """A 7z of several tables, an archive for each table, and a folder with a damaged row."""
    made = []
    for number, host in enumerate(("math.stackexchange.com", "unix.stackexchange.com", "stackoverflow.com")):
        posts = [question(n, LastEditDate="2020-01-01T00:00:00") for n in range(1, 60)]
        posts += [answer(100 + n, n % 63 + 1, Score=n % 5) for n in range(150)]
        comments = [
            {"Id": n, "PostId": n % 220, "Text": f"remark {n}", "UserId": 7 + n % 3} for n in range(200)
        ]
        links = [{"Id": 1, "PostId": 3 + number, "RelatedPostId": 1, "LinkTypeId": 3}]
        made.append(site(folder / "raw" / host, posts, USERS, comments, links))
    damage(made[1], b"about 5 ", b"about \x1f ")
    whole = pack(
        folder / "math.stackexchange.com.7z",
        made[0],
        ["Comments.xml", "PostLinks.xml", "Posts.xml", "Users.xml"],
    )
    single = [
        pack(folder / f"stackoverflow.com-{table}.7z", made[2], [f"{table}.xml"])
        for table in ("Posts", "Users")
    ]
    return [whole, made[1], *single]


@pytest.mark.slow
def test_same_bytes_for_any_number_of_workers_and_order_of_inputs(curate, tmp_path: Path) -> None:
    inputs = sites(tmp_path)
    expected = curate("stackexchange", *inputs, *LAYOUT, out="none")
    assert expected.code == 0
    assert expected.dropped["damaged record"] == 1
    for workers in (1, 2, 3):
        result = curate(
            "stackexchange", *inputs[::-1], *LAYOUT, f"--workers={workers}", out=f"workers-{workers}"
        )
        assert result.code == 0
        assert result.bytes == expected.bytes


@pytest.mark.slow
def test_killed_at_random_moments_ends_with_the_same_bytes(tmp_path: Path) -> None:
    inputs = [str(path) for path in sites(tmp_path)]
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary), "SQLITE_TMPDIR": str(temporary)}

    def command(out: str, *options: str) -> list[str]:
        return [
            sys.executable,
            "-m",
            "tootsie.curate",
            "stackexchange",
            *inputs,
            str(tmp_path / out),
            *LAYOUT,
            *options,
        ]

    start = time.monotonic()
    subprocess.run(command("whole"), check=True, capture_output=True, env=environment)
    length = time.monotonic() - start
    for moment in random.Random(7).sample(range(30, 100), 3):
        process = subprocess.Popen(
            command("out", "--workers=2"),
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        try:
            process.wait(length * moment / 100)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    assert not [path for path in temporary.iterdir() if path.name.startswith("tootsie")]
    subprocess.run(command("out"), check=True, capture_output=True, env=environment)
    assert files_in(tmp_path / "out") == files_in(tmp_path / "whole")
