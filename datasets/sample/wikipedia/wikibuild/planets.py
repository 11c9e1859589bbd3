"""Articles on the planets: a table of measured values, and gravity, speeds and periods computed from it."""

from __future__ import annotations

from math import pi, sqrt
from typing import NamedTuple

from wikibuild.phrasing import Voice, table
from wikibuild.record import Source

GRAVITY, SUN, UNIT, DAY = 6.6743e-11, 1.98847e30, 1.495978707e11, 86_400.0


class Planet(NamedTuple):
    """The facts about one planet."""

    name: str
    mass: float
    """Units of 10²⁴ kg."""
    radius: float
    """Mean radius in kilometres."""
    axis: float
    """Semi-major axis in astronomical units."""
    eccentricity: float
    rotation: float
    """Sidereal rotation in hours; negative when it is retrograde."""
    moons: str
    text: str


PLANETS = (
    Planet("Mercury (planet)", 0.3301, 2439.7, 0.387098, 0.20563, 1407.5, "It has no moon.", "The planet turns three times on its axis while it goes round the Sun twice, so that one solar day lasts two of its years. Its perihelion advances by 43 seconds of arc in a century more than Newton's law allows; [[general relativity]] explained the difference in 1915."),
    Planet("Venus", 4.8675, 6051.8, 0.723332, 0.00677, -5832.6, "It has no moon.", "A dense atmosphere of carbon dioxide keeps the surface at about 460 °C, day and night. After the Sun and the Moon it is the brightest body in the sky."),
    Planet("Earth", 5.9722, 6371.0, 1.000001, 0.016709, 23.9345, "It has one large moon.", "Seven tenths of the surface are covered by oceans, whose [[tide]]s follow the Moon. It is the only place where life is known to exist."),
    Planet("Mars", 0.64171, 3389.5, 1.52368, 0.0934, 24.6229, "Its two small moons, [[Phobos (moon)|Phobos]] and [[Deimos (moon)|Deimos]], were found by [[Asaph Hall]] in 1877.", "Iron oxide gives the ground its rust colour. [[Olympus Mons]] rises some 22 kilometres above the mean level, higher than any mountain on the other planets."),
    Planet("Jupiter", 1898.1, 69911, 5.2026, 0.0489, 9.925, "[[Galileo Galilei]] saw the four largest of its many moons in January 1610.", "It has more than twice the mass of all other planets together. The [[Great Red Spot]] is a storm that has been watched since at least 1831."),
    Planet("Saturn", 568.32, 58232, 9.5549, 0.0565, 10.656, "Titan, the largest of its moons, has a thick atmosphere of nitrogen.", "Its rings are some 280,000 kilometres across and mostly a few tens of metres thick. [[Christiaan Huygens]] first understood their shape, in 1655."),
    Planet("Uranus", 86.811, 25362, 19.2184, 0.0472, -17.24, "Its moons bear names from Shakespeare and Pope.", "[[William Herschel]] discovered it on 13 March 1781, the first planet to be found with a telescope. Its axis lies almost in the plane of the orbit."),
    Planet("Neptune", 102.409, 24622, 30.11, 0.0086, 16.11, "Triton, the largest of its moons, goes round backwards.", "Its place was computed from the disturbed motion of Uranus; [[Johann Galle]] found it on 23 September 1846 within a degree of the position that [[Urbain Le Verrier]] had given."),
)  # fmt: skip


def year_days(p: Planet) -> float:
    """Orbital period by Kepler's third law, in days."""
    return 2 * pi * sqrt((p.axis * UNIT) ** 3 / (GRAVITY * (SUN + p.mass * 1e24))) / DAY


def surface_gravity(p: Planet) -> float:
    """Metres per second squared, for a sphere that does not turn."""
    return GRAVITY * p.mass * 1e24 / (p.radius * 1e3) ** 2


def density(p: Planet) -> float:
    """Grams per cubic centimetre."""
    return p.mass * 1e27 / (4 / 3 * pi * (p.radius * 1e5) ** 3)


def article(p: Planet) -> Source:
    """The article on one planet."""
    voice = Voice(p.name)
    name = p.name.removesuffix(" (planet)")
    rank = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")[PLANETS.index(p)]
    days, g, rho = year_days(p), surface_gravity(p), density(p)
    escape, speed = sqrt(2 * g * p.radius * 1e3) / 1e3, 2 * pi * p.axis * UNIT / (days * DAY) / 1e3
    years = f"{days:.1f} days" if days < 800 else f"{days / 365.25:.2f} years"
    lead = (
        voice.say(
            f"'''{name}''' is the {rank} [[planet]] from the Sun.",
            f"'''{name}''' is, counted from the Sun, the {rank} of the eight [[planet]]s of the [[Solar System]].",
        )
        + f" {p.text} {p.moons}"
    )
    near, far = p.axis * (1 - p.eccentricity), p.axis * (1 + p.eccentricity)
    orbit = voice.say(
        f"The mean distance from the Sun is {p.axis:.4g} [[astronomical unit]]s. As the orbit is an ellipse of eccentricity {p.eccentricity:g}, the distance varies between {near:.4g} and {far:.4g} units.",
        f"{name} moves in an ellipse whose semi-major axis measures {p.axis:.4g} [[astronomical unit]]s, or {p.axis * UNIT / 1e9:,.1f} million kilometres; it comes as near as {near:.4g} and goes as far as {far:.4g} units.",
    )
    orbit += f" [[Kepler's laws of planetary motion|Kepler's third law]],\n\n<math display=\"block\">T = 2\\pi \\sqrt{{\\frac{{a^3}}{{G M}}}},</math>\n\ngives a period of {years} and a mean speed of {speed:.2f} kilometres per second."
    light = 1 / p.axis**2
    orbit += voice.say(
        f" Sunlight there has {light:.3g} times the strength that it has at the distance of the Earth.",
        f" Light needs {p.axis * UNIT / 299792458 / 60:.1f} minutes to get there from the Sun.",
    )
    sense = "" if p.rotation > 0 else " against the sense of its motion around the Sun"
    turn = f"{abs(p.rotation):.2f} hours" if abs(p.rotation) < 100 else f"{abs(p.rotation) / 24:.1f} days"
    body = voice.say(
        f"The mean radius is {{{{convert|{p.radius:,.1f}|km}}}} and the mass {{{{val|{p.mass:g}|e=24|u=kg}}}}, which together make a density of {rho:.2f} g/cm<sup>3</sup>.",
        f"With a mass of {p.mass / 5.9722:.3g} Earths and a radius of {p.radius / 6371:.3g} times that of the Earth, {name} has a mean density of {rho:.2f} g/cm<sup>3</sup>.",
    )
    body += f' A sphere of this kind has at its surface the gravity\n\n<math display="block">g = \\frac{{G M}}{{R^2}} \\approx {g:.2f} \\; \\text{{m/s}}^2,</math>\n\nand a body must leave it with {escape:.1f} km/s not to fall back. It turns once on its axis in {turn}{sense}.'
    fall = sqrt(2 * 10 / g)
    body += voice.say(
        f" A stone dropped from a height of ten metres would fall for {fall:.2f} seconds.",
        f" A person who weighs 70 kg on a spring balance on Earth would read {70 * g / 9.80665:.1f} kg there.",
    )
    rows = [
        [
            f"'''{q.name.removesuffix(' (planet)')}'''" if q is p else q.name.removesuffix(" (planet)"),
            f"{q.axis:.3g}",
            f"{q.mass / 5.9722:.3g}",
            f"{q.radius / 6371:.3g}",
            f"{density(q):.2f}",
            f"{surface_gravity(q):.2f}",
        ]
        for q in PLANETS
    ]
    comparison = table(
        "The planets compared",
        [
            "Planet",
            "Distance (AU)",
            "Mass (Earth = 1)",
            "Radius (Earth = 1)",
            "Density (g/cm<sup>3</sup>)",
            "Gravity (m/s<sup>2</sup>)",
        ],
        rows,
    )
    hat = "{{other uses|Mercury (disambiguation)}}\n" if "(" in p.name else ""
    box = f"{{{{Infobox planet\n|name={name}\n|image={name}.jpg\n|header1=Orbit\n|Semi-major axis={p.axis:g} AU\n|Eccentricity={p.eccentricity:g}\n|Period={years}\n|header2=Body\n|Mean radius={p.radius:,} km\n|Mass={{{{val|{p.mass:g}|e=24|u=kg}}}}\n|Gravity={g:.2f} m/s<sup>2</sup>\n|Escape velocity={escape:.1f} km/s\n}}}}"
    nav = (
        "{{Navbox planets\n|title=[[Solar System]]\n|Planets=\n"
        + "\n".join(f"* [[{q.name}|{q.name.removesuffix(' (planet)')}]]" for q in PLANETS)
        + "\n|Small bodies=\n* [[Ceres (dwarf planet)|Ceres]]\n* [[Pluto]]\n* [[Halley's Comet]]\n}}"
    )
    return Source(
        p.name,
        f"{hat}{box}\n{lead}\n\n== Orbit ==\n{orbit}\n\n== Body ==\n{body}\n\n== Comparison ==\n{comparison}\n\n{nav}\n[[Category:Planets of the Solar System]]",
    )
