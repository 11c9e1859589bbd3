from __future__ import annotations

from pathlib import Path

import py7zr
import pytest

from .conftest import answer, question, rows


def site(
    folder: Path, posts: list[dict], users: list[dict] | None = None, comments: list[dict] | None = None
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "Posts.xml").write_text(rows("posts", posts))
    if users is not None:
        (folder / "Users.xml").write_text(rows("users", users))
    if comments is not None:
        (folder / "Comments.xml").write_text(rows("comments", comments))
    return folder


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
        {"Id": 2, "PostId": 2, "Text": "later", "CreationDate": "2019-06-02", "UserId": 7},
        {"Id": 1, "PostId": 2, "Text": "a *star* and $a*b*c$", "CreationDate": "2019-06-01", "UserId": 7},
        {"Id": 3, "PostId": 55, "Text": "of a post that is not here"},
    ]
    folder = site(tmp_path / "a.stackexchange.com", [question(1), answer(2, 1)], USERS, comments)
    result = curate(
        "stackexchange", folder, "--comments=keep", "--scores=drop", "--tags=drop", "--authors=keep"
    )
    assert result.documents["a.stackexchange.com/1"].text == (
        "# Question 1?\n\nAuthor: Ann\n\nI wonder about 1 & $x_{1}$.\n\n"
        "## Answer\n\nAuthor: Bob\n\nAnswer 2.\n\n**Comments**\n\n- a *star* and $a*b*c$\n- later\n"
    )
    assert result.documents["a.stackexchange.com/1"].metadata["comment_authors"] == ["Ann"]
    assert curate("stackexchange", folder, "--scores=maybe", out="x").code == 2


def test_limit_counts_threads_and_keeps_their_answers(curate, tmp_path: Path) -> None:
    posts = [question(1), answer(10, 2), question(2), question(3), answer(11, 1), answer(12, 3)]
    result = curate("stackexchange", site(tmp_path / "a.stackexchange.com", posts), "--limit=2")
    assert sorted(result.documents) == ["a.stackexchange.com/1", "a.stackexchange.com/2"]
    assert [document.metadata["answers"] for document in result.documents.values()].count(1) >= 1


def pack(path: Path, folder: Path, names: list[str]) -> Path:
    with py7zr.SevenZipFile(path, "w") as archive:
        for name in names:
            archive.write(folder / name.rsplit("/", 1)[-1], name)
    return path


def test_archives_of_one_site_and_of_single_tables(curate, tmp_path: Path) -> None:
    folder = site(tmp_path / "raw", [question(1), answer(2, 1)], USERS)
    whole = pack(tmp_path / "beer.stackexchange.com.7z", folder, ["Posts.xml", "Users.xml"])
    posts = pack(tmp_path / "stackoverflow.com-Posts.7z", folder, ["Posts.xml"])
    users = pack(tmp_path / "stackoverflow.com-Users.7z", folder, ["Users.xml"])
    result = curate("stackexchange", whole, posts, users)
    assert sorted(result.documents) == ["beer.stackexchange.com/1", "stackoverflow.com/1"]
    assert {document.metadata["posts"][0]["author"] for document in result.documents.values()} == {"Ann"}


def test_a_site_must_be_known(curate, tmp_path: Path) -> None:
    folder = site(tmp_path / "some folder", [question(1)])
    result = curate("stackexchange", folder)
    assert result.code == 2
    assert "--site" in result.stderr
    named = curate("stackexchange", folder, "--site=cooking.stackexchange.com", out="named")
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
        assert documents[0].metadata["url"].startswith("https://beer.meta.stackexchange.com/questions/")


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
