"""Articles on regular polygons and on the five regular solids."""

from __future__ import annotations

from math import gcd, pi, radians, sin, sqrt, tan

from wikibuild import arithmetic as ar
from wikibuild.phrasing import Voice, in_words, listed, table
from wikibuild.record import Source

NAMES = {3: "Equilateral triangle", 4: "Square", 5: "Pentagon", 6: "Hexagon", 7: "Heptagon", 8: "Octagon", 9: "Nonagon", 10: "Decagon",
         11: "Hendecagon", 12: "Dodecagon", 13: "Tridecagon", 14: "Tetradecagon", 15: "Pentadecagon", 16: "Hexadecagon", 17: "Heptadecagon",
         18: "Octadecagon", 20: "Icosagon", 24: "Icositetragon"}  # fmt: skip
NOTES = {
    3: "Six of them meet around a point and tile the plane. The theorem that the three inner thirds of the angles of ''any'' triangle form an equilateral one is due to [[Frank Morley]] (1899).",
    4: "Four squares meet around a point. That no square can be drawn with compass and straightedge whose area is that of a given circle was shown by [[Ferdinand von Lindemann]] in 1882.",
    5: "Diagonal and side are in the ratio of the [[golden ratio|golden section]], <math>\\varphi = (1 + \\sqrt{5})/2</math>. The five diagonals form the pentagram, the badge of the Pythagoreans. Okra cut across and the star in an apple's core show fivefold order.",
    6: "Bees build cells with hexagonal openings. Among all divisions of the plane into cells of equal area, the hexagonal one has the least total length of wall; this ''honeycomb conjecture'' was proved by [[Thomas Hales]] in 1999.",
    7: "The heptagon is the regular polygon with the fewest sides that cannot be drawn with compass and straightedge, though it can with a marked ruler. British coins of twenty and fifty pence are heptagons with rounded sides.",
    8: "The octagon with corners cut from a square occurs in the plans of many baptisteries and in the stop sign. Octagons and squares together tile the plane.",
    9: "The drawing of a nonagon would need the trisection of an angle of 120°, which compass and straightedge cannot do.",
    10: "The side of a decagon is the radius of its circumscribed circle divided in the golden ratio.",
    12: "Dodecagons, hexagons and squares tile the plane together. The area of a dodecagon in a circle of radius one is exactly 3.",
    15: "Its construction is found in [[Euclid's Elements|Euclid]], Book IV, proposition 16, from an equilateral triangle and a pentagon in the same circle.",
    17: "The young [[Carl Friedrich Gauss|Gauss]] proved in 1796 that it can be constructed, the first advance in the matter for two thousand years.",
    24: "A triangle, an octagon and a 24-sided figure fit around a point, as <math>60^{\\circ} + 135^{\\circ} + 165^{\\circ} = 360^{\\circ}</math>, but no tiling of the whole plane results.",
}
SOLIDS = {
    "Tetrahedron": (4, 6, 4, 3, "triangle", "tetrahedron", r"\frac{a^3}{6\sqrt{2}}", 1 / (6 * sqrt(2)), r"\sqrt{3}\,a^2", 70.5288, "fire", "the molecule of [[methane]]"),
    "Cube": (8, 12, 6, 3, "square", "octahedron", r"a^3", 1.0, r"6 a^2", 90.0, "earth", "crystals of rock salt"),
    "Octahedron": (6, 12, 8, 4, "triangle", "cube", r"\frac{\sqrt{2}}{3}\,a^3", sqrt(2) / 3, r"2\sqrt{3}\,a^2", 109.4712, "air", "crystals of [[fluorite]] and [[diamond]]"),
    "Regular dodecahedron": (20, 30, 12, 3, "pentagon", "icosahedron", r"\frac{15 + 7\sqrt{5}}{4}\,a^3", (15 + 7 * sqrt(5)) / 4, r"3\sqrt{25 + 10\sqrt{5}}\,a^2", 116.5651, "the heavens", "Gallo-Roman bronze objects of unknown purpose"),
    "Regular icosahedron": (12, 30, 20, 5, "triangle", "dodecahedron", r"\frac{5(3 + \sqrt{5})}{12}\,a^3", 5 * (3 + sqrt(5)) / 12, r"5\sqrt{3}\,a^2", 138.1897, "water", "the shells of many [[virus]]es"),
}  # fmt: skip


def _constructible(n: int) -> bool:
    return all(e == 1 and p in (3, 5, 17, 257) for p, e in ar.factors(n) if p != 2)


def polygon(n: int) -> Source:
    """The article on the regular polygon with n sides."""
    title = NAMES[n]
    voice = Voice(title)
    low = title.lower()
    angle = 180 * (n - 2) / n
    area = n / (4 * tan(pi / n))
    diagonals = n * (n - 3) // 2
    article = "An" if title[0] in "EIO" else "A"
    lead = voice.say(
        f"{article} '''{low}''' is a [[polygon]] with {in_words(n)} sides and {in_words(n)} corners. This article deals mainly with the regular figure, in which all sides and all angles are equal.",
        f"In [[geometry]], the '''regular {low}''' is the figure bounded by {in_words(n)} equal sides that meet at equal angles."
        if n > 4
        else f"In [[geometry]], the '''{low}''' is the regular polygon with {in_words(n)} sides.",
        f"{article} '''{low}''' is a plane figure of {in_words(n)} sides. If the sides are of one length and the angles of one size, it is called ''regular''.",
    )
    angles = voice.say(
        f'The inner angles of a polygon with <math>n</math> sides add up to <math>(n-2) \\cdot 180^{{\\circ}}</math>. In the regular {low} each is therefore\n\n<math display="block">\\alpha = \\frac{{{n - 2}}}{{{n}}} \\cdot 180^{{\\circ}} = {angle:.6g}^{{\\circ}}.</math>\n\nThe angle at the centre over one side is <math>360^{{\\circ}} / {n} = {360 / n:.6g}^{{\\circ}}</math>.',
        f"Walking once around the figure one turns by 360° in all, hence by {360 / n:.6g}° at each corner. The inner angle is what is left of 180°, namely <math>{angle:.6g}^{{\\circ}}</math>.",
    )
    metric = voice.say(
        "With the side <math>a</math> the area is",
        "A figure of side length <math>a</math> covers the area",
        "The area, found by cutting the figure into triangles that meet in the centre, is",
    )
    metric += f'\n\n<math display="block">A = \\frac{{{n}}}{{4}} a^2 \\cot \\frac{{\\pi}}{{{n}}} \\approx {area:.5f} \\, a^2 .</math>\n\n'
    metric += voice.say(
        f"Its circumscribed circle has the radius <math>R = a / (2 \\sin(\\pi/{n})) \\approx {1 / (2 * sin(pi / n)):.5f}\\,a</math>, its inscribed circle the radius <math>r \\approx {1 / (2 * tan(pi / n)):.5f}\\,a</math>.",
        f"The corners lie on a circle of radius <math>R \\approx {1 / (2 * sin(pi / n)):.5f}\\,a</math>, and the middles of the sides on one of radius <math>r \\approx {1 / (2 * tan(pi / n)):.5f}\\,a</math>. The figure fills {100 * area * 4 * sin(pi / n) ** 2 / pi:.1f} per cent of the larger circle.",
    )
    if n == 3:
        symmetric = "It has no diagonals."
    else:
        kinds = len(range(2, n // 2 + 1))
        symmetric = (
            f"There are {diagonals} diagonals, of {in_words(kinds)} different {'lengths' if kinds > 1 else 'length'}."
            if kinds > 1
            else f"There are {diagonals} diagonals, all of the same length."
        )
    symmetric += voice.say(
        f" The symmetries form the [[dihedral group]] <math>D_{{{n}}}</math> of order {2 * n}: {in_words(n)} rotations and as many reflections.",
        f" The figure is carried into itself by {2 * n} motions, half of them rotations; together they make up the dihedral group <math>D_{{{n}}}</math>.",
    )
    reason = (
        "because its number of sides is a product of a power of two and different [[Fermat prime|Fermat primes]]"
        if _constructible(n)
        else "since its number of sides is not a product of a power of two and different Fermat primes"
    )
    drawing = voice.say(
        f"By the theorem of Gauss and Wantzel the regular {low} {'can' if _constructible(n) else 'cannot'} be constructed with compass and straightedge, {reason}.",
        f"Compass and straightedge {'suffice' if _constructible(n) else 'do not suffice'} to draw the figure, {reason}.",
    )
    stars = [k for k in range(2, (n + 1) // 2) if gcd(n, k) == 1]
    star = ""
    if stars:
        shown = listed([f"{{{n}/{k}}}" for k in stars])
        star = voice.say(
            f"Joining every corner to the one a fixed number of steps ahead gives {in_words(len(stars))} regular [[star polygon]]{'s' if len(stars) > 1 else ''} with the [[Schläfli symbol]]{'s' if len(stars) > 1 else ''} {shown}.",
            f"Star {low}s exist in {in_words(len(stars))} {'forms' if len(stars) > 1 else 'form'}: {shown}.",
        )
    rows = [
        [f"{k}", f"{360 * k / n:.4g}°", f"{sin(radians(180 * k / n)) / sin(pi / n):.5f}"]
        for k in range(1, n // 2 + 1)
    ]
    chords = table("Chords from one corner, in units of the side", ["Steps", "Arc", "Length"], rows)
    parts = [
        ("Angles", angles),
        ("Area and circles", metric),
        ("Diagonals and symmetry", f"{symmetric}\n\n{chords}"),
    ]
    tail = [
        ("Construction", drawing),
        ("Stars", star),
        (voice.say("In nature and art", "Remarks", "Occurrence"), NOTES.get(n, "")),
    ]
    voice.random.shuffle(tail)
    sections = "\n\n".join(f"== {head} ==\n{body}" for head, body in parts + tail if body)
    box = f"{{{{Infobox polygon\n|name={title}\n|image=Regular polygon {n}.svg\n|Edges and vertices={n}\n|Schläfli symbol={{{n}}}\n|Symmetry group=D<sub>{n}</sub>, order {2 * n}\n|Inner angle={angle:.6g}°\n}}}}"
    nav = (
        "{{Navbox polygons\n|title=[[Polygon]]s\n|Few sides=\n"
        + "\n".join(f"* [[{NAMES[k]}]]" for k in range(3, 11))
        + "\n|More sides=\n"
        + "\n".join(f"* [[{NAMES[k]}]]" for k in NAMES if k > 10)
        + "\n}}"
    )
    return Source(
        title, f"{box}\n{lead}\n\n{sections}\n\n{nav}\n[[Category:Polygons]]", (f"{n}-gon", f"Regular {low}")
    )


def solid(title: str) -> Source:
    """The article on one of the Platonic solids."""
    vertices, edges, faces, degree, face, dual, volume, value, surface, dihedral, element, found = SOLIDS[
        title
    ]
    voice = Voice(title)
    low = title.lower()
    lead = voice.say(
        f"The '''{low}''' is one of the five [[Platonic solid]]s. It is bounded by {in_words(faces)} congruent regular {face}s, of which {in_words(degree)} meet at every corner.",
        f"A '''{low}''' is a [[polyhedron]] with {in_words(faces)} faces, each a regular {face}, and {in_words(vertices)} corners, in each of which {in_words(degree)} edges meet. It belongs to the regular or Platonic solids.",
    )
    count = voice.say(
        f"[[Euler characteristic|Euler's formula]] <math>V - E + F = 2</math> holds: <math>{vertices} - {edges} + {faces} = 2</math>.",
        f"It has {vertices} vertices, {edges} edges and {faces} faces, in agreement with <math>V - E + F = 2</math>.",
    )
    decimal = "" if value == 1 else f" \\approx {value:.4f}\\,a^3"
    size = f'For the edge <math>a</math>, surface and volume are\n\n<math display="block">S = {surface}, \\qquad V = {volume}{decimal} .</math>\n\nThe angle between two neighbouring faces is {"" if dihedral == 90 else "about "}{dihedral:g}°.'
    dual_text = voice.say(
        f"The centres of the faces are the corners of {'an' if dual[0] in 'io' else 'a'} [[{dual}]], the ''dual'' of the figure"
        + (", which is therefore dual to itself." if dual == low else "."),
        f"Joining the middles of neighbouring faces one obtains the dual solid, {'another ' if dual == low else 'the '}{dual}.",
    )
    group = {"Tetrahedron": 24, "Cube": 48, "Octahedron": 48}.get(title, 120)
    lore = (
        f"In his dialogue ''[[Timaeus (dialogue)|Timaeus]]'' [[Plato]] assigned the figure to {element}. "
        + voice.say(
            f"In nature its form is met in {found}."
            if "bronze" not in found
            else f"Its form is that of {found}.",
            f"Well-known examples of its shape are {found}.",
        )
    )
    sections = [
        f"== Numbers ==\n{count} The full group of its symmetries has {group} elements.",
        f"== Size ==\n{size}",
        f"== Dual ==\n{dual_text}",
        f"== Lore ==\n{lore}",
    ]
    rows = [[name, str(s[0]), str(s[1]), str(s[2]), f"{s[9]:.2f}°"] for name, s in SOLIDS.items()]
    comparison = table("The five regular solids", ["Solid", "V", "E", "F", "Dihedral angle"], rows)
    return Source(
        title,
        f"{{{{main|Platonic solid}}}}\n{lead}\n\n"
        + "\n\n".join(sections[:1] + voice.order(sections[1:]))
        + f"\n\n== Comparison ==\n{comparison}\n\n[[Category:Platonic solids]]",
    )
