"""Articles on chemical elements: a table of measured values, and what can be computed from it."""

from __future__ import annotations

from typing import NamedTuple

from wikibuild.phrasing import Voice, in_words, ordinal, table
from wikibuild.record import Source


class Element(NamedTuple):
    """The facts about one element."""

    number: int
    symbol: str
    name: str
    mass: float
    """Standard atomic weight."""
    group: int
    period: int
    melts: float
    """Kelvin."""
    boils: float
    """Kelvin."""
    density: float
    """Grams per cubic centimetre; of the gas in grams per litre where the element is one."""
    found: str
    uses: str
    lore: str


ELEMENTS = (
    Element(1, "H", "Hydrogen", 1.008, 1, 1, 13.99, 20.27, 0.08988, "[[Henry Cavendish]] recognised the gas as a substance of its own in 1766; [[Antoine Lavoisier]] named it 'water-former' in 1783.", "Most of it goes into ammonia and the refining of oil.", "About three quarters of the mass of ordinary matter in the universe is hydrogen."),
    Element(2, "He", "Helium", 4.0026, 18, 1, 0.95, 4.22, 0.1786, "Its yellow line was seen in the light of the Sun during the eclipse of 1868; [[William Ramsay]] found it on Earth in 1895, in a uranium ore.", "Liquid helium cools the magnets of scanners and accelerators.", "It cannot be frozen at ordinary pressure, however cold it is made; it turns solid only under about 2.5 megapascals."),
    Element(3, "Li", "Lithium", 6.94, 1, 2, 453.65, 1603, 0.534, "[[Johan August Arfwedson]] detected it in the mineral petalite in 1817.", "Rechargeable batteries take up most of the production, glass and ceramics the rest.", "It is the lightest of the metals and floats on oil."),
    Element(6, "C", "Carbon", 12.011, 14, 2, 3823, 3915, 2.267, "As charcoal and soot it has been known since prehistory; that [[diamond]] is nothing but carbon was shown by [[Smithson Tennant]] in 1797.", "Coke reduces iron ore, graphite serves in electrodes and pencils, diamond cuts stone.", "At ordinary pressure graphite does not melt but passes straight into vapour; it can be melted only under some ten megapascals."),
    Element(7, "N", "Nitrogen", 14.007, 15, 2, 63.15, 77.36, 1.2506, "[[Daniel Rutherford]] described it in 1772 as 'noxious air'.", "By far the greatest part is made into ammonia for fertilisers; liquid nitrogen cools.", "Nitrogen makes up 78 per cent of the air by volume."),
    Element(8, "O", "Oxygen", 15.999, 16, 2, 54.36, 90.19, 1.429, "[[Carl Wilhelm Scheele]] and [[Joseph Priestley]] prepared it independently, in about 1771 and in 1774.", "Steelworks and hospitals are the largest consumers.", "It is the most abundant element of the Earth's crust. [[Photosynthesis]] renews what breathing and burning consume."),
    Element(10, "Ne", "Neon", 20.180, 18, 2, 24.56, 27.10, 0.9002, "[[William Ramsay]] and [[Morris Travers]] separated it from liquefied air in 1898.", "Its orange-red glow made it the gas of advertising signs.", "No neutral compound of it is known."),
    Element(11, "Na", "Sodium", 22.990, 1, 3, 370.94, 1156, 0.968, "[[Humphry Davy]] obtained it in 1807 by electrolysis of molten caustic soda.", "The metal serves as a coolant and a reducing agent; its salts are without number.", "The symbol comes from the New Latin ''natrium''. The yellow of street lamps is its double line near 589 nanometres."),
    Element(12, "Mg", "Magnesium", 24.305, 2, 3, 923, 1363, 1.738, "[[Joseph Black]] distinguished magnesia from lime in 1755; Davy isolated the metal in 1808.", "Light alloys for cars and aircraft use most of it.", "An atom of magnesium sits at the centre of every molecule of [[chlorophyll]]."),
    Element(13, "Al", "Aluminium", 26.982, 13, 3, 933.47, 2743, 2.70, "[[Hans Christian Ørsted]] prepared an impure form in 1825, [[Friedrich Wöhler]] a purer one in 1827.", "It is used for vehicles, cans, foil and overhead lines.", "Before the process of Hall and Héroult (1886) it was dearer than silver."),
    Element(14, "Si", "Silicon", 28.085, 14, 3, 1687, 3538, 2.329, "[[Jöns Jacob Berzelius]] isolated it in 1823.", "Nearly all electronic circuits and most solar cells are made of it; the bulk goes into alloys.", "With oxygen it makes up the greater part of all rocks."),
    Element(16, "S", "Sulfur", 32.06, 16, 3, 388.36, 717.8, 2.07, "Known since antiquity, it was recognised as an element by Lavoisier in 1777.", "Sulphuric acid is made of it in larger amounts than almost any other chemical.", "When it is heated the melt first becomes thinner, then, above 160 °C, very thick and red."),
    Element(17, "Cl", "Chlorine", 35.45, 17, 3, 171.6, 239.11, 3.2, "Scheele made it in 1774 from hydrochloric acid and pyrolusite; Davy showed in 1810 that it is an element.", "It is used for plastics, for bleaching and to disinfect water.", "The name comes from {{lang|grc|χλωρός}}, 'pale green'."),
    Element(19, "K", "Potassium", 39.098, 1, 4, 336.7, 1032, 0.862, "Davy obtained it in 1807 from molten potash, a few days before sodium.", "Nearly all of its salts are spread on fields as fertiliser.", "Its isotope of mass 40 decays with a half-life of 1.25 billion years and serves to date rocks."),
    Element(20, "Ca", "Calcium", 40.078, 2, 4, 1115, 1757, 1.55, "Davy isolated the metal in 1808.", "Lime and cement are its chief compounds; see also [[Kiln]].", "It is the most abundant metal of the human body."),
    Element(26, "Fe", "Iron", 55.845, 8, 4, 1811, 3134, 7.874, "Beads of meteoric iron are more than five thousand years old; smelting became general after about 1200 BC.", "More iron is produced than all other metals together, nearly all of it as steel.", "Above 1043 kelvin, its Curie point, it loses its magnetism."),
    Element(29, "Cu", "Copper", 63.546, 11, 4, 1357.77, 2835, 8.96, "Copper was hammered in the ninth millennium BC and smelted by the fifth.", "More than half is drawn into wire.", "The name, Latin ''cuprum'', means the metal of Cyprus. Only silver conducts electricity better."),
    Element(30, "Zn", "Zinc", 65.38, 12, 4, 692.68, 1180, 7.14, "It was distilled in India by the twelfth century; [[Andreas Sigismund Marggraf]] described it in Europe in 1746.", "About half protects steel from rust; brass takes much of the rest.", "More than three hundred enzymes contain it."),
    Element(47, "Ag", "Silver", 107.868, 11, 5, 1234.93, 2435, 10.49, "It has been won from lead ores since before 3000 BC.", "Electronics, solar cells and jewellery use it.", "It is the best conductor of heat and electricity among the metals."),
    Element(50, "Sn", "Tin", 118.710, 14, 5, 505.08, 2875, 7.287, "Alloyed with copper it gave the [[Bronze Age]] its name.", "Solder and tinplate are its main uses.", "With ten stable isotopes it has more than any other element. Below 13 °C white tin slowly crumbles to a grey powder."),
    Element(53, "I", "Iodine", 126.904, 17, 5, 386.85, 457.4, 4.933, "[[Bernard Courtois]] discovered it in 1811 in the ash of seaweed.", "Contrast media and disinfectants contain it, and table salt is enriched with it.", "The vapour is violet, and gave the element its name."),
    Element(79, "Au", "Gold", 196.967, 11, 6, 1337.33, 3243, 19.30, "Native gold was worked in the fifth millennium BC at Varna.", "Jewellery takes about half, bars and coins a good part of the rest.", "A gram can be beaten into a leaf of more than half a square metre."),
    Element(80, "Hg", "Mercury (element)", 200.592, 12, 6, 234.32, 629.88, 13.534, "It was known in Egypt, India and China before 1500 BC.", "Thermometers and barometers were filled with it; for its poison it is being given up.", "It is the only metal that is liquid at the freezing point of water."),
    Element(82, "Pb", "Lead", 207.2, 14, 6, 600.61, 2022, 11.34, "Beads of lead from Anatolia are some eight thousand years old.", "Batteries for cars use four fifths of it.", "The Romans made water pipes of it, and ''plumber'' comes from ''plumbum''."),
)  # fmt: skip
CORES = ((86, "Rn"), (54, "Xe"), (36, "Kr"), (18, "Ar"), (10, "Ne"), (2, "He"))
ORDER = ["1s", "2s", "2p", "3s", "3p", "4s", "3d", "4p", "5s", "4d", "5p", "6s", "4f", "5d", "6p"]
MOVED = {29: ("3d", "4s"), 47: ("4d", "5s"), 79: ("5d", "6s")}


def configuration(number: int) -> list[tuple[str, int]]:
    """Electrons by subshell: the Madelung rule, with the exceptions of copper, silver and gold."""
    left, filled = number, {}
    for shell in ORDER:
        room = {"s": 2, "p": 6, "d": 10, "f": 14}[shell[1]]
        filled[shell] = min(room, left)
        left -= filled[shell]
    if number in MOVED:
        gains, loses = MOVED[number]
        filled[gains], filled[loses] = filled[gains] + 1, filled[loses] - 1
    return [
        (shell, count)
        for shell, count in sorted(filled.items(), key=lambda item: (item[0][0], "spdf".index(item[0][1])))
        if count
    ]


def _short(number: int) -> str:
    core, name = next(((n, s) for n, s in CORES if n < number), (0, ""))
    inner = dict(configuration(core)) if core else {}
    outer = [
        f"{shell}<sup>{count}</sup>" for shell, count in configuration(number) if inner.get(shell) != count
    ]
    return (f"[{name}] " if name else "") + " ".join(outer)


def article(e: Element) -> Source:
    """The article on one element."""
    voice = Voice(e.name)
    plain = e.name.removesuffix(" (element)")
    low = plain.lower()
    state = "gas" if e.boils < 298 else "liquid" if e.melts < 298 else "solid"
    celsius = [round(k - 273.15, 1) for k in (e.melts, e.boils)]
    lead = (
        voice.say(
            f"'''{plain}''' is a [[chemical element]] with the symbol '''{e.symbol}''' and the [[atomic number]] {e.number}.",
            f"'''{plain}''' (symbol '''{e.symbol}''') is the {ordinal(e.number)} element of the [[periodic table]].",
            f"The element '''{low}''', whose symbol is '''{e.symbol}''', has {in_words(e.number)} proton{'s' if e.number > 1 else ''} in the nucleus of each atom.",
        )
        + voice.say(
            f" Under ordinary conditions it is a {state}.",
            f" At room temperature and normal pressure it occurs as a {state}.",
        )
        + " "
        + e.lore
    )
    place = voice.say(
        f"It stands in group {e.group} and period {e.period} of the periodic table.",
        f"In the table of the elements it is found in the {ordinal(e.period)} row and the {ordinal(e.group)} column.",
    )
    place += voice.say(
        f" The electrons of a free atom are arranged as {_short(e.number)}.",
        f" Its electron configuration is {_short(e.number)}.",
    )
    moles = 100 / e.mass
    leading, power = f"{moles * 6.02214e23:.2e}".split("e+")
    amount = voice.say(
        f"The [[standard atomic weight]] is {e.mass:g}, so that 100 grams contain {moles:.3g} moles, or about {{{{val|{leading}|e={power}}}}} atoms.",
        f'One [[Mole (unit)|mole]] weighs {e.mass:g} grams; a single atom has on average the mass\n\n<math display="block">m = \\frac{{{e.mass:g} \\, \\text{{g/mol}}}}{{6.022 \\times 10^{{23}} \\, \\text{{mol}}^{{-1}}}} \\approx {e.mass / 6.02214:.3f} \\times 10^{{-23}} \\, \\text{{g}}.</math>',
    )
    celsius_text = [f"{value:g}".replace("-", "−") for value in celsius]
    heat = voice.say(
        f"It melts at {{{{val|{e.melts:g}|u=K}}}} ({celsius_text[0]} °C) and boils at {{{{val|{e.boils:g}|u=K}}}} ({celsius_text[1]} °C).",
        f"The melting point is {celsius_text[0]} °C, the boiling point {celsius_text[1]} °C.",
    )
    if e.name == "Carbon":
        heat = f"At normal pressure it does not melt; graphite sublimes at about {{{{val|{e.boils:g}|u=K}}}}."
    if e.name == "Helium":
        heat = (
            f"It boils at {{{{val|{e.boils:g}|u=K}}}} ({celsius_text[1]} °C), lower than any other substance."
        )
    unit = "g/L" if state == "gas" else "g/cm<sup>3</sup>"
    if state == "gas":
        heat += f" At 0 °C a litre of the gas weighs {e.density:g} g, against 1.293 g for air: it is {'lighter' if e.density < 1.293 else 'heavier'} than the air."
    else:
        edge = (1000 / e.density) ** (1 / 3)
        heat += voice.say(
            f" The density is {e.density:g} {unit}; a kilogram makes a cube with edges of {edge / 1:.1f} cm.".replace(
                f"{edge / 1:.1f} cm", f"{edge:.1f} cm"
            ),
            f" With {e.density:g} {unit} it is {e.density:.1f} times as dense as water.",
        )
    filled = configuration(e.number)
    shells = [sum(c for s, c in filled if s[0] == str(k)) for k in range(1, 7)]
    rows = [
        [
            str(k),
            "KLMNOP"[k - 1],
            str(count),
            ", ".join(f"{s}<sup>{c}</sup>" for s, c in filled if s[0] == str(k)),
        ]
        for k, count in enumerate(shells, 1)
        if count
    ]
    electrons = table(
        f"Electrons of the {low} atom",
        ["Shell", "Letter", "Electrons", "Subshells"],
        rows,
        "text-align:center",
    )
    melting = "none at normal pressure" if e.name in ("Carbon", "Helium") else f"{e.melts:g} K"
    box = f"{{{{Infobox element\n|name={plain}, {{{{chem2|{e.symbol}}}}}\n|image={plain} sample.jpg\n|header1=General\n|Atomic number={e.number}\n|Standard atomic weight={e.mass:g}\n|Group, period={e.group}, {e.period}\n|header2=Physical properties\n|Phase={state}\n|Melting point={melting}\n|Boiling point={e.boils:g} K\n|Density={e.density:g} {unit}\n}}}}"
    parts = voice.order(
        [
            f"== {voice.say('History', 'Discovery')} ==\n{e.found}<ref>{{{{cite book|last=Emsley|first=John|year=2001|title=Nature's Building Blocks|publisher=Oxford University Press}}}}</ref>",
            f"== {voice.say('Use', 'Applications', 'Uses')} ==\n{e.uses}",
        ]
    )
    hat = "{{other uses|Mercury (disambiguation)}}\n" if "(" in e.name else ""
    return Source(
        e.name,
        f"{hat}{box}\n{lead}\n\n== Atom ==\n{place} {amount}\n\n{electrons}\n\n== Physical properties ==\n{heat}\n\n"
        + "\n\n".join(parts)
        + "\n\n== References ==\n{{reflist}}\n[[Category:Chemical elements]]",
        (f"{e.symbol} (element)",),
    )
