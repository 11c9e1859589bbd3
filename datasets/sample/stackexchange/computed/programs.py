"""Programming questions: dates, searching, distances of words."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import date, timedelta

from computed.wording import Wording, fence, table


def dates(rng: random.Random) -> Iterator[str]:
    """Days between dates, weekdays, months' ends."""
    w = Wording(rng)
    names = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
    for _ in range(9):
        start = date(rng.randrange(1950, 2030), rng.randrange(1, 13), rng.randrange(1, 28))
        days = rng.choice([90, 100, 180, 500, 1000, 2024, 10000])
        end = start + timedelta(days=days)
        last = end - timedelta(days=1)
        question = w.opening(
            f"Which date is {days} days after {start.day} {start:%B %Y}? I need this for a contract, and a spreadsheet and a web page disagree by one day.",
            f"How do I calculate the number of days between {start.day} {start:%B %Y} and {end.day} {end:%B %Y}? Leap years confuse me, and do I count the first day or not?",
            f"On which day of the week was {start.day} {start:%B %Y}, and how can I work it out in my head?",
        ) + w.say(
            "",
            " I've tried 30 days per month, but that drifts.",
            " It doesn't have to be fast.",
            " Please no libraries, if possible.",
        )
        leap = [y for y in range(start.year, end.year + 1) if y % 4 == 0 and (y % 100 or y % 400 == 0)]
        plain = w.say("Let the calendar do the counting:", "In Python a difference of two dates is a number of days:", "A library has dealt with the leap years already:") + "\n\n" + fence("py", f"""
from datetime import date, timedelta

start = date({start.year}, {start.month}, {start.day})
end = start + timedelta(days={days})
print(end, f"{{end:%A}}")
print((end - start).days, (date({end.year}, 12, 31) - end).days)
""") + "\n\n" + w.say(
            f"If the first day itself counts as day 1, the {days}th day is {last.day} {last:%B %Y}. This is where your two sources differ, most likely.",
            f"It counts midnights, not days. \"From {start.day} {start:%b} to {end.day} {end:%b}, both included\" has {days + 1} days.",
            "(The last number is how many days are left in that year.)",
        ) + " " + (f"Leap years in the range: {', '.join(map(str, leap[:6]))}{', …' if len(leap) > 6 else ''}." if leap else "There's no 29 February in between.")  # fmt: skip
        y, m = (start.year, start.month) if start.month > 2 else (start.year - 1, start.month + 12)
        k, j = y % 100, y // 100
        parts = (start.day, 13 * (m + 1) // 5, k, k // 4, j // 4, 5 * j)
        h = sum(parts) % 7
        zeller = (
            w.say(
                "Without a library: *Zeller's congruence*.",
                "For the weekday there's a formula that one can do on paper.",
                "The weekday by hand:",
            )
            + f" January and February count as months 13 and 14 of the year before. With day $d={start.day}$, month $m={m}$ and year $100j + k = {j}\\cdot100 + {k}$,\n\n$$\nh \\equiv d + \\left\\lfloor\\frac{{13(m+1)}}{{5}}\\right\\rfloor + k + \\left\\lfloor\\frac k4\\right\\rfloor + \\left\\lfloor\\frac j4\\right\\rfloor + 5j = {' + '.join(map(str, parts))} = {sum(parts)} \\equiv {h} \\pmod 7 ,\n$$\n\nwhere 0 is Saturday, 1 Sunday and so on. So {start.day} {start:%B %Y} {'was' if start.year < 2024 else 'is'} a **{names[(h + 5) % 7]}**"
            + f", and {days} days later, because ${days} \\equiv {days % 7} \\pmod 7$, {'it is the same weekday' if days % 7 == 0 else f'it is a {names[end.weekday()]}'}."
        )
        assert names[(h + 5) % 7] == names[start.weekday()]
        julian = (
            w.say(
                "A remark for those who compute with such numbers a lot:",
                "Another method, good for spreadsheets:",
                "The way astronomers do it:",
            )
            + f" number the days. {start.day} {start:%B %Y} has the Julian day number {start.toordinal() + 1721425} (at noon) and {end.day} {end:%B %Y} has {end.toordinal() + 1721425}. The difference is {days}, with no months or years in sight."
        )
        yield w.thread(
            w.title(f"{days} days after {start.day} {start:%B %Y}", f"Days between {start.day} {start:%b %Y} and {end.day} {end:%b %Y}", f"Weekday of {start.day} {start:%B %Y} by hand"),
            ["date", "calendar", rng.choice(["python", "arithmetic", "leap-year"])], question, plain, zeller, julian,
        )  # fmt: skip


def searches(rng: random.Random) -> Iterator[str]:
    """Binary search and insertion sort, traced."""
    w = Wording(rng)
    for turn in range(8):
        values = sorted(rng.sample(range(2, 99), rng.choice([11, 13, 15])))
        wanted = rng.choice(values) if turn % 3 else rng.choice([v for v in range(3, 98) if v not in values])
        low, high, rows = 0, len(values), []
        while low < high:
            mid = (low + high) // 2
            go = "right" if values[mid] < wanted else "left"
            rows.append([low, high, mid, values[mid], go])
            low, high = (mid + 1, high) if go == "right" else (low, mid)
        found = low < len(values) and values[low] == wanted
        question = w.opening(
            f"I try to write a binary search. For the list `{values}` and the value {wanted} it either runs forever or misses by one. Which bounds are right, `high = len - 1` or `high = len`?",
            f"Could someone walk through a binary search for {wanted} in `{values}`? I get the idea, but not the details with `mid + 1`.",
            f"How many comparisons does it take to find {wanted} in `{values}`, and where would it have to be inserted if it weren't there?",
        )
        answer = w.say("Choose *one* convention and hold on to it.", "Think of an invariant and the details follow.", "The safest version I know searches for a *position*, not for a value.") + f" Mine is the half-open range: the position we look for is always in `low … high`, everything before `low` is smaller than {wanted}, and everything from `high` on isn't.\n\n" + fence("py", f"""
def position(values, wanted):
    low, high = 0, len(values)
    while low < high:
        mid = (low + high) // 2
        if values[mid] < wanted:
            low = mid + 1      # mid is too small, so the position is after it
        else:
            high = mid         # mid may be the position, so keep it
    return low

values = {values}
at = position(values, {wanted})
print(at, at < len(values) and values[at] == {wanted})
""") + "\n\n" + w.say("It ends, because each round makes the range smaller: `mid` is always less than `high`.", "`high = mid - 1` belongs to the other convention. Mixing the two gives your endless loop.", "In practice use `bisect.bisect_left`, which is exactly this.")  # fmt: skip
        trace = (
            w.say(
                "The trace, round by round:", "Step by step for your numbers:", "On paper it looks like this:"
            )
            + "\n\n"
            + table(["low", "high", "mid", "value at mid", "go"], rows, "rrrrl")
            + f"\n\n{len(rows)} comparisons"
            + w.say(
                f", and never more than $\\lceil\\log_2({len(values)} + 1)\\rceil = {len(values).bit_length()}$.",
                f" for {len(values)} values; a million would need 20.",
                ".",
            )
            + (
                f" It stops at index {low}, where {wanted} is."
                if found
                else f" It stops at index {low}: {wanted} isn't in the list, and that's where it belongs."
            )
        )
        shuffled = values[:7]
        rng.shuffle(shuffled)
        lines, work = [], shuffled[:]
        for i in range(1, len(work)):
            item, k = work[i], i
            while k and work[k - 1] > item:
                work[k] = work[k - 1]
                k -= 1
            work[k] = item
            lines.append(f"{str(work[: i + 1])[1:-1]} | {str(work[i + 1 :])[1:-1]}".rstrip(" |"))
        sort = (
            w.say(
                "Don't forget that the list must be sorted.",
                "All this needs a sorted list, of course.",
                "A side remark on the precondition:",
            )
            + " If it comes unsorted and is short, insertion sort is the one which I can still write at three in the morning. For the first few of your values in random order, `"
            + str(shuffled)
            + "`, the sorted part (left of the bar) grows like this:\n\n```none\n"
            + "\n".join(lines)
            + "\n```"
        )
        yield w.thread(
            w.title(f"Binary search for {wanted} among {len(values)} numbers is off by one", f"Binary search for {wanted} in {values[:4]}… explained step by step".replace("]…", ", …]"), f"How many comparisons to find {wanted} in a sorted list of {len(values)}?") + (f" (starting with {values[0]}, {values[1]})" if turn > 2 else ""),
            ["algorithm", "binary-search", rng.choice(["python", "off-by-one", "sorting"])], question, answer, trace, sort,
        )  # fmt: skip


def distances(rng: random.Random) -> Iterator[str]:
    """Edit distance tables."""
    w = Wording(rng)
    for a, b in [
        ("kitten", "mitten"),
        ("flaw", "lawn"),
        ("saddle", "paddles"),
        ("winter", "writer"),
        ("bread", "board"),
        ("spoke", "smoke"),
        ("carrot", "parrots"),
        ("gears", "years"),
    ]:
        grid = [[i + j if i * j == 0 else 0 for j in range(len(b) + 1)] for i in range(len(a) + 1)]
        for i in range(1, len(a) + 1):
            for j in range(1, len(b) + 1):
                grid[i][j] = min(
                    grid[i - 1][j] + 1, grid[i][j - 1] + 1, grid[i - 1][j - 1] + (a[i - 1] != b[j - 1])
                )
        i, j, steps = len(a), len(b), []
        while i or j:
            if i and j and grid[i][j] == grid[i - 1][j - 1] + (a[i - 1] != b[j - 1]):
                if a[i - 1] != b[j - 1]:
                    steps.append(f"replace `{a[i - 1]}` by `{b[j - 1]}`")
                i, j = i - 1, j - 1
            elif i and grid[i][j] == grid[i - 1][j] + 1:
                steps.append(f"delete `{a[i - 1]}`")
                i -= 1
            else:
                steps.append(f"insert `{b[j - 1]}`")
                j -= 1
        steps.reverse()
        rows = [["", *grid[0]], *[[a[i - 1], *grid[i]] for i in range(1, len(a) + 1)]]
        question = w.opening(
            f"What is the edit distance of *{a}* and *{b}*? My program says {grid[-1][-1] + 1}, a colleague says {grid[-1][-1]}.",
            f'For a "did you mean …?" function I want to know how similar `{a}` and `{b}` are. Comparing position by position isn\'t good enough, because one missing letter shifts everything.',
            f"I understand the recursion for the Levenshtein distance, but not how to fill the table. Could you do it for {a} → {b}?",
        ) + w.say(
            " Upper and lower case don't matter here.", " Swapping two letters may count as two changes.", ""
        )
        answer = (
            w.say(
                "The table:",
                "Filled in completely, it looks like this:",
                "Rows are the letters of the first word, columns those of the second:",
            )
            + "\n\n"
            + table(["", "", *b], rows, "c" * (len(b) + 2))
            + "\n\n"
            + w.say(
                "Each cell is the smallest of: the one above plus 1 (delete), the one to the left plus 1 (insert), the one diagonally above, plus 1 if the letters differ (replace or keep).",
                "The first row and column are 0, 1, 2, …, because from or to an empty word you can only insert or delete. Every other cell looks at three neighbours: above, left, diagonal.",
                "The cell in row $i$ and column $j$ is the distance of the first $i$ letters of one word to the first $j$ letters of the other.",
            )
            + f" The result stands in the lower right corner: **{grid[-1][-1]}**."
        )
        path = (
            w.say(
                "Walk back from the corner to get the changes:",
                "And which changes are they?",
                "Going backwards through the table you can read off what to do:",
            )
            + "\n\n"
            + "\n".join(f"{n}. {step}" for n, step in enumerate(steps, 1))
            + "\n\n"
            + w.say(
                "There may be several ways with the same number of changes.",
                "The order doesn't matter.",
                "If a diagonal step costs nothing, the letter is kept.",
            )
        )
        code = w.say("Two rows are enough if you need only the number:", "A version that keeps just one row in memory:", "Short and fast enough for a few thousand words:") + "\n\n" + fence("py", f"""
def distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        diagonal, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (x != y))
    return row[-1]

print(distance("{a}", "{b}"), distance("{b}", "{a}"), distance("{a}", "{a}"))
""")  # fmt: skip
        yield w.thread(
            w.title(f"Edit distance of {a} and {b}: {grid[-1][-1]} or {grid[-1][-1] + 1}?", f"How similar are {a} and {b}?", f"Filling the Levenshtein table for {a} and {b}"),
            ["algorithm", "edit-distance", "dynamic-programming"], question, answer, path, code,
        )  # fmt: skip
