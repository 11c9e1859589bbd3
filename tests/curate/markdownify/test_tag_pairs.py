"""Names of tags as integers."""

from __future__ import annotations

import numpy as np

from tootsie.curate.markdownify.tag_pairs import name_words


def test_a_name_ends_before_white_space_a_slash_or_the_end_of_its_tag() -> None:
    starts = {
        b"div clas": b"div", b"LI>\n  <p": b"LI", b"h1>abcde": b"h1", b"br/>abcd": b"br", b"a\thref=x": b"a", b"my-el\x0c>a": b"my-el",
        b"sectiont": b"sectiont", b"section ": b"section", b"\xc3\xa9>aaaaa": b"\xc3\xa9", b"a:b_c\n<<": b"a:b_c", b">abcdefg": b"",
    }  # fmt: skip
    words, lengths = name_words(np.frombuffer(b"".join(starts), np.uint64))
    names = [word.tobytes()[:length] for word, length in zip(words, lengths, strict=True)]
    # In small letters: one bit of each byte is set, also of those that are no letters.
    assert names == [bytes(code | 0x20 for code in name) for name in starts.values()]
    assert [len(name) for name in names] == [len(name) for name in starts.values()]
    assert all(
        word.tobytes()[length:] == bytes(8 - length) for word, length in zip(words, lengths, strict=True)
    )
