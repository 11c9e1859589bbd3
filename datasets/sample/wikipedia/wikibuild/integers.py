"""Articles on integers: factors, figurate numbers, notations, neighbours."""

from __future__ import annotations

from math import isqrt

from wikibuild import arithmetic as ar
from wikibuild.phrasing import Voice, in_words, listed, ordinal, table
from wikibuild.record import Source

NUMBERS = (
    12, 15, 17, 18, 21, 23, 24, 25, 28, 30, 36, 37, 41, 42, 48, 52, 55, 60, 64, 72, 73, 81, 84, 88, 91, 97, 100, 101, 120, 127, 128, 144, 153, 169, 210, 220, 256, 284, 341, 360, 365, 496, 561, 666, 720, 945, 1000, 1089, 1729,
)  # fmt: skip
NOTES = {
    15: "The numbers from 1 to 9 can be set in a square so that all rows, columns and diagonals add up to fifteen; this is the Chinese ''[[Lo Shu Square|Lo Shu]]'' ({{lang|zh|洛書}}). The [[15 puzzle]] has fifteen sliding tiles.",
    18: "It is, apart from zero, the only number that is twice the sum of its digits.",
    21: "Twenty-one is the smallest number of different squares into which a square can be divided; the dissection was found in 1978. A common die has 21 spots.",
    23: "Among 23 people the odds are better than even that two share a birthday. In 1900 [[David Hilbert]] drew up a list of 23 problems.",
    25: "As <math>25 = 3^2 + 4^2</math> is itself a square, it belongs to the smallest [[Pythagorean triple]].",
    37: "Every number of three equal digits is a multiple of 37: <math>111 = 3 \\times 37</math>.",
    48: "The symmetries of a cube, reflections included, number 48. The preludes and fugues of ''The Well-Tempered Clavier'' are known as \"the 48\".",
    52: "A year has 52 weeks and one or two days. A pack of French playing cards has 52 cards in four suits.",
    81: "It is the only number except 0 and 1 whose square root is the sum of its digits: <math>\\sqrt{81} = 8 + 1</math>. The fraction <math>1/81</math> has the digits 0.012345679 repeated.",
    88: "A modern piano has 88 keys, and the sky is divided into 88 constellations.",
    101: "It is the smallest prime of three digits and reads the same from both ends.",
    128: "It is the largest number that is not the sum of different squares.",
    365: "A common year has 365 days. As it happens, <math>365 = 10^2 + 11^2 + 12^2 = 13^2 + 14^2</math>.",
    12: "There are twelve months in the year, and a clock face is divided into twelve hours. Twelve of a thing make a [[dozen]], and a dozen dozen a [[144 (number)|gross]].",
    17: "The regular heptadecagon can be drawn with compass and straightedge, as [[Carl Friedrich Gauss]] found in 1796 at the age of eighteen. There are exactly seventeen [[wallpaper group]]s.",
    28: "In the [[Gregorian calendar]] the days of the week fall on the same dates again after 28 years, unless a century year without leap day comes between.",
    30: "Thirty is the largest integer such that every smaller integer greater than one and prime to it is itself a prime.",
    36: "A pair of dice can fall in 36 ways.",
    41: "[[Leonhard Euler|Euler]] observed that the polynomial <math>n^2 + n + 41</math> takes prime values for <math>n = 0, 1, \\ldots, 39</math>.",
    42: "A primary [[rainbow]] has a radius of about 42 degrees. Of the numbers below one hundred that are sums of three integer cubes, it was the last for which such cubes were found; the solution was announced in 2019.",
    55: "Fifty-five is the largest [[Fibonacci number]] that is also a [[triangular number]].",
    60: "The hour has sixty minutes and the minute sixty seconds, an inheritance from the [[sexagesimal]] reckoning of Babylonia.",
    64: "A chessboard has 64 squares. The number of codons of the [[genetic code]], words of three letters over an alphabet of four, is <math>4^3 = 64</math>.",
    73: "Read backwards in decimal, 73 gives 37; the former is the 21st prime and the latter the twelfth.",
    91: "Ninety-one looks like a prime to many people. It is a [[square pyramidal number]], <math>1 + 4 + 9 + 16 + 25 + 36</math>.",
    100: "The decimal system makes one hundred a natural unit: a [[per cent]] is a hundredth part. It is the sum of the first four cubes, <math>1 + 8 + 27 + 64</math>.",
    120: "There are 120 ways to put five things in a row. The 600-cell has 120 vertices.",
    127: "As <math>2^7 - 1</math>, 127 is a [[Mersenne prime]].",
    144: "It is the largest square among the Fibonacci numbers. A [[dozen]] dozen is a gross.",
    153: "The sum of the cubes of its digits is the number itself: <math>1^3 + 5^3 + 3^3 = 153</math>.",
    169: "It is the square of thirteen, and reversing the digits of both gives again a square and its root: <math>961 = 31^2</math>.",
    210: "It is the product of the first four primes, <math>2 \\times 3 \\times 5 \\times 7</math>.",
    220: "220 and [[284 (number)|284]] are the smallest pair of [[amicable numbers]]: the proper divisors of each add up to the other.",
    256: "An eight-bit [[byte]] can take 256 values.",
    284: "284 and [[220 (number)|220]] are the smallest pair of [[amicable numbers]], known since antiquity.",
    341: "It is the smallest composite number that passes [[Fermat's little theorem|Fermat's test]] for the base 2.",
    360: "A full turn is divided into 360 degrees, probably because the number is close to that of the days in a year and has many divisors.",
    496: "The dimension of the Lie group SO(32), <math>32 \\times 31 / 2 = 496</math>, has given this perfect number a place in string theory.",
    561: "It is the smallest [[Carmichael number]]: <math>a^{560} \\equiv 1 \\pmod{561}</math> for every <math>a</math> prime to it.",
    720: "It is the factorial of six, and also the product <math>8 \\times 9 \\times 10</math>.",
    24: "The day has 24 hours. Apart from 0 and 1 it is the only number <math>n</math> for which the sum of the first <math>n</math> squares is itself a square: <math>1^2 + 2^2 + \\cdots + 24^2 = 70^2</math>.",
    72: "Money at an interest of <math>p</math> per cent doubles in about <math>72 / p</math> years; this is the [[rule of 72]].",
    666: "It is the sum of all numbers from 1 to 36, which are those of a roulette wheel, and the sum of the squares of the first seven primes.",
    1000: "A thousand is the base of the prefixes of the [[International System of Units]], from milli to kilo and beyond.",
    1089: "Take a number of three digits whose first and last differ by at least two, subtract its reversal and add the reversal of the result: one always obtains 1089.",
    1729: "[[Srinivasa Ramanujan]] told [[G. H. Hardy]], who had come in a cab of this number, that it is the smallest one that is a sum of two positive cubes in two ways: <math>1^3 + 12^3 = 9^3 + 10^3</math>.",
    945: "It is the smallest odd [[abundant number]].",
}


def _product(number: int) -> str:
    return r" \times ".join(f"{p}^{{{e}}}" if e > 1 else str(p) for p, e in ar.factors(number))


def _kind(number: int) -> tuple[str, int]:
    total = sum(ar.divisors(number)[:-1])
    word = "perfect" if total == number else "abundant" if total > number else "deficient"
    return word, total


def _figures(number: int) -> list[str]:
    found = []
    for sides, name in (
        (3, "triangular"),
        (4, "square"),
        (5, "pentagonal"),
        (6, "hexagonal"),
        (7, "heptagonal"),
        (8, "octagonal"),
    ):
        for k in range(2, number):
            value = ((sides - 2) * k * k - (sides - 4) * k) // 2
            if value >= number:
                if value == number:
                    found.append(f"the {ordinal(k)} [[{name} number]]")
                break
    return found


def _divisor_paragraph(voice: Voice, n: int) -> str:
    divisors, (kind, total) = ar.divisors(n), _kind(n)
    if ar.is_prime(n):
        index = sum(ar.is_prime(k) for k in range(2, n + 1))
        before = max(k for k in range(2, n) if ar.is_prime(k))
        after = next(k for k in range(n + 1, 2 * n) if ar.is_prime(k))
        twin = (
            ""
            if 2 not in (n - before, after - n)
            else f" Together with {before if n - before == 2 else after} it forms a pair of [[twin prime]]s."
        )
        return voice.say(
            f"{n} is the {ordinal(index)} [[prime number]], between {before} and {after}.{twin}",
            f"The number is prime; it is preceded among the primes by {before} and followed by {after}, and it is the {ordinal(index)} of them.{twin}",
            f"Among the [[prime number]]s it takes place number {index}. Its neighbours there are {before} and {after}.{twin}",
        )
    shown = listed([str(d) for d in divisors])
    first = voice.say(
        f"{n} has {in_words(len(divisors))} divisors, namely {shown}.",
        f"Its divisors are {shown}: {in_words(len(divisors))} in all.",
        f"The {in_words(len(divisors))} divisors of {n} are {shown}.",
    )
    second = voice.say(
        f"Without the number itself they add up to {total}, which makes {n} {'an' if kind[0] == 'a' else 'a'} [[{kind} number]].",
        f"Since the proper ones have the sum {total}, the number is ''{kind}''.",
        f"The sum <math>\\sigma({n})</math> of all of them is {total + n}; the number is therefore [[{kind} number|{kind}]].",
    )
    return f"{first} {second}"


def _totient_paragraph(voice: Voice, n: int) -> str:
    phi = ar.totient(n)
    steps = " ".join(f"\\left(1 - \\frac{{1}}{{{p}}}\\right)" for p, _ in ar.factors(n))
    return voice.say(
        f'[[Euler\'s totient function]] has the value\n\n<math display="block">\\varphi({n}) = {n} {steps} = {phi}.</math>\n\nSo many of the numbers from 1 to {n} have no factor in common with it.',
        f"Of the integers up to {n}, {phi} are prime to it: <math>\\varphi({n}) = {n} {steps} = {phi}</math>.",
        f"A fraction with the denominator {n} is in lowest terms for <math>\\varphi({n}) = {phi}</math> numerators between 1 and {n}.",
    )


def _squares_paragraph(voice: Voice, n: int) -> str:
    ways = ar.two_squares(n)
    if not ways:
        bad = next(p for p, e in ar.factors(n) if p % 4 == 3 and e % 2)
        return voice.say(
            f"It is not the sum of two squares, because the prime {bad}, which leaves the remainder 3 on division by 4, divides it to an odd power.",
            f"By the [[sum of two squares theorem]], {n} cannot be written as <math>a^2 + b^2</math>: the prime {bad} stands in the way.",
        )
    shown = listed([f"<math>{a}^2 + {b}^2</math>" for a, b in ways])
    return voice.say(
        f"It can be written as a sum of two squares: {shown}.", f"As a sum of two squares it equals {shown}."
    )


def _collatz_paragraph(voice: Voice, n: int) -> str:
    path = ar.collatz(n)
    start = " → ".join(map(str, path[: min(12, len(path))]))
    more = " → …" if len(path) > 12 else ""
    return voice.say(
        f"Under the [[Collatz conjecture|Collatz rule]] the number reaches 1 after {len(path) - 1} steps, and climbs to {max(path):,} on the way: {start}{more}",
        f"Its Collatz trajectory, {start}{more}, has {len(path) - 1} steps and a peak of {max(path):,}.",
    )


def _partition_paragraph(voice: Voice, n: int) -> str:
    if n > 130:
        return ""
    count = f"{ar.partitions(n):,}"
    return voice.say(
        f"There are {count} [[Partition (number theory)|partitions]] of {n}, that is, ways of writing it as a sum of positive integers without regard to order.",
        f"The number of its partitions is <math>p({n}) =</math> {count}.",
    )


def _notation(n: int) -> str:
    digits = str(n)
    rows = [[f"base {b}" + (f" ([[{name}]])" if name else ""), ar.in_base(n, b)]
            for b, name in ((2, "Binary number"), (3, "Ternary numeral system"), (5, ""), (8, "Octal"), (12, "Duodecimal"), (16, "Hexadecimal"), (20, ""), (36, ""))]  # fmt: skip
    rows += [
        ["[[Roman numerals]]", ar.roman(n)],
        ["[[Chinese numerals]]", f"{{{{lang|zh|{ar.chinese(n)}}}}}"],
        [
            "[[Eastern Arabic numerals]]",
            f"{{{{lang|ar|{digits.translate(str.maketrans('0123456789', '٠١٢٣٤٥٦٧٨٩'))}}}}}",
        ],
        [
            "[[Devanagari numerals]]",
            f"{{{{lang|hi|{digits.translate(str.maketrans('0123456789', '०१२३४५६७८९'))}}}}}",
        ],
        ["[[Hebrew numerals]]", f"{{{{lang|he|{ar.hebrew(n)}}}}}"],
        [
            "[[Thai numerals]]",
            f"{{{{lang|th|{digits.translate(str.maketrans('0123456789', '๐๑๒๓๔๕๖๗๘๙'))}}}}}",
        ],
    ]
    return table(f"The number {n} in other notations", ["System", "Form"], rows, "text-align:left")


def _powers(voice: Voice, n: int) -> str:
    lead = voice.say(
        f"Some powers and roots of {n}:",
        "The first powers, with roots for comparison:",
        f"For reference, powers of {n} are",
    )
    powers = [f"<math>{n}^{k} = {n**k:,}</math>".replace(",", "{,}") for k in (2, 3, 4)]
    root = isqrt(n)
    square = f"\\sqrt{{{n}}} = {root}" if root * root == n else f"\\sqrt{{{n}}} \\approx {n**0.5:.5f}"
    cube = round(n ** (1 / 3))
    third = f"\\sqrt[3]{{{n}}} = {cube}" if cube**3 == n else f"\\sqrt[3]{{{n}}} \\approx {n ** (1 / 3):.5f}"
    return (
        lead
        + "\n\n"
        + "\n".join(f"* {line}" for line in [*powers, f"<math>{square}</math>", f"<math>{third}</math>"])
    )


def article(n: int) -> Source:
    """The article on one integer."""
    title = f"{n} (number)"
    voice = Voice(title)
    words = in_words(n)
    product = _product(n)
    rows = [f"|Cardinal={words}", f"|Ordinal={ordinal(n)}", f"|Factorization={'prime' if ar.is_prime(n) else f'<math>{product}</math>'}",
            f"|Divisors={len(ar.divisors(n))}", f"|Roman numeral={ar.roman(n)}", f"|Binary={ar.in_base(n, 2)}<sub>2</sub>"]  # fmt: skip
    lead = voice.say(
        f"'''{n}''' ('''{words}''') is the [[natural number]] following [[{n - 1} (number)|{n - 1}]] and preceding [[{n + 1} (number)|{n + 1}]].",
        f"'''{n}''', in words '''{words}''', is an [[integer]], greater by one than {n - 1} and smaller by one than {n + 1}.",
        f"The number '''{n}''' ('''{words}''') stands between {n - 1} and {n + 1} in the row of the [[natural number]]s.",
    )
    if not ar.is_prime(n):
        lead += voice.say(
            f" Its factorization into primes is <math>{product}</math>.",
            f" It is composite, with <math>{n} = {product}</math>.",
        )
    figures = _figures(n)
    facts = voice.order(
        [
            _divisor_paragraph(voice, n),
            _totient_paragraph(voice, n),
            _squares_paragraph(voice, n),
            _collatz_paragraph(voice, n),
            _partition_paragraph(voice, n),
            (
                voice.say("Laid out in dots, it is ", "Among the [[figurate number]]s it is ")
                + listed(figures)
                + "."
            )
            if figures
            else "",
        ]
    )
    head = voice.say("In mathematics", "Properties", "Arithmetic")
    sections = [f"== {head} ==\n" + "\n\n".join(facts)]
    if n in NOTES:
        sections.insert(
            voice.random.randint(0, 1),
            f"== {voice.say('Particulars', 'Where it occurs', 'Remarks')} ==\n{NOTES[n]}",
        )
    sections.append(f"== {voice.say('Powers', 'Powers and roots')} ==\n{_powers(voice, n)}")
    sections.append(f"== {voice.say('Notation', 'Other notations', 'In other scripts')} ==\n{_notation(n)}")
    body = (
        f"{{{{Infobox number\n|name={n}\n"
        + "\n".join(rows)
        + f"\n}}}}\n{lead}\n\n"
        + "\n\n".join(sections)
        + "\n\n[[Category:Integers]]"
    )
    redirects = (words.capitalize(), f"Number {n}") if n < 100 else (words.capitalize(),)
    return Source(title, body, redirects, bare=n % 5 == 1)
