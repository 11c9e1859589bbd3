"""Articles on musical intervals and on positional numeral systems."""

from __future__ import annotations

from fractions import Fraction
from math import log2

from wikibuild.arithmetic import fraction_digits, in_base
from wikibuild.phrasing import Voice, in_words, listed, table
from wikibuild.record import Source

PITCHES = ("C", "C♯/D♭", "D", "D♯/E♭", "E", "F", "F♯/G♭", "G", "G♯/A♭", "A", "A♯/B♭", "B", "C")
INTERVALS = {
    "Minor second": (1, Fraction(16, 15), Fraction(256, 243), "dissonant", "In a major scale it separates the third step from the fourth and the seventh from the eighth; the latter, the leading note, draws the melody home."),
    "Major second": (2, Fraction(9, 8), Fraction(9, 8), "dissonant", "Most melodies move chiefly by this step. Just intonation knows two sizes of it, the greater tone 9:8 and the lesser 10:9, whose difference is the [[syntonic comma]]."),
    "Minor third": (3, Fraction(6, 5), Fraction(32, 27), "an imperfect consonance", "It stands between root and third of the [[minor chord]]. Calling voices in many languages fall by about this interval."),
    "Major third": (4, Fraction(5, 4), Fraction(81, 64), "an imperfect consonance", "It is the lower interval of the [[major chord]]. In [[quarter-comma meantone]] tuning it is pure, at the price of narrowed fifths."),
    "Perfect fourth": (5, Fraction(4, 3), Fraction(4, 3), "a perfect consonance, though treated as dissonant above a bass", "The strings of the double bass are tuned in fourths, and so are those of the guitar but for one pair."),
    "Tritone": (6, Fraction(45, 32), Fraction(729, 512), "dissonant", "It spans three whole tones and divides the octave into two equal parts. Theorists of the eighteenth century called it ''diabolus in musica''. In the [[dominant seventh chord]] it resolves by contrary motion."),
    "Perfect fifth": (7, Fraction(3, 2), Fraction(3, 2), "a perfect consonance", "After the octave it is the simplest interval. Strings of the violin are tuned in fifths, and twelve of them in a row make up the [[circle of fifths]]."),
    "Minor sixth": (8, Fraction(8, 5), Fraction(128, 81), "an imperfect consonance", "As the inversion of the major third it appears in chords of the sixth and as an expressive leap."),
    "Major sixth": (9, Fraction(5, 3), Fraction(27, 16), "an imperfect consonance", "It is the upper limit of what most untrained voices leap with ease."),
    "Minor seventh": (10, Fraction(9, 5), Fraction(16, 9), "dissonant", "It gives the dominant seventh chord its name. The seventh partial of a natural horn, 7:4, is about a third of a semitone flatter than it."),
    "Major seventh": (11, Fraction(15, 8), Fraction(243, 128), "dissonant", "Only a semitone short of the octave, it is rare in melody and common in the chords of jazz."),
    "Octave": (12, Fraction(2, 1), Fraction(2, 1), "a perfect consonance", "Notes an octave apart are heard as the same note in another register, and in most systems of notation they bear the same name."),
}  # fmt: skip
INVERSIONS = {s: n for n, (s, *_) in INTERVALS.items()} | {0: "Unison"}
BASES = {
    2: "Binary number",
    3: "Ternary numeral system",
    8: "Octal",
    12: "Duodecimal",
    16: "Hexadecimal",
    60: "Sexagesimal",
}
BASE_NOTES = {
    2: "[[Gottfried Wilhelm Leibniz]] described the system in 1703 and compared it with the hexagrams of the ''[[I Ching]]'' ({{lang|zh|易經}}). Since a switch is either open or closed, all modern computers reckon in base two.",
    3: "With the digits −1, 0 and 1, the ''balanced'' form needs no sign for negative numbers. The Soviet computer [[Setun]] of 1958 worked with it. Of all integer bases three is the most economical, being nearest to the number <math>e</math>.",
    8: "A digit stands for three bits. Octal was common on computers whose word length was a multiple of three, and it lives on in the file permissions of Unix.",
    12: "Twelve can be divided by 2, 3, 4 and 6. Dozens, inches to the foot and the pence of the old English shilling keep the memory of counting by twelve.",
    16: "A digit stands for four bits and two of them for a byte, which makes long binary numbers readable. Colours on web pages are written as three pairs of hexadecimal digits.",
}


def cents(ratio: Fraction) -> float:
    """The size of an interval in hundredths of a semitone."""
    return 1200 * log2(ratio)


def interval(title: str) -> Source:
    """The article on one interval."""
    semitones, just, pythagorean, quality, note = INTERVALS[title]
    voice = Voice(title)
    low = title.lower()
    tempered = semitones * 100
    article = "An" if low[0] in "aeiou" else "A"
    lead = voice.say(
        f"{article} '''{low}''' is a [[Interval (music)|musical interval]] of {in_words(semitones)} semitone{'s' if semitones > 1 else ''}. It is counted as {quality}.",
        f"In [[music theory]], the '''{low}''' is the interval between two notes that lie {in_words(semitones)} semitone{'s' if semitones > 1 else ''} apart, such as C and {PITCHES[semitones]}. In common practice it is {quality}.",
    )
    difference = cents(just) - tempered
    sign = "narrower" if difference > 0 else "wider"
    size = f'In [[just intonation]] its two notes have the frequency ratio {just.numerator}:{just.denominator}, or\n\n<math display="block">1200 \\log_2 \\frac{{{just.numerator}}}{{{just.denominator}}} \\approx {cents(just):.2f}</math>\n\n[[Cent (music)|cents]]. '
    size += (
        "In equal temperament it has the same size."
        if abs(difference) < 0.005
        else voice.say(
            f"In [[equal temperament]] the ratio is <math>2^{{{semitones}/12}} \\approx {2 ** (semitones / 12):.5f}</math>, that is {tempered} cents; the tempered interval is {sign} than the just one by {abs(difference):.2f} cents.",
            f"The tempered interval of {tempered} cents, with the ratio <math>2^{{{semitones}/12}}</math>, is {abs(difference):.2f} cents {sign}.",
        )
    )
    if pythagorean != just:
        size += voice.say(
            f" The [[Pythagorean tuning]], which knows only fifths and octaves, has {pythagorean.numerator}:{pythagorean.denominator} instead ({cents(pythagorean):.2f} cents).",
            f" Stacked from pure fifths it comes to {pythagorean.numerator}:{pythagorean.denominator}, about {cents(pythagorean):.1f} cents.",
        )
    beats = abs(220 * 2 ** (semitones / 12) * just.denominator - 220 * just.numerator)
    sound = voice.say(
        f"Above the A of 220 hertz the upper note has {float(220 * just):.2f} Hz when tuned purely and {220 * 2 ** (semitones / 12):.2f} Hz in equal temperament.",
        f"With a lower note of 220 Hz the upper one sounds at {220 * 2 ** (semitones / 12):.2f} Hz on a tempered instrument, {float(220 * just):.2f} Hz in pure tuning; partials that ought to agree then beat about {beats:.1f} times a second.",
    )
    inverse = INVERSIONS[12 - semitones]
    inversion = voice.say(
        f"Turned upside down it becomes the [[{inverse.lower()}]]: the two add up to an octave, and their ratios multiply to two.",
        f"Its [[Inversion (music)|inversion]] is the [[{inverse.lower()}]].",
    )
    rows = [[PITCHES[i], PITCHES[(i + semitones) % 12]] for i in range(12)]
    pairs = table(f"The {low} from every note", ["Lower note", "Upper note"], rows, "text-align:center")
    sizes = table(
        "Sizes",
        ["Tuning", "Ratio", "Cents"],
        [
            ["Just", f"{just.numerator}:{just.denominator}", f"{cents(just):.3f}"],
            [
                "Pythagorean",
                f"{pythagorean.numerator}:{pythagorean.denominator}",
                f"{cents(pythagorean):.3f}",
            ],
            ["Equal temperament", f"2<sup>{semitones}/12</sup>:1", f"{tempered:.3f}"],
        ],
    )
    parts = voice.order([f"== Use ==\n{note}", f"== Inversion ==\n{inversion}", f"== Sound ==\n{sound}"])
    box = f"{{{{Infobox interval\n|name={title}\n|Inverse=[[{inverse}]]\n|Semitones={semitones}\n|Just ratio={just.numerator}:{just.denominator}\n|Cents={tempered} (tempered), {cents(just):.1f} (just)\n}}}}"
    return Source(
        title,
        f"{box}\n{lead}\n\n== Size ==\n{size}\n\n{sizes}\n\n"
        + "\n\n".join(parts)
        + f"\n\n== Table ==\n{pairs}\n\n== See also ==\n* [[Circle of fifths]]\n\n[[Category:Intervals (music)]]",
    )


def numeral_system(base: int) -> Source:
    """The article on one positional system."""
    title = BASES[base]
    voice = Voice(title)
    name = title.lower()
    lead = voice.say(
        f"'''{title}''' notation is a [[positional numeral system]] with the base {in_words(base)}.",
        f"The '''{name.removesuffix(' number').removesuffix(' numeral system')}''' system represents numbers by powers of {in_words(base)}.",
    )
    rule = (
        f'A string of digits <math>d_k \\ldots d_1 d_0</math> stands for\n\n<math display="block">\\sum_{{i=0}}^{{k}} d_i \\cdot {base}^i .</math>\n\nThe year 2024, for instance, is written {{{{math|1={in_base(2024, base)}<sub>{base}</sub>}}}}, since '
        + " + ".join(
            f"{int(d, 36)} × {base}<sup>{len(in_base(2024, base)) - 1 - i}</sup>"
            for i, d in enumerate(in_base(2024, base))
            if d != "0"
        )
        + " = 2024."
    )
    size = min(base, 16)
    header = ["×", *[in_base(k, base) for k in range(1, size)]] if base > 2 else ["×", "1", "10", "11"]
    numbers = range(1, size) if base > 2 else range(1, 4)
    products = table(
        f"Multiplication in base {base}",
        header,
        [[f"'''{in_base(i, base)}'''", *[in_base(i * j, base) for j in numbers]] for i in numbers],
    )
    rows = []
    for denominator in range(2, 17):
        once, cycle = fraction_digits(1, denominator, base)
        shown = f"0.{once}" + (f'<span style="text-decoration:overline">{cycle}</span>' if cycle else "")
        rows.append([f"{{{{frac|1|{denominator}}}}}", shown, "ends" if not cycle else f"period {len(cycle)}"])
    fractions = table(f"Fractions in base {base}", ["Fraction", "Digits", "Kind"], rows, "text-align:left")
    ends = [str(d) for d in range(2, 17) if not fraction_digits(1, d, base)[1]]
    about = voice.say(
        f"A fraction in lowest terms ends in this system exactly when every prime that divides its denominator divides {base} as well. Among the denominators up to 16 this is so for {listed(ends)}; the others give digits that repeat for ever.",
        f"Of the unit fractions down to one sixteenth, those with the denominators {listed(ends)} have a finite expansion. In the table the repeating digits are overlined.",
    )
    return Source(
        title,
        f"{lead} {voice.say('Like every such system it needs as many digits as its base, zero included.', f'It uses {in_words(base)} different digits.')}\n\n== Place value ==\n{rule}\n\n== Arithmetic ==\nAddition and multiplication follow the same rules as in the [[decimal]] system, with carries at {in_words(base)} instead of ten.\n\n{products}\n\n== Fractions ==\n{about}\n\n{fractions}\n\n== {voice.say('History and use', 'Use')} ==\n{BASE_NOTES[base]}\n\n[[Category:Positional numeral systems]]",
        (f"Base {base}",),
    )
