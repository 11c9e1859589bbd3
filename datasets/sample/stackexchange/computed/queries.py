"""Regular expressions taken apart, and SQL questions with the tables they are about."""

from __future__ import annotations

import random
from collections.abc import Iterator

from computed.wording import Wording, fence, table

PATTERNS = [
    ("#rgb colours", r"^#(?:[0-9a-f]{3}){1,2}$", ["#fff", "#a0c4ff", "#abcd", "fff", "#GGG"],
     [("^", "the beginning of the text"), ("#", "the sign itself"), ("(?:…)", "a group that isn't remembered, used only to repeat it"),
      ("[0-9a-f]{3}", "three hexadecimal digits"), ("{1,2}", "the group once or twice, so three or six digits"), ("$", "the end")],
     "Four digits can't be made from one or two groups of three, hence `#abcd` fails. Add `re.I` if capitals should count, too."),
    ("ISO dates", r"^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$", ["2024-02-29", "2024-13-01", "2023-02-31", "24-1-1", "1999-12-31"],
     [(r"\d{4}", "the year"), ("0[1-9]|1[0-2]", "01 to 09, or 10 to 12"), (r"0[1-9]|[12]\d|3[01]", "01 to 09, 10 to 29, 30 or 31")],
     "`2023-02-31` passes: a pattern knows nothing of the lengths of months. Check the form with the pattern and the rest with `date.fromisoformat`."),
    ("doubled words", r"\b(\w+)\s+\1\b", ["this is is wrong", "Paris in the the spring", "all right", "the theory", "that that"],
     [(r"\b", "a border between word and non-word"), (r"(\w+)", "a word, remembered as group 1"), (r"\s+", "blanks or a line break"), (r"\1", "the same text again"), (r"\b", "and there the word must end")],
     "Without the last `\\b` the phrase *the theory* would be found, since *theory* begins with *the*."),
    ("floating-point numbers", r"^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$", ["3", "-0.5", ".5", "5.", "1e-9", ".", "1e", "0x1F"],
     [("[+-]?", "an optional sign"), (r"\d+\.?\d*", "digits, perhaps a point, perhaps more digits"), (r"\.\d+", "or a point with at least one digit after it"), (r"(?:[eE][+-]?\d+)?", "an optional exponent")],
     "The two alternatives exist to exclude the single point. `\\d*\\.?\\d*` alone would match even the empty text."),
    ("quoted strings with escapes", r'"(?:[^"\\]|\\.)*"', ['"plain"', r'"a \"quoted\" word"', '"open', r'"ends with \\"', '""'],
     [('"', "the opening quotation mark"), (r'[^"\\]', "any character but a quotation mark or a backslash"), (r"\\.", "or a backslash with whatever follows it"), ("*", "any number of those"), ('"', "the closing one")],
     "The two alternatives begin with different characters, so there's never more than one way to match. This keeps it fast on long texts."),
    ("IPv4 addresses", r"^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$", ["192.168.0.1", "256.1.1.1", "10.0.0", "1.2.3.4.", "255.255.255.255"],
     [("25[0-5]", "250 to 255"), (r"2[0-4]\d", "200 to 249"), (r"1?\d?\d", "0 to 199"), (r"\.(?!$)|$", "a point that isn't the last character, or the end"), ("{4}", "all this four times")],
     "If you only need a yes or no, `ipaddress.ip_address` is easier to read and handles IPv6."),
    ("camelCase borders", r"(?<=[a-z0-9])(?=[A-Z])", ["camelCase", "parseHTTPResponse", "already", "version2Final", "A"],
     [("(?<=[a-z0-9])", "a position with a small letter or a digit before it"), ("(?=[A-Z])", "and a capital letter after it")],
     "It matches a *position* and consumes nothing, so `re.sub` can put an underscore there. `HTTPResponse` stays in one piece; for it you need a second alternative."),
    ("log lines", r"^(?P<time>\d\d:\d\d:\d\d) \[(?P<level>[A-Z]+)\] (?P<message>.*)$", ["12:00:01 [INFO] started", "12:00:02 [WARN]", "noise", "23:59:59 [ERROR] disk full"],
     [(r"(?P<time>…)", "a group with a name"), (r"\d\d:\d\d:\d\d", "the time"), (r"\[(?P<level>[A-Z]+)\]", "the level between literal brackets"), (r"(?P<message>.*)", "the rest of the line")],
     "`match.groupdict()` gives a dictionary with the three names. Lines that don't fit deserve to be counted, not dropped."),
    ("trailing blanks", r"[ \t]+$", ["no", "yes  ", "tab\t", "in the middle  x", "   "],
     [(r"[ \t]+", "one or more blanks or tabs"), ("$", "before the end of the line")],
     "Use it with `re.M` on whole files. `\\s+$` is tempting, but `\\s` includes the newline and would swallow empty lines, too."),
    ("words of five letters without an e", r"\b(?:(?!e)[a-z]){5}\b", ["cargo", "eagle", "light", "rhythm", "stone piano"],
     [(r"\b", "a word border"), ("(?!e)", "the next character isn't an e"), ("[a-z]", "and it is a small letter"), ("{5}", "five times"), (r"\b", "then the word ends")],
     "Simpler, if you don't mind: `[a-df-z]{5}`. The lookahead becomes useful when more than one letter is excluded."),
    ("versions", r"^v?(\d+)\.(\d+)(?:\.(\d+))?(?:-([0-9A-Za-z.-]+))?$", ["1.2.3", "v2.0", "1.2.3-rc.1", "1", "1.2.x"],
     [("v?", "an optional v"), (r"(\d+)\.(\d+)", "major and minor, both required"), (r"(?:\.(\d+))?", "the patch level, optional together with its point"), (r"(?:-([0-9A-Za-z.-]+))?", "an optional suffix after a hyphen")],
     "Compare versions as tuples of numbers, never as texts: as texts, `1.10` comes before `1.9`."),
    ("Markdown links", r"(?<!!)\[([^\]]+)\]\(([^)\s]+)\)", ["[a](b)", "![picture](x.png)", "[no link]", "see [one](1) and [two](2)"],
     [("(?<!!)", "no exclamation mark before it, so no pictures"), (r"\[([^\]]+)\]", "the text between brackets"), (r"\(([^)\s]+)\)", "the target between parentheses, without blanks")],
     "It doesn't cope with targets that contain parentheses. When these matter, take a Markdown parser."),
]  # fmt: skip


def patterns(rng: random.Random) -> Iterator[str]:
    """A pattern, part by part, with what it finds."""
    w = Wording(rng)
    for purpose, pattern, tests, parts, remark in PATTERNS:
        question = (
            w.opening(
                f'In our code base I found this pattern, with the comment "{purpose}":\n\n```none\n{pattern}\n```\n\nIt seems to work, but I don\'t dare to touch it. Can someone take it apart for me?',
                f"I need a regular expression for {purpose}. My first attempt accepted everything and the second nothing. What would you use?",
                f"Does the following really match {purpose} and nothing else? I got it from a colleague who has left.\n\n```none\n{pattern}\n```",
            )
            + "\n\n"
            + w.say(
                "The engine is Python's `re`.",
                "If it can't be done with a regular expression, please say so.",
                "I'm fine with something longer that I can understand.",
                "There are about a million lines to go through, so speed matters a little.",
            )
        )
        answer = (
            w.say("Piece by piece:", "Read from the left to the right:", "It is less frightening in slices:")
            + f"\n\n```none\n{pattern}\n```\n\n"
            + "\n".join(
                f"- ``{' ' if part.startswith('`') else ''}{part}``: {meaning}" for part, meaning in parts
            )
            + "\n\n"
            + remark
        )
        tested = w.say("I'd put it under test before anything else:", "Let's see what it does:", "Some examples say more than an explanation:") + "\n\n" + fence("py", f"""
import re

pattern = re.compile(r'''{pattern}''')
for text in {tests!r}:
    match = pattern.search(text)
    found = repr(match.group()) if match else "-"
    print(f"{{text!r:28}} {{found}}")
""") + "\n\n" + w.say("Keep the examples as a unit test.", "Whoever changes the pattern then sees at once what breaks.", "The misses are as interesting as the hits.", "If you find a text that is treated wrongly, add it to the list first and change the pattern afterwards.")  # fmt: skip
        comments = "\n".join(f"    # {part}   {meaning}" for part, meaning in parts)
        escaped = pattern.replace(" ", r"\ ").replace("#", r"\#")
        verbose = w.say("For maintainability use `re.VERBOSE`, which permits blanks and comments within the pattern.", "The colleague after you will thank you for comments, and a pattern can have them.", "A pattern of this length should be written over several lines.") + (" Literal blanks and `#` must then be escaped.\n\n" if escaped != pattern else "\n\n") + fence("py", f"""
import re

short = re.compile(r'''{pattern}''')
long = re.compile(r'''
{comments}
    {escaped}
''', re.VERBOSE)
print(all(bool(short.search(text)) == bool(long.search(text)) for text in {tests!r}))
""")  # fmt: skip
        yield w.thread(
            w.title(f"What does this regex for {purpose} do?", f"A regular expression for {purpose}", f"Is this a correct regex for {purpose}?"),
            ["regex", "python", rng.choice(["parsing", "validation", "code-review"])], question, answer, tested, verbose,
        )  # fmt: skip


SQL = [
    ("running total of a column", "a running total", "SELECT day, amount, sum(amount) OVER (ORDER BY day) AS total\nFROM {t} ORDER BY day;",
     "The `OVER` clause turns the aggregate into a window function: one result per row, computed from the first row up to the current one."),
    ("difference to the previous row", "the change since the row before", "SELECT day, amount, amount - lag(amount) OVER (ORDER BY day) AS change\nFROM {t} ORDER BY day;",
     "`lag` looks one row back in the given order. The first row has no predecessor, hence the `NULL`; `lag(amount, 1, 0)` would put a 0 there."),
    ("share of each row in the total", "each row's percentage of the sum", "SELECT day, amount, round(100.0 * amount / sum(amount) OVER (), 1) AS percent\nFROM {t} ORDER BY day;",
     "An empty `OVER ()` means all rows. Mind the `100.0`: with `100` the division would be one of integers."),
    ("three rows with the largest values", "the three largest rows", "SELECT day, amount FROM {t}\nORDER BY amount DESC, day LIMIT 3;",
     "The second sort key makes the result well-defined if two rows are equal. Without it the database may choose, and differently tomorrow."),
    ("rows above the average", "the days above the average", "SELECT day, amount FROM {t}\nWHERE amount > (SELECT avg(amount) FROM {t})\nORDER BY day;",
     "`WHERE amount > avg(amount)` isn't allowed, because `WHERE` is evaluated before there are groups. The subquery is computed once."),
    ("counting rows per range of values", "a histogram with steps of ten", "SELECT amount / 10 * 10 AS bin, count(*) AS days\nFROM {t} GROUP BY bin ORDER BY bin;",
     "For integers `/` truncates, so `amount / 10 * 10` is the lower end of the range. Empty ranges don't appear; to see them, join a table of numbers."),
    ("moving average over three rows", "a moving average", "SELECT day, amount, round(avg(amount) OVER (ORDER BY day ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING), 2) AS smooth\nFROM {t} ORDER BY day;",
     "The frame says which neighbours take part. At both ends it contains two rows only, so the average there is over two."),
    ("finding gaps in a sequence of days", "the missing days", "SELECT day + 1 AS first_missing, next - 1 AS last_missing\nFROM (SELECT day, lead(day) OVER (ORDER BY day) AS next FROM {t}) AS pairs\nWHERE next > day + 1;",
     "`lead` gives the next existing day. Wherever it isn't the successor, there's a gap. The last row compares with `NULL` and drops out, as it should."),
    ("numbering rows by rank with ties", "a ranking with ties", "SELECT day, amount,\n       rank() OVER (ORDER BY amount DESC) AS rank,\n       dense_rank() OVER (ORDER BY amount DESC) AS dense\nFROM {t} ORDER BY amount DESC, day;",
     "`rank` leaves a gap after ties (1, 2, 2, 4), `dense_rank` doesn't (1, 2, 2, 3), and `row_number` breaks ties arbitrarily."),
    ("median of a column", "the median", "SELECT avg(amount) AS median FROM (\n  SELECT amount, row_number() OVER (ORDER BY amount) AS n, count(*) OVER () AS total FROM {t}\n) AS ranked WHERE n IN ((total + 1) / 2, (total + 2) / 2);",
     "For an odd number of rows both expressions name the middle row, for an even number the two in the middle, and the average does the rest."),
]  # fmt: skip


def tables_and_queries(rng: random.Random) -> Iterator[str]:
    """Small tables and one query on each."""
    w = Wording(rng)
    stories = [
        "sales",
        "visitors",
        "rainfall",
        "loaves",
        "deliveries",
        "distances",
        "tickets",
        "eggs",
        "downloads",
        "bottles",
    ]
    for (topic, wish, query, remark), name in zip(SQL, rng.sample(stories, len(stories)), strict=True):
        days = sorted(rng.sample(range(1, 13), 8))
        amounts = [rng.choice([12, 15, 18, 20, 24, 24, 31, 35, 40, 47]) for _ in days]
        setup = (
            f"CREATE TABLE {name} (day INTEGER, amount INTEGER);\nINSERT INTO {name} VALUES "
            + ", ".join(f"({d}, {a})" for d, a in zip(days, amounts, strict=True))
            + ";"
        )
        question = (
            w.opening(
                f"I have a table `{name}` with a row per day and want {wish}. In a spreadsheet it would be trivial. Is there a way in plain SQL, or do I need a loop in the program?",
                f"How do I get {wish} from this table? My version uses a correlated subquery per row and takes minutes on the real data.",
                f"Could you help me with a query for {wish}? I always end up with `GROUP BY` errors.",
            )
            + "\n\n"
            + w.say("A cut-down example:", "Here's some data to play with:", "To reproduce:")
            + f"\n\n```sql\n{setup}\n```\n\n"
            + table(["day", "amount"], list(zip(days, amounts, strict=True)), "rr")
        )
        answer = w.say("Yes, in one statement:", "No loop needed:", "Window functions and subqueries are made for this:", "Like this:") + "\n\n" + fence("sql", setup + "\n" + query.format(t=name)) + "\n\n" + remark  # fmt: skip
        values = dict(zip(days, amounts, strict=True))
        check = w.say("To double-check the numbers, the raw data in Python:", "I don't trust any query that I haven't checked once by other means:", "For comparison:") + "\n\n" + fence("py", f"""
from statistics import mean, median

amounts = {values}
print("sum", sum(amounts.values()), "mean", round(mean(amounts.values()), 2), "median", median(amounts.values()))
print("largest", sorted(amounts.items(), key=lambda item: (-item[1], item[0]))[:3])
print("missing days", [day for day in range({days[0]}, {days[-1]}) if day not in amounts])
""") + "\n\n" + w.say("If both agree on a small table, I believe the query on the large one.", f"An index on `{name}(day)` helps all queries that are ordered by day.", "Window functions exist in SQLite since 3.25, in the other big databases for much longer.")  # fmt: skip
        yield w.thread(
            w.title(f"SQL: {topic} in the table {name}", f"Slow query for {wish} ({name})", f"How to query {wish} without GROUP BY errors ({name})?"),
            ["sql", "sqlite", rng.choice(["window-functions", "aggregate", "query"])], question, answer, check,
        )  # fmt: skip
