"""Number theory: inverses, congruences, powers, coins, divisors."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

from computed.wording import Wording, fence, table

PRIMES = [11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97]


def euclid(a: int, b: int) -> list[tuple[int, int, int, int]]:
    """The divisions (dividend, quotient, divisor, remainder) of Euclid's algorithm, the larger number first."""
    a, b = max(a, b), min(a, b)
    steps = []
    while b:
        steps.append((a, a // b, b, a % b))
        a, b = b, a % b
    return steps


def division_lines(steps: list[tuple[int, int, int, int]]) -> str:
    """The divisions as an aligned display."""
    rows = [rf"{a} &= {q}\cdot {b} + {r}" for a, q, b, r in steps]
    return "\\begin{align}\n" + " \\\\\n".join(rows) + "\n\\end{align}"


def modular_inverses(rng: random.Random) -> Iterator[str]:
    """Inverse of a modulo n, by Euclid backwards and by a table."""
    w = Wording(rng)
    for _ in range(8):
        while True:
            n, a = rng.choice([*PRIMES, 26, 35, 64, 77, 91, 100, 143, 256]), rng.randrange(5, 90)
            if a < n and math.gcd(a, n) == 1 and len(euclid(n, a)) >= 3:
                break
        inverse = pow(a, -1, n)
        rows, r0, r1, t0, t1 = [], n, a, 0, 1
        rows.append([r0, "", t0])
        while r1:
            rows.append([r1, r0 // r1, t1])
            r0, r1, t0, t1 = r1, r0 % r1, t1, t0 - (r0 // r1) * t1
        rows[-1][2] = str(rows[-1][2])
        question = (
            w.opening(
                f"I'm working through a chapter on ciphers and need the number $x$ with ${a}x \\equiv 1 \\pmod{{{n}}}$. I found it by trying all values, which can't be the intended way.",
                f'For an exercise I have to "divide by {a}" modulo {n}. I know that I should multiply by the inverse of {a} instead. How does one find it on paper?',
                f"My program prints {inverse} for `pow({a}, -1, {n})`. I'd like to understand where this number comes from, without the computer.",
                f'Does ${a}$ have a multiplicative inverse in $\\mathbb Z/{n}\\mathbb Z$, and if so, which one? The lecture notes say "run Euclid backwards" and leave it at that.',
            )
            + "\n\n"
            + w.say(
                f"So far I have $\\gcd({a}, {n}) = 1$, hence it exists.",
                "I can do the forward part, it is the way back where I lose track of the signs.",
                "A method that one can do in an exam would be best.",
                "Is there a way to arrange the calculation so that I don't make mistakes?",
            )
        )
        k = (a * inverse - 1) // n
        first = (
            w.say(
                "Run Euclid's algorithm first:",
                "Divide with remainder until nothing is left:",
                "The forward part is a chain of divisions.",
                "Start from the larger number:",
            )
            + f"\n\n{division_lines(euclid(n, a))}\n\n"
            + w.say(
                "The last remainder that isn't zero is 1, as it should be. Instead of substituting backwards, carry a column $t$ along. It starts with 0 and 1, and each new entry is *the one before the last, minus quotient times the last*:",
                "For the way back I recommend a table in which nothing has to be substituted. Each $t$ is (two lines above) − (quotient) × (one line above):",
                "Now keep account of how often $a$ goes into each remainder. In the table below every line satisfies $r \\equiv t\\cdot a$, and a line minus a multiple of the next is again such a line:",
            )
            + "\n\n"
            + table(["$r$", "quotient", "$t$"], rows, "rrr")
            + "\n\n"
            + f"In the line with $r = 1$ stands $t = {rows[-1][2]}$, so the inverse is "
            + (f"${inverse}$." if str(inverse) == rows[-1][2] else f"${rows[-1][2]} + {n} = {inverse}$.")
            + " "
            + w.say(
                f"Check: ${a}\\cdot{inverse} = {a * inverse} = {k}\\cdot{n} + 1$.",
                f"Always multiply out at the end: ${a}\\cdot{inverse} - 1 = {a * inverse - 1}$, and that's ${k}$ times ${n}$.",
                f"And indeed ${a * inverse} \\equiv 1 \\pmod{{{n}}}$, because ${k}\\cdot{n} = {k * n}$.",
            )
        )
        second = w.say(
            "The same table as a program, in case somebody needs it:",
            "As a function (the loop is the table, line by line):",
            "In code I'd write it without recursion:",
        ) + "\n\n" + fence("py", f"""
def inverse(a, n):
    r, s = n, a % n
    t, u = 0, 1
    while s:
        q = r // s
        r, s, t, u = s, r - q * s, u, t - q * u
    if r != 1:
        raise ValueError(f"{{a}} has no inverse modulo {{n}}")
    return t % n

print(inverse({a}, {n}), {a} * inverse({a}, {n}) % {n})
""")  # fmt: skip
        yield w.thread(
            w.title(f"How do I solve ${a}x \\equiv 1 \\pmod{{{n}}}$?", f"What is 1/{a} in arithmetic modulo {n}?",
                    f"Inverse of {a} modulo {n} by hand", f"Extended Euclid for {a} and {n}: which is the inverse?"),
            ["modular-arithmetic", "euclidean-algorithm", rng.choice(["elementary-number-theory", "cryptography"])],
            question, first, second,
        )  # fmt: skip


def remainders(rng: random.Random) -> Iterator[str]:
    """Chinese remainder problems as stories."""
    w = Wording(rng)
    for _ in range(8):
        moduli = rng.choice(
            [(3, 5, 7), (4, 5, 7), (5, 7, 8), (3, 7, 10), (5, 6, 11), (7, 9, 10), (4, 9, 11), (5, 8, 9)]
        )
        answer = rng.randrange(20, math.prod(moduli) - 1)
        rests = [answer % m for m in moduli]
        if len(set(rests)) < 2:
            rests = [(answer + 1) % m for m in moduli]
            answer += 1
        (m1, m2, m3), (r1, r2, r3) = moduli, rests
        system = "\n".join(rf"x &\equiv {r} \pmod{{{m}}} \\" for m, r in zip(moduli, rests, strict=True))
        display = "\\begin{align}\n" + system.removesuffix(" \\\\") + "\n\\end{align}"
        total = math.prod(moduli)
        question = (
            w.opening(
                f"Our choir director said: \"In rows of {m1} there {'is' if r1 == 1 else 'are'} {r1} left over, in rows of {m2} it's {r2}, and in rows of {m3} it's {r3}.\" There are fewer than {total} of us. How many are we, and how do I find out without counting?",
                f"A puzzle from my daughter's book: a number leaves the remainder {r1} when divided by {m1}, {r2} when divided by {m2} and {r3} when divided by {m3}. Find the smallest one. I got there by listing numbers, which took a page.",
                f"Three lamps blink with periods of {m1}, {m2} and {m3} seconds. I came in at some moment and saw that the last flashes had been {r1}, {r2} and {r3} seconds ago. How long ago did all three last flash together?",
                f"I have the system below and don't see how to begin. Two congruences I can manage, but three?\n\n{display}",
            )
            + "\n\n"
            + w.say(
                "I have read about the Chinese remainder theorem, but the proof in my book isn't constructive.",
                "A step-by-step solution would help more than a formula.",
                "How would you do this on the back of an envelope?",
                "Is the answer unique?",
            )
        )
        x, steps = r1, [f"Numbers with remainder {r1} modulo {m1} are ${r1} + {m1}k$."]
        modulus = m1
        for m, r in ((m2, r2), (m3, r3)):
            tries = []
            while True:
                tries.append(f"{x} \\to {x % m}")
                if x % m == r:
                    break
                x += modulus
            steps.append(
                f"Go through them until the remainder modulo {m} is {r}: ${', '.join(tries)}$. So $x \\equiv {x} \\pmod{{{modulus * m}}}$."
            )
            modulus *= m
        listed = "\n".join(f"{i}. {step}" for i, step in enumerate(steps, 1))
        sieve = (
            w.say(
                "*Sieving* is hard to beat for small moduli. Satisfy one congruence after the other, and once one is satisfied, only move in steps that don't disturb it.",
                "You don't need a formula. Take care of the conditions one at a time, and from then on take steps which keep the earlier ones true.",
                "On an envelope I'd do it like this:",
            )
            + f"\n\n{listed}\n\n"
            + w.say(
                f"So $x = {x}$, and it's unique modulo ${m1}\\cdot{m2}\\cdot{m3} = {total}$, since the moduli have no common factors.",
                f"Result: **{x}**. All other solutions differ by multiples of {total}.",
                f"That gives {x}; the next solution would be {x + total}.",
            )
        )
        terms = []
        for m, r in zip(moduli, rests, strict=True):
            rest = total // m
            terms.append((rest, pow(rest, -1, m), r, m))
        lines = " \\\\\n".join(
            rf"N_{i} &= {rest}, & {rest}\cdot {inv} &\equiv 1 \pmod{{{m}}}"
            for i, (rest, inv, r, m) in enumerate(terms, 1)
        )
        total_sum = sum(rest * inv * r for rest, inv, r, m in terms)
        plus = " + ".join(rf"{r}\cdot{rest}\cdot{inv}" for rest, inv, r, m in terms)
        formula = (
            w.say(
                "The constructive proof, with your numbers. For each modulus take the product of the *other* two and its inverse:",
                "If you want the formula: build three numbers, each of which is 1 for one modulus and 0 for the others.",
                "There is a recipe that works for any number of congruences.",
            )
            + f"\n\n\\begin{{align}}\n{lines}\n\\end{{align}}\n\nThen $x = {plus} = {total_sum} \\equiv {total_sum % total} \\pmod{{{total}}}$. "
            + w.say(
                "Each summand vanishes modulo the two other moduli, which is the whole trick.",
                "It takes longer than trying, but it is the form which one programs.",
                "See how the first summand doesn't matter at all for the second and third congruence.",
            )
        )
        code = "It is also a one-liner if a computer is at hand:\n\n" + fence(
            "py",
            f"print([x for x in range({total}) if (x % {m1}, x % {m2}, x % {m3}) == ({r1}, {r2}, {r3})])",
        )
        yield w.thread(
            w.title(f"Counting a choir in rows of {m1}, {m2} and {m3}",
                    f"A number with remainders {r1}, {r2}, {r3} modulo {m1}, {m2}, {m3}",
                    f"Lamps with periods {m1}, {m2} and {m3}: when did they coincide?",
                    f"Chinese remainder theorem with moduli {m1}, {m2} and {m3}, step by step"),
            ["elementary-number-theory", "chinese-remainder-theorem", "modular-arithmetic"], question, sieve, formula, code,
        )  # fmt: skip


def last_digits(rng: random.Random) -> Iterator[str]:
    """The last digits of large powers."""
    w = Wording(rng)
    for _ in range(8):
        base, exponent, digits = (
            rng.choice([3, 7, 9, 11, 13, 17, 19, 21, 23, 27, 29, 33]),
            rng.randrange(60, 3000),
            rng.choice([1, 2, 2, 3]),
        )
        modulus = 10**digits
        result = pow(base, exponent, modulus)
        period = next(k for k in range(1, modulus + 1) if pow(base, k, modulus) == 1)
        word = {1: "digit", 2: "two digits", 3: "three digits"}[digits]
        question = (
            w.opening(
                f"What {'is' if digits == 1 else 'are'} the last {word} of ${base}^{{{exponent}}}$? My calculator only says `Error`.",
                f"In a competition for schools we were asked for the last {word} of ${base}^{{{exponent}}}$, with paper and pencil, in five minutes. I didn't manage. What's the trick?",
                f"I am trying to find ${base}^{{{exponent}}} \\bmod {modulus}$. Multiplying out a number of {int(exponent * math.log10(base)) + 1} digits can't be what the author wants.",
                f"How can anyone know how ${base}^{{{exponent}}}$ ends, if nobody has ever written the number down?",
            )
            + "\n\n"
            + w.say(
                "I noticed that the last digits seem to repeat, but I don't know why they must.",
                "I know congruences, but no group theory.",
                "Please explain it for somebody at school.",
                "Euler's theorem is allowed.",
            )
        )
        shown = [(k, pow(base, k, modulus)) for k in range(1, min(period, 9) + 1)]
        listing = ", ".join(f"{value:0{digits}d}" for _, value in shown) + ("" if period <= 9 else ", …")
        rest = exponent % period
        cycle = (
            w.say(
                f"Only the last {word} of a factor influence the last {word} of a product. So just keep those and multiply by {base} again and again: {listing}",
                f"Write down the endings of ${base}^1, {base}^2, \\dots$ and throw away everything in front: {listing}",
                f"Look for the cycle. The endings are {listing}",
            )
            + (
                f"\n\nAfter {period} step{'s' if period > 1 else ''} you are back at 1, and from there on everything repeats. "
                if period <= 9
                else f"\n\nPersevere (or go in larger steps): at ${base}^{{{period}}}$ you meet the ending {1:0{digits}d}, and from there on everything repeats. "
            )
            + f"Hence only the remainder of the exponent modulo {period} counts: ${exponent} = {exponent // period}\\cdot{period} + {rest}$, so\n\n$$\n{base}^{{{exponent}}} = \\bigl({base}^{{{period}}}\\bigr)^{{{exponent // period}}}\\cdot {base}^{{{rest}}} \\equiv {base}^{{{rest}}} \\equiv {result} \\pmod{{{modulus}}} .\n$$\n\n"
            + w.say(
                f"It *must* repeat, because there are only {modulus} possible endings; and it returns to 1 because {base} has an inverse modulo {modulus}.",
                f"The period divides $\\varphi({modulus}) = {modulus * 2 // 5}$, which is Euler's theorem.",
                f"The answer: **{result:0{digits}d}**.",
            )
        )
        rows, value, bits = [], base % modulus, bin(exponent)[:1:-1]
        product = 1
        for i, bit in enumerate(bits):
            if bit == "1":
                product = product * value % modulus
            rows.append(
                [
                    2**i,
                    f"{value:0{digits}d}",
                    "yes" if bit == "1" else "",
                    f"{product:0{digits}d}" if bit == "1" else "",
                ]
            )
            value = value * value % modulus
        squares = (
            w.say(
                "Without looking for a period: *square and multiply*.",
                "There is a method that always works and needs no luck: repeated squaring.",
                "Computers do it by squaring, and so can you:",
            )
            + f" In binary {exponent} is {exponent:b}. Square again and again, always modulo {modulus}, and multiply those powers that occur:\n\n"
            + table(["power", "ending", "used", "product so far"], rows, "rrcr")
            + "\n\n"
            + w.say(
                f"That's {len(bits) - 1} squarings and {bits.count('1') - 1} multiplications instead of {exponent - 1}.",
                f"The last entry is the result. In Python it is `pow({base}, {exponent}, {modulus})`, which gives {result}.",
                "Each line costs one small multiplication, so five minutes are enough.",
            )
        )
        yield w.thread(
            w.title(f"Last {word} of ${base}^{{{exponent}}}$", f"What is the pattern in the final {word} of powers of {base}, for example with exponent {exponent}?",
                    f"Finding ${base}^{{{exponent}}} \\bmod {modulus}$ without a computer",
                    f"How does ${base}^{{{exponent}}}$ end?"),
            ["elementary-number-theory", "exponentiation", "modular-arithmetic"], question, cycle, squares,
        )  # fmt: skip


def coins(rng: random.Random) -> Iterator[str]:
    """Linear equations in non-negative integers: stamps, coins, planks."""
    w = Wording(rng)
    for a, b in [(5, 8), (7, 9), (6, 11), (7, 12), (9, 14), (11, 15), (7, 16)]:
        total = rng.randrange(a * b, 3 * a * b)
        pairs = [(x, (total - a * x) // b) for x in range(total // a + 1) if (total - a * x) % b == 0]
        largest = a * b - a - b
        thing, unit = rng.choice(
            [("stamps", "cents"), ("planks", "decimetres"), ("weights", "grams"), ("tokens", "points")]
        )
        question = (
            w.opening(
                f"I have two kinds of {thing}, of {a} and {b} {unit}, as many as I want. Can I make exactly {total} {unit}, and in how many ways?",
                f"Find all $x, y \\ge 0$ with ${a}x + {b}y = {total}$. I can find *one* solution by trying, but how do I know that I have all of them?",
                f"With {thing} of {a} and {b} {unit}, which totals are impossible? I'm especially interested in {total}, but I'd like to understand the general rule too.",
            )
            + "\n\n"
            + w.say(
                f"For {unit} below {a} it is clearly impossible, and somewhere further up everything seems to become possible.",
                "I'm looking for a method, not for a program.",
                "A program is fine as well, I want to check a result.",
            )
        )
        inv = pow(a, -1, b)
        x0 = total * inv % b
        body = (
            w.say(
                f"Look at the equation modulo {b}. The term ${b}y$ disappears and leaves",
                f"Get rid of one unknown by reducing modulo {b}:",
                f"As $\\gcd({a},{b}) = 1$, there are always solutions in *integers*. To find them, calculate modulo {b}:",
            )
            + f"\n\n$${a}x \\equiv {total} \\equiv {total % b} \\pmod{{{b}}}.$$\n\nThe inverse of {a} is {inv}, because ${a}\\cdot{inv} = {a * inv} = {a * inv // b}\\cdot{b} + 1$. Hence $x \\equiv {inv}\\cdot{total % b} = {inv * (total % b)} \\equiv {x0} \\pmod{{{b}}}$. So $x$ is one of {x0}, {x0 + b}, {x0 + 2 * b}, …, and each determines $y = ({total} - {a}x)/{b}$ as long as that isn't negative:\n\n"
            + table(["$x$", "$y$", f"${a}x$", f"${b}y$"], [[x, y, a * x, b * y] for x, y in pairs], "rrrr")
            + "\n\n"
            + w.say(
                f"That makes {len(pairs)} way{'s' if len(pairs) > 1 else ''}, and there can't be more.",
                f"From one line to the next, {b} {thing} of one kind are exchanged for {a} of the other.",
                "The table ends where $y$ would become negative.",
            )
        )
        impossible = [
            n for n in range(1, largest + 1) if not any((n - a * x) % b == 0 for x in range(n // a + 1))
        ]
        frob = w.say(
            "About the general rule:", "To complete the picture:", "The question behind the question is known as the *Frobenius problem*:",
        ) + f" the largest total that can't be made from two coprime numbers is $ab - a - b$, here ${a}\\cdot{b} - {a} - {b} = {largest}$, and exactly $\\frac{{(a-1)(b-1)}}{{2}} = {(a - 1) * (b - 1) // 2}$ totals are impossible. You can verify it:\n\n" + fence("py", f"""
a, b = {a}, {b}
possible = {{a * x + b * y for x in range(b + 1) for y in range(a + 1)}}
missing = [n for n in range(1, a * b) if n not in possible]
print(len(missing), "impossible, the largest is", missing[-1])
print(missing{"[-8:]" if len(impossible) > 20 else ""})
""") + "\n\n" + w.say(
            f"So {total} is on the safe side.", f"Since ${total} > {largest}$, you needn't worry.", "For three kinds there is no such simple formula.",
        )  # fmt: skip
        yield w.thread(
            w.title(f"Making {total} from {a}s and {b}s", f"All non-negative solutions of ${a}x + {b}y = {total}$",
                  f"Which totals can be made with {thing} of {a} and {b} {unit}?"),
            ["diophantine-equations", "elementary-number-theory", rng.choice(["puzzle", "word-problem"])], question, body, frob,
        )  # fmt: skip
