"""The computed articles of the sample, all together."""

from __future__ import annotations

from wikibuild import calendars, elements, integers, intervals, planets, polygons
from wikibuild.record import Source


def articles() -> list[Source]:
    """All computed articles, in a fixed order."""
    found = [integers.article(number) for number in integers.NUMBERS]
    found += [polygons.polygon(sides) for sides in polygons.NAMES]
    found += [polygons.solid(title) for title in polygons.SOLIDS]
    found += [calendars.year_kind(day, leap) for leap in (False, True) for day in range(7)]
    found += [intervals.interval(title) for title in intervals.INTERVALS]
    found += [intervals.numeral_system(base) for base in intervals.BASE_NOTES]
    found += [elements.article(element) for element in elements.ELEMENTS]
    return found + [planets.article(planet) for planet in planets.PLANETS]
