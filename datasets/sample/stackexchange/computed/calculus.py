"""Sequences and integrals: linear recurrences, areas under polynomials."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction

from computed.wording import Wording, fence, frac, polynomial, signed


def recurrences(rng: random.Random) -> Iterator[str]:
    """Linear recurrences of second order with integer roots."""
    w = Wording(rng)
    for r, s, alpha, beta in [
        (2, 3, 1, 1),
        (-1, 2, 1, 2),
        (1, 4, 3, 1),
        (-2, 3, 1, 1),
        (2, 5, -1, 1),
        (-1, 4, 2, 1),
        (3, 4, 2, -1),
    ]:
        p, q = r + s, -r * s
        terms = [alpha * r**n + beta * s**n for n in range(8)]
        relation = f"a_{{n+2}} = {'' if p == 1 else p}a_{{n+1}} {signed(q) if abs(q) != 1 else ('+' if q > 0 else '-')} a_n"
        question = w.opening(
            f"A sequence begins with {terms[0]}, {terms[1]} and goes on by ${relation}$. Is there a formula for $a_n$, so that I don't have to go through all the terms before?",
            f"I'm given $a_0 = {terms[0]}$, $a_1 = {terms[1]}$ and ${relation}$. The next terms are {', '.join(map(str, terms[2:6]))}. I'm asked for a closed form and don't know how one can *find* such a thing.",
            f'How does one solve ${relation}$ with $a_0 = {terms[0]}$ and $a_1 = {terms[1]}$? I\'ve seen a solution that begins "let $a_n = x^n$" and it felt like cheating.',
        )
        rt, st = (f"({n})" if n < 0 else str(n) for n in (r, s))
        characteristic = polynomial([1, -p, -q])
        answer = (
            w.say(
                "It is an inspired guess, and the justification is that it works.",
                "Start with a guess: sequences like this grow like powers.",
                "Forget the initial values at first and look for *any* solutions.",
            )
            + f" Put $a_n = x^n$ into the recurrence and divide by $x^n$:\n\n$$x^2 = {polynomial([p, q])} \\quad\\Longleftrightarrow\\quad {characteristic} = 0 .$$\n\nThe solutions are $x = {r}$ and $x = {s}$, since ${r} + {st} = {p}$ and ${rt}\\cdot {st} = {r * s}$. So ${rt}^n$ and ${st}^n$ both satisfy the recurrence, and because it is linear, so does every combination $\\alpha\\, {rt}^n + \\beta\\, {st}^n$. "
            + w.say(
                "Now the initial values decide which one it is:",
                "Two free constants, two initial values:",
                "It remains to fit the beginning:",
            )
            + f"\n\n\\begin{{align}}\n\\alpha + \\beta &= {terms[0]} \\\\\n{r if abs(r) != 1 else str(r)[:-1]}\\alpha + {s}\\beta &= {terms[1]}\n\\end{{align}}\n\nwith the solution $\\alpha = {alpha}$, $\\beta = {beta}$. "
            + w.say(
                f"For instance $a_5 = {terms[5]}$ both ways.",
                f"In the long run the term with ${s}^n$ dominates, so $a_{{n+1}}/a_n \\to {s}$.",
                "Uniqueness is clear, as two values determine all that follow.",
            )
        )
        code = w.say("A check never hurts:", "Let's compare the formula with the recurrence:", "Trust, but verify:") + "\n\n" + fence("py", f"""
a = [{terms[0]}, {terms[1]}]
while len(a) < 10:
    a.append({p} * a[-1] {'+' if q > 0 else '-'} {abs(q)} * a[-2])
print(a)
print([{alpha} * {rt}**n + {beta} * {s}**n for n in range(10)])
""") + "\n\n" + w.say(
            f"If the two roots coincided, say both were {s}, you would have to take ${s}^n$ and $n\\cdot{s}^n$ instead.",
            "The same method gives Binet's formula for the Fibonacci numbers, with uglier roots.",
            "Matrices explain why this works: the roots are the eigenvalues of the step from one pair of neighbours to the next.",
        )  # fmt: skip
        yield w.thread(
            w.title(f"Closed form of a sequence that starts {', '.join(map(str, terms[:5]))}", f"Solving ${relation}$", f"Why may I assume $a_n = x^n$ in ${relation}$?"),
            ["recurrence-relations", "sequences-and-series"], question, answer, code,
        )  # fmt: skip


def integrals(rng: random.Random) -> Iterator[str]:
    """Areas under polynomials, checked by Simpson's rule."""
    w = Wording(rng)
    for _ in range(7):
        coefficients = [
            rng.choice([-2, -1, 1, 2, 3]),
            rng.randrange(-5, 6),
            rng.choice([-4, -3, 3, 5]),
            rng.randrange(1, 9),
        ]
        low, high = rng.choice([(0, 2), (-1, 1), (1, 3), (0, 3), (-2, 1), (1, 4)])
        primitive = [Fraction(c, 4 - i) for i, c in enumerate(coefficients)] + [Fraction(0)]

        def value(coefs: list[Fraction] | list[int], x: int | Fraction) -> Fraction:
            out = Fraction(0)
            for c in coefs:
                out = out * x + c
            return out

        f, capital = polynomial(coefficients), polynomial(primitive)
        top, bottom = value(primitive, high), value(primitive, low)
        middle = Fraction(low + high, 2)
        decimal = "" if (top - bottom).denominator == 1 else rf" \approx {float(top - bottom):.4f}"
        question = w.opening(
            f"I computed $\\int_{{{low}}}^{{{high}}} ({f})\\,dx$ twice and got two different results. Could someone show me the steps?",
            f"What is the area between the $x$-axis and $f(x) = {f}$ from $x = {low}$ to $x = {high}$? I'm not sure about the signs when I insert the lower limit.",
            f"How can I check the integral of ${f}$ over $[{low}, {high}]$ without having the solution?",
        ) + w.say(
            " I need it for a longer calculation, where an error would be expensive.",
            " It's not homework, I'm 54.",
            "",
        )
        answer = (
            w.say(
                "Integrate term by term, $x^k \\mapsto \\frac{x^{k+1}}{k+1}$:",
                "An antiderivative first, the numbers later:",
                "Keep the two limits apart until the very end:",
            )
            + f"\n\n$$F(x) = {capital}.$$\n\nThen\n\n\\begin{{align}}\nF({high}) &= {frac(top)} \\\\\nF({low}) &= {frac(bottom)} \\\\\n\\int_{{{low}}}^{{{high}}} f(x)\\,dx &= F({high}) - F({low}) = {frac(top - bottom)}{decimal}\n\\end{{align}}\n\n"
            + w.say(
                "Put each value of $F$ in parentheses before you subtract. This avoids nine out of ten sign errors.",
                "Mind that this is the *signed* area. Parts below the axis count as negative.",
                "Differentiate $F$ in your head; if $f$ comes out, only arithmetic can be wrong.",
            )
        )
        fl, fm, fh = (value(coefficients, x) for x in (Fraction(low), middle, Fraction(high)))
        simpson = w.say("An independent check:", "Here's a check that many don't know:", "You can verify it with three function values:") + f" **Simpson's rule** is *exact* for polynomials up to degree 3. With the midpoint $m = {frac(middle)}$,\n\n$$\n\\int_a^b f = \\frac{{b-a}}{{6}}\\bigl(f(a) + 4f(m) + f(b)\\bigr) = \\frac{{{high - low}}}{{6}}\\left({frac(fl)} + 4\\cdot{frac(fm) if fm >= 0 else '(' + frac(fm) + ')'} {signed(fh)}\\right) = {frac(Fraction(high - low, 6) * (fl + 4 * fm + fh))} .\n$$\n\n" + w.say("It has to agree to the last digit, and it does.", "No antiderivative needed.", "If the two results differ, one of them contains a slip.")  # fmt: skip
        yield w.thread(
            w.title(f"$\\int_{{{low}}}^{{{high}}} ({f})\\,dx$, two results", f"Area under ${f}$ between {low} and {high}", f"Checking the integral of ${f}$ from {low} to {high}"),
            ["calculus", "integration", rng.choice(["definite-integrals", "numerical-methods"])], question, answer, simpson,
        )  # fmt: skip
