"""Algebra: linear systems, quadratic equations, number bases."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction

from computed.wording import Wording, fence, frac, polynomial, table


def systems(rng: random.Random) -> Iterator[str]:
    """Word problems with three unknowns, by Gaussian elimination."""
    w = Wording(rng)
    stories = [
        ("apples", "pears", "plums", "The bill for {0} apples, {1} pears and {2} plums was {3} cents."),
        ("small", "medium", "large", "Filling {0} small, {1} medium and {2} large jars took {3} spoons."),
        ("nuts", "bolts", "washers", "A bag of {0} nuts, {1} bolts and {2} washers weighs {3} grams."),
        ("adults", "students", "children", "{0} adults, {1} students and {2} children paid {3} crowns."),
    ]
    for turn in range(8):
        names = stories[turn % 4]
        while True:
            values = [rng.randrange(2, 30) for _ in range(3)]
            left = [[rng.randrange(1, 7) for _ in range(3)] for _ in range(3)]
            rows = [
                [Fraction(c) for c in line]
                + [Fraction(sum(c * v for c, v in zip(line, values, strict=True)))]
                for line in left
            ]
            first = [line[:] for line in rows]
            if rows[0][0] > 3:
                continue
            f1, f2 = rows[1][0] / rows[0][0], rows[2][0] / rows[0][0]
            second = [b - f1 * a for a, b in zip(rows[0], rows[1], strict=True)]
            third = [b - f2 * a for a, b in zip(rows[0], rows[2], strict=True)]
            if second[1] == 0 or max(x.denominator for x in second + third) > 3:
                continue
            f3 = third[1] / second[1]
            last = [b - f3 * a for a, b in zip(second, third, strict=True)]
            if last[2] and max(x.denominator for x in last) < 12:
                break
        equations = " \\\\\n".join(
            rf"{frac(a) if a != 1 else ''}x + {frac(b) if b != 1 else ''}y + {frac(c) if c != 1 else ''}z &= {frac(d)}"
            for a, b, c, d in first
        )
        display = f"\\begin{{align}}\n{equations}\n\\end{{align}}"
        totals = ", ".join(str(line[3]) for line in first)
        facts = " ".join(names[3].format(*(int(x) for x in line)) for line in first)
        question = (
            w.opening(
                f"{facts} How much is each? I've three equations with three unknowns and go round in circles when I substitute.",
                f"{facts} I set up the equations\n\n{display}\n\nand my results don't fit when I put them back in. Where's the systematic way?",
                f"I'm told: *{facts}* I can guess a solution, but I'm supposed to find it by elimination, and I keep making slips.",
            )
            + " "
            + w.say(
                "What do you do to stay organised?",
                "Could somebody show each step?",
                "Fractions scare me, to be honest.",
                "",
            )
        )

        def line(values: list[Fraction]) -> str:
            names_, out = "xyz", ""
            for value, name in zip(values[:3], names_, strict=True):
                if value:
                    size = "" if abs(value) == 1 else frac(abs(value))
                    out += (
                        (("-" if value < 0 else "") if not out else (" - " if value < 0 else " + "))
                        + size
                        + name
                    )
            return f"{out} &= {frac(values[3])}"

        z = last[3] / last[2]
        y = (second[3] - second[2] * z) / second[1]
        x = (first[0][3] - first[0][1] * y - first[0][2] * z) / first[0][0]
        summed = " + ".join(
            rf"{frac(c)}\cdot {frac(v)}" for c, v in zip(first[2][:3], (x, y, z), strict=True)
        )
        gauss = (
            w.say(
                "Work on whole equations instead of substituting. Call them (I), (II), (III):",
                "Elimination it is. Label the equations, and write down for every new line how you got it:",
                "What keeps me organised: one unknown disappears at a time, and always from *all* lines below.",
            )
            + f"\n\n{display}\n\nRemove $x$ from the second and third:\n\n\\begin{{align}}\n\\text{{(II)}} - {frac(f1)}\\,\\text{{(I)}}:\\quad {line(second)} \\\\\n\\text{{(III)}} - {frac(f2)}\\,\\text{{(I)}}:\\quad {line(third)}\n\\end{{align}}\n\nNow remove $y$ from the last one, by subtracting ${frac(f3)}$ times the line above it:\n\n$${line(last).replace('&', '')}$$\n\nFrom here go upwards: $z = {frac(z)}$, then $y = {frac(y)}$, then $x = {frac(x)}$. "
            + w.say(
                f"So {names[0]}: {x}, {names[1]}: {y}, {names[2]}: {z}.",
                f"In words: {x} for {names[0]}, {y} for {names[1]} and {z} for {names[2]}.",
                f"Put them into (III) as a check: ${summed} = {frac(first[2][3])}$.",
            )
        )
        shown = [[int(c) for c in row] for row in first]
        code = w.say(
            "With exact fractions a computer makes no rounding errors. This is the same elimination in general form:",
            "For checking homework I keep this little solver around:",
            "If you have many of these, let a program do it (`Fraction` avoids surprises with rounding):",
        ) + "\n\n" + fence("py", f"""
from fractions import Fraction

def solve(rows):
    rows = [[Fraction(x) for x in row] for row in rows]
    n = len(rows)
    for i in range(n):
        pivot = next(r for r in range(i, n) if rows[r][i])
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for r in range(n):
            if r != i:
                rows[r] = [a - rows[r][i] * b for a, b in zip(rows[r], rows[i])]
    return [str(row[-1]) for row in rows]

print(solve({shown}))
""")  # fmt: skip
        yield w.thread(
            w.title(f"How much are {names[0]}, {names[1]} and {names[2]}? (Totals: {totals})",
                    f"Gaussian elimination for {names[0]}, {names[1]} and {names[2]}: where's my slip? (Totals {totals})",
                    f"Three equations for {names[0]}, {names[1]} and {names[2]} with the totals {totals}"),
            ["systems-of-equations", "linear-algebra", "word-problem"], question, gauss, code,
        )  # fmt: skip


def quadratics(rng: random.Random) -> Iterator[str]:
    """Quadratic equations: fences, throws, products."""
    w = Wording(rng)
    for _ in range(8):
        p, q = rng.randrange(3, 16), rng.randrange(3, 16)
        if p == q:
            q += 2
        a, b, c = 1, -(p + q), p * q
        total, area = 2 * (p + q), p * q
        question = (
            w.opening(
                f"A rectangular bed should have an area of {area} m² and I've {total} m of edging. What are the sides? I got ${polynomial([a, b, c])} = 0$ and am stuck.",
                f"Two numbers have the sum {p + q} and the product {area}. I can guess them, but how do I *calculate* them?",
                f"Solve ${polynomial([a, b, c])} = 0$ by completing the square. I know the formula by heart and don't understand where it comes from.",
                f"My teacher factorises ${polynomial([a, b, c])}$ at a glance. What does she see?",
            )
            + "\n\n"
            + w.say(
                "Please don't just quote the formula.",
                "I'm 15, for what it's worth.",
                "A drawing in words would be fine, too.",
                "Does it always work?",
            )
        )
        half = Fraction(p + q, 2)
        disc = half * half - area
        square = (
            w.say(
                "Complete the square: move the constant to the other side and add what is missing for a perfect square.",
                "Here's completing the square, slowly.",
                "The idea is to get $x$ into *one* place only.",
            )
            + f"\n\n\\begin{{align}}\nx^2 - {p + q}x &= -{area} \\\\\nx^2 - {p + q}x + \\left({frac(half)}\\right)^2 &= {frac(half * half)} - {area} \\\\\n\\left(x - {frac(half)}\\right)^2 &= {frac(disc)}\n\\end{{align}}\n\nThe right-hand side is the square of ${frac(Fraction(abs(p - q), 2))}$, so $x = {frac(half)} \\pm {frac(Fraction(abs(p - q), 2))}$, and the solutions are ${max(p, q)}$ and ${min(p, q)}$. "
            + w.say(
                f"Check: ${p}\\cdot{q} = {area}$ and ${p} + {q} = {p + q}$.",
                "If the right-hand side had been negative, there'd be no real solution.",
                "Do this once with letters instead of numbers and you have proved the formula.",
            )
        )
        pairs = [(d, area // d) for d in range(1, int(area**0.5) + 1) if area % d == 0]
        vieta = (
            w.say(
                "The magic word is **Vieta**:",
                "There's a shortcut if the solutions are whole numbers.",
                "Think of it backwards.",
            )
            + f" $(x - r)(x - s) = x^2 - (r + s)x + rs$. You want $rs = {area}$ and $r + s = {p + q}$. There are only {len(pairs)} ways to write {area} as a product:\n\n"
            + table(
                ["$r$", "$s$", "$r + s$"],
                [[r, s, f"**{r + s}**" if r + s == p + q else r + s] for r, s in pairs],
                "rrr",
            )
            + f"\n\nSo ${polynomial([a, b, c])} = (x - {min(p, q)})(x - {max(p, q)})$."
        )
        middle = (
            w.say("An old trick, older than algebra:", "The Babylonians would have done it without any $x$:")
            + f" if the sum is {p + q}, the numbers are ${frac(half)} + d$ and ${frac(half)} - d$. Their product is ${frac(half * half)} - d^2$, which should be {area}. Hence $d^2 = {frac(disc)}$ and $d = {frac(Fraction(abs(p - q), 2))}$."
        )
        yield w.thread(
            w.title(f"Rectangle with area {area} and perimeter {total}", f"Sum {p + q}, product {area}: which numbers?",
                    f"Where do the solutions of ${polynomial([a, b, c])} = 0$ come from?", f"How to factorise ${polynomial([a, b, c])}$?"),
            ["quadratics", "algebra-precalculus", rng.choice(["factoring", "word-problem"])], question, square, vieta, middle,
        )  # fmt: skip


def bases(rng: random.Random) -> Iterator[str]:
    """Numbers in other bases and in two's complement."""
    w = Wording(rng)
    for _ in range(7):
        number, base = rng.randrange(150, 4000), rng.choice([2, 3, 5, 7, 8, 12, 16])
        digits, rows, rest = [], [], number
        while rest:
            rows.append([rest, rest // base, rest % base])
            digits.append("0123456789ABCDEF"[rest % base])
            rest //= base
        text = "".join(reversed(digits))
        question = w.opening(
            f"How do I write {number} in base {base}? I know what it *means*, but I don't have a procedure.",
            f"I'm to convert the decimal number {number} to base {base} by hand. Everybody divides, but why are the digits read backwards?",
            f"A converter tells me that {number} is `{text}` in base {base}. How can I verify this?",
        ) + w.say(
            "",
            " In the exam there are no calculators.",
            f" I thought that base {base} was a joke when I first saw it.",
        )
        division = (
            w.say(
                "Divide by the base again and again and note the remainders:",
                "The procedure: divide, write down the remainder, go on with the quotient.",
                "Repeated division does it.",
            )
            + "\n\n"
            + table(["number", f"divided by {base}", "remainder"], rows, "rrr")
            + f"\n\nRead the remainders from the bottom to the top: $({text})_{{{base}}}$. "
            + w.say(
                f"Why backwards? The first remainder is what's left when all multiples of {base} are taken away, so it's the *last* digit.",
                "The first division splits off the ones, the second one the next place, and so on. So the lowest place appears first.",
                "If you dislike reading backwards, start with the largest power that fits.",
            )
        )
        horner = 0
        steps = []
        for digit in text:
            steps.append(f"{horner}\\cdot{base} + {int(digit, 16)} = {horner * base + int(digit, 16)}")
            horner = horner * base + int(digit, 16)
        back = (
            w.say(
                "To verify, go the other way with Horner's scheme:",
                "And back again, from the left (Horner):",
                "The inverse procedure needs no powers at all:",
            )
            + " start with 0, and for each digit multiply by the base and add the digit.\n\n$$\n\\begin{aligned}\n"
            + " \\\\\n".join("&" + step for step in steps)
            + "\n\\end{aligned}\n$$\n\n"
            + w.say(
                f"It ends at {number}, as it must.",
                "This is how a program reads a number, too.",
                f'In Python: `int("{text}", {base}) == {number}`.',
            )
        )
        bits = 8 if number < 128 else 16
        complement = w.say("Somebody will ask about negative numbers next, so:", "A remark on the negative, since computers come into it:", "By the way:") + f" on a machine with {bits}-bit words, $-{number}$ is stored as $2^{{{bits}}} - {number} = {2**bits - number}$. In binary, invert all bits of {number} and add one:\n\n" + fence("py", f"""
n, bits = {number}, {bits}
inverted = n ^ (2**bits - 1)
for value in (n, inverted, inverted + 1):
    print(f"{{value:0{{bits}}b}}")
""")  # fmt: skip
        yield w.thread(
            w.title(f"{number} in base {base}", f"Converting {number} to base {base}: why are the digits reversed?", f"Verify that {number} is {text} in base {base}"),
            ["number-systems", "arithmetic", rng.choice(["binary", "conversion"])], question, division, back, complement,
        )  # fmt: skip
