"""Chance and money: dice, defects, hands of cards, loans."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from fractions import Fraction

from computed.wording import Wording, fence, frac, table


def dice(rng: random.Random) -> Iterator[str]:
    """Sums of dice, by counting and by code."""
    w = Wording(rng)
    for sides, count, target in [
        (6, 2, 9),
        (6, 3, 10),
        (6, 3, 15),
        (4, 3, 8),
        (8, 2, 11),
        (10, 2, 16),
        (6, 4, 20),
        (12, 2, 20),
    ]:
        ways = {0: 1}
        stages = []
        for _ in range(count):
            ways = {
                t: sum(ways.get(t - f, 0) for f in range(1, sides + 1)) for t in range(1, sides * count + 1)
            }
            ways = {t: n for t, n in ways.items() if n}
            stages.append(ways)
        good = sum(n for t, n in ways.items() if t >= target)
        exact, total = ways[target], sides**count
        shortened = f" = {frac(Fraction(good, total))}" if math.gcd(good, total) > 1 else ""
        question = (
            w.opening(
                f"In our game one has to reach {target} or more with {count} {sides}-sided dice. How likely is that?",
                f"I roll {count} dice with {sides} faces each. What's the probability that the sum is at least {target}? I'd like to know how to *count* this; I don't trust my intuition any more.",
                f"My brother claims that {target}+ with {count}d{sides} happens about {'half' if good * 3 > total else 'a third'} of the time. Is he right?",
                f"How do I count the ways in which {count} dice ({sides} sides each) add up to {target}?",
            )
            + " "
            + w.say(
                "I tried to list everything and lost the overview.",
                "Do (1, 2) and (2, 1) count once or twice?",
                "An argument that extends to more dice would be great.",
                "",
            )
        )
        shown = [[t, n, f"{n / total:.1%}"] for t, n in sorted(ways.items()) if t >= target - 1]
        answer = (
            w.say(
                "Treat the dice as distinguishable (paint them in different colours if you like).",
                "Order counts: a red 1 and a blue 2 is another roll than a red 2 and a blue 1.",
                "Count *rolls*, not sums; all rolls are equally likely, sums are not.",
            )
            + f" There are ${sides}^{count} = {total}$ rolls. The number of rolls per sum:\n\n"
            + table(["sum", "rolls", "probability"], shown, "rrr")
            + f"\n\nExactly {target}: {exact} of {total}. At least {target}: add up, {good} of {total}, that is\n\n$$P = \\frac{{{good}}}{{{total}}}{shortened} \\approx {good / total:.3f}.$$"
        )
        build = (
            w.say(
                "Here is how to get such a table without listing: add one die at a time.",
                "The counting extends to any number of dice like this:",
                "There's a pattern which makes it mechanical.",
            )
            + f" If $N_k(t)$ is the number of rolls of $k$ dice with sum $t$, the last die shows some $f$ and the others must make the rest:\n\n$$N_k(t) = \\sum_{{f=1}}^{{{sides}}} N_{{k-1}}(t - f).$$\n\n"
            + w.say("As a program:", "In code this is three lines:", "Written out:")
            + "\n\n"
            + fence(
                "py",
                f"""
ways = {{0: 1}}
for _ in range({count}):
    step = {{}}
    for total, n in ways.items():
        for face in range(1, {sides + 1}):
            step[total + face] = step.get(total + face, 0) + n
    ways = step

print(ways)
print(sum(n for total, n in ways.items() if total >= {target}), "of", sum(ways.values()))
""",
            )
        )
        mean = Fraction(count * (sides + 1), 2)
        sd = math.sqrt(count * (sides**2 - 1) / 12)
        rough = w.say("For a quick feeling, without counting:", "A rough estimate at the table:", "In your head:") + f" one die has the mean $\\frac{{{sides}+1}}{{2}}$ and the variance $\\frac{{{sides}^2-1}}{{12}}$. So {count} of them have the mean ${frac(mean)}$ and the standard deviation $\\sqrt{{{count * (sides**2 - 1)}/12}} \\approx {sd:.2f}$. The border at {target - 0.5} lies {abs((target - 0.5 - float(mean)) / sd):.2f} standard deviations {'above' if target - 0.5 > mean else 'below'} the mean, and the bell curve gives {0.5 * math.erfc((target - 0.5 - float(mean)) / sd / math.sqrt(2)):.3f}. Exactly it's {good / total:.3f}."  # fmt: skip
        yield w.thread(
            w.title(f"Chance of at least {target} with {count} dice of {sides} sides", f"How often does {count}d{sides} give {target} or more?", f"Is {target}+ on {count}d{sides} really that likely?", f"Counting rolls: {count} dice, {sides} sides, sum {target}"),
            ["probability", "dice", rng.choice(["combinatorics", "board-games"])], question, answer, build, rough,
        )  # fmt: skip


def samples(rng: random.Random) -> Iterator[str]:
    """Defects, seeds and guessed answers: the binomial distribution."""
    w = Wording(rng)
    for n, percent, k, thing in [
        (20, 5, 3, "screws of which 5% have no thread"), (12, 80, 8, "seeds that germinate with 80% probability"),
        (10, 25, 5, "multiple-choice questions with four options, all answered by guessing"), (30, 10, 6, "eggs of which one in ten is cracked"),
        (15, 50, 11, "tosses of a fair coin"), (24, 2, 1, "light bulbs with a failure rate of 2%"), (16, 30, 8, "spam messages, each getting through with probability 0.3"),
        (8, 90, 6, "commutes, where I'm on time on 90% of days"),
    ]:  # fmt: skip
        p = Fraction(percent, 100)
        pmf = [math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(n + 1)]
        tail = float(sum(pmf[k:]))
        mean, sd = float(n * p), math.sqrt(n * p * (1 - p))
        question = w.opening(
            f'Suppose I have {n} {thing}. What is the probability of {k} or more of them? I can do *exactly one* and *none*, but "at least" confuses me.',
            f'I\'m thinking about {n} {thing}. Is it surprising to see at least {k}? How do I put a number on "surprising"?',
            f"Given {n} {thing}: how likely are at least {k}? A formula that I can type into a spreadsheet would be perfect.",
        )
        rows = [
            [i, math.comb(n, i), f"{float(pmf[i]):.4f}", f"{float(sum(pmf[i:])):.4f}"]
            for i in range(max(0, k - 2), min(n, k + 3) + 1)
        ]
        answer = (
            w.say(
                "This is the binomial distribution.",
                f"If the {n} trials are independent, the number of successes is *binomial*.",
                "Three ingredients: how many trials, how likely each, how many ways.",
            )
            + f' For exactly $i$ out of {n},\n\n$$P(X = i) = \\binom{{{n}}}{{i}}\\, {float(p):g}^i \\, {float(1 - p):g}^{{{n} - i}} .$$\n\n"At least {k}" means $i = {k}, {k + 1}, \\dots, {n}$, so add those. Around your value:\n\n'
            + table(["$i$", f"$\\binom{{{n}}}{{i}}$", "exactly $i$", "at least $i$"], rows, "rrrr")
            + f"\n\nSo the answer is **{tail:.4f}**. "
            + w.say(
                "When the sum has many terms, compute the complement: $1 - P(X < k)$.",
                f"The spreadsheet formula is `=1-BINOM.DIST({k - 1},{n},{float(p):g},TRUE)`.",
                "Whether they are independent is the real question, and mathematics can't answer it.",
            )
        )
        rough = w.say("To judge \"surprising\":", "As a rule of thumb:", "Put it into perspective:") + f" on average you'd see $np = {mean:g}$, with the standard deviation $\\sqrt{{np(1-p)}} = {sd:.2f}$. The value {k} is {abs(k - mean) / sd:.1f} standard deviations {'above' if k > mean else 'below'} that. " + w.say(
            "Beyond two I'd start to look for a cause.", "Up to one is everyday noise.", "Don't read too much into it; rare things happen daily, to somebody.") + "\n\n" + fence("py", f"""
from math import comb

n, p, k = {n}, {float(p):g}, {k}
print(round(sum(comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1)), 4))
""")  # fmt: skip
        yield w.thread(
            w.title(f"At least {k} out of {n} {thing.split()[0]}", f"How surprising are {k} or more among {n} {thing}?", f"Binomial \"at least {k}\" for {n} {thing.split()[0]}"),
            ["probability", "binomial-distribution", "statistics"], question, answer, rough,
        )  # fmt: skip


def loans(rng: random.Random) -> Iterator[str]:
    """Interest, instalments, and the price of a fridge."""
    w = Wording(rng)
    for principal, percent, months, goods in [
        (1200, 6, 12, "a fridge"), (5000, 9, 24, "a cargo bike"), (800, 12, 10, "a laptop"), (15000, 4, 60, "a used car"),
        (2400, 18, 18, "a workbench"), (9000, 3, 36, "new windows"), (600, 24, 6, "a mattress"), (20000, 5, 48, "a boiler"),
    ]:  # fmt: skip
        rate = percent / 1200
        payment = round(principal * rate / (1 - (1 + rate) ** -months), 2)
        rows: list[list[object]] = []
        debt, paid = float(principal), 0.0
        for month in range(1, months + 1):
            interest = round(debt * rate, 2)
            part = round(min(payment, debt + interest), 2) if month < months else round(debt + interest, 2)
            debt = round(debt + interest - part, 2)
            paid += part
            if month <= 3 or month == months:
                rows.append([month, f"{interest:.2f}", f"{part - interest:.2f}", f"{debt:.2f}"])
        rows.insert(3, ["…", "…", "…", "…"])
        question = w.opening(
            f"I want to buy {goods} for \\${principal} and pay it off over {months} months at {percent}% per year. The dealer says \\${payment:.2f} a month. How can I check this?",
            f"A loan of \\${principal} at {percent}% a year, {months} equal instalments: what is the instalment? Naively I'd take \\${principal} plus {percent}% per year, divided by {months}, but that's {'more' if principal * (1 + percent / 100 * months / 12) / months > payment else 'less'} than the bank's figure of \\${payment:.2f}.",
            f"Where does the formula for equal instalments come from? I'm trying it on \\${principal}, {percent}% and {months} months ({goods}, if you must know).",
        )
        derivation = (
            w.say(
                "Value all payments at the same point in time, today.",
                "The key: a dollar next month is worth less than a dollar now.",
                "Discount each instalment back to the beginning.",
            )
            + f" With the monthly rate $i = \\frac{{{percent}\\%}}{{12}} = {rate:.6g}$ a payment $R$ after $k$ months is worth $R\\,(1+i)^{{-k}}$ today, and together they must be worth the loan $L$:\n\n\\begin{{align}}\nL &= R\\sum_{{k=1}}^{{{months}}} (1+i)^{{-k}} = R\\cdot\\frac{{1 - (1+i)^{{-{months}}}}}{{i}} \\\\\nR &= L\\cdot\\frac{{i}}{{1 - (1+i)^{{-{months}}}}} = {principal}\\cdot{rate / (1 - (1 + rate) ** -months):.6f} = {payment:.2f}\n\\end{{align}}\n\n"
            + w.say(
                f"So the \\${payment:.2f} are right.",
                "The sum is a geometric series; nothing deeper is needed.",
                "The naive calculation charges interest on the whole sum until the end, although you owe less every month.",
            )
        )
        schedule = (
            w.say(
                "Make a table, it convinces everyone:",
                "A payment plan shows it month by month:",
                "You can also check by simulation.",
            )
            + " Each month the interest on what you still owe is added, then you pay.\n\n"
            + table(["month", "interest", "repaid", "still owed"], rows, "rrrr")
            + f"\n\nIn total you pay \\${paid:.2f}, that's \\${paid - principal:.2f} for the pleasure of having it now. "
            + w.say(
                "(The last instalment differs by a few cents because of rounding.)",
                "Compare *this* number with what you'd lose by waiting.",
                "Ask about fees, too; they aren't in the formula.",
            )
        )
        code = "For other numbers:\n\n" + fence("py", f"""
def instalment(loan, percent, months):
    i = percent / 100 / 12
    return round(loan * i / (1 - (1 + i) ** -months), 2)

for months in ({months // 2}, {months}, {months * 2}):
    r = instalment({principal}, {percent}, months)
    print(f"{{months:3}} months: {{r:8.2f}} a month, {{r * months:9.2f}} in total")
""")  # fmt: skip
        yield w.thread(
            w.title(f"Is the dealer's instalment right? ${principal}, {percent}%, {months} months", f"Monthly instalment for ${principal} at {percent}% over {months} months", f"Deriving the annuity formula ({percent}%, {months} instalments)"),
            ["finance", "interest", rng.choice(["geometric-series", "loans"])], question, derivation, schedule, code,
        )  # fmt: skip
