"""Articles on the fourteen kinds of year of the Gregorian calendar."""

from __future__ import annotations

import calendar
import datetime

from wikibuild.phrasing import Voice, in_words, listed, ordinal
from wikibuild.record import Source

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def easter(year: int) -> datetime.date:
    """Date of Easter after the Gregorian reckoning (the method of Meeus, Jones and Butcher)."""
    a, (b, c) = year % 19, divmod(year, 100)
    d, e = divmod(b, 4)
    g = (8 * b + 13) // 25
    h = (19 * a + b - d - g + 15) % 30
    i, k = divmod(c, 4)
    m = (32 + 2 * e + 2 * i - h - k) % 7
    n = (a + 11 * h + 22 * m) // 451
    month, day = divmod(h + m - 7 * n + 114, 31)
    return datetime.date(year, month, day + 1)


def _day(date: datetime.date) -> str:
    return f"{date.day} {calendar.month_name[date.month]}"


def _months(year: int) -> str:
    """The calendar as a table whose cells hold tables, one for each month."""
    out = ['{| class="wikitable" style="text-align:center"', "|+ Calendar for such a year"]
    for start in range(1, 13, 3):
        out.append("|-")
        for month in range(start, start + 3):
            out.append('| style="vertical-align:top" |')
            out.append('{| class="calendar"')
            out.append(f'! colspan="7" | {calendar.month_name[month]}')
            out.append("|-\n! Mo !! Tu !! We !! Th !! Fr !! Sa !! Su")
            for week in calendar.Calendar().monthdayscalendar(year, month):
                out.append("|-\n| " + " || ".join(str(day or "") for day in week))
            out.append("|}")
    return "\n".join([*out, "|}"])


def year_kind(first: int, leap: bool) -> Source:
    """The article on the common or leap years that begin on one day of the week."""
    word = "Leap" if leap else "Common"
    title = f"{word} year starting on {DAYS[first]}"
    voice = Voice(title)
    cycle = [
        y
        for y in range(1800, 2200)
        if calendar.isleap(y) == leap and datetime.date(y, 1, 1).weekday() == first
    ]
    year = next(y for y in cycle if y >= 1990)
    thirteenths = [calendar.month_name[m] for m in range(1, 13) if datetime.date(year, m, 13).weekday() == 4]
    last = datetime.date(year, 12, 31)
    weeks = datetime.date(year, 12, 28).isocalendar().week
    lead = voice.say(
        f"A '''{title[0].lower() + title[1:]}''' is any year of {366 if leap else 365} days that begins on {DAYS[first]}, 1 January, and ends on {DAYS[last.weekday()]}, 31 December.",
        f"In the [[Gregorian calendar]], a '''{title[0].lower() + title[1:]}''' has {366 if leap else 365} days; its first day is a {DAYS[first]}, its last a {DAYS[last.weekday()]}.",
        f"Years with {'a' if leap else 'no'} 29 February whose 1 January is a {DAYS[first]} are called '''{title[0].lower() + title[1:]}'''.".replace(
            "called '''common year", "called '''common years"
        )
        .replace("called '''leap year", "called '''leap years")
        .replace("years starting", "years starting"),
    )
    friday = voice.say(
        f"Such a year has {in_words(len(thirteenths))} [[Friday the 13th|Fridays the thirteenth]]: in {listed(thirteenths)}."
        if len(thirteenths) > 1
        else f"The only [[Friday the 13th|Friday the thirteenth]] of such a year falls in {thirteenths[0]}.",
        f"The 13th day is a Friday in {listed(thirteenths)}" + (" only." if len(thirteenths) == 1 else "."),
    )
    share = len(cycle) / 4
    frequency = voice.say(
        f"In the Gregorian cycle of 400 years, which is exactly 20,871 weeks long, there are {len(cycle)} of them, or {share:g} per cent of all years.",
        f"Of every 400 years {len(cycle)} are of this kind. As 146,097 days divide evenly by seven, the pattern then begins anew.",
    )
    iso = voice.say(
        f"By [[ISO 8601]] the year has {weeks} numbered weeks. Week 1 is the one that holds the first Thursday, {2 + (3 - first) % 7 - 1} January.",
        f"Counted after [[ISO 8601]], it consists of {weeks} weeks; 4 January, which always lies in the first of them, is a {DAYS[(first + 3) % 7]}.",
    )
    doom = DAYS[datetime.date(year, 4, 4).weekday()]
    dooms = voice.say(
        f"Its ''doomsday'', the day on which 4 April, 6 June, 8 August, 10 October and 12 December fall, is {doom}.",
        f"In the [[Doomsday rule]] of [[John Horton Conway]] the year belongs to {doom}: 4/4, 6/6, 8/8, 10/10 and 12/12 are all {doom}s.",
    )
    same = [calendar.month_name[m] for m in range(2, 13) if datetime.date(year, m, 1).weekday() == first]
    months = f"The month{'s' if len(same) > 1 else ''} of {listed(same)} begin{'' if len(same) > 1 else 's'} on the same day of the week as January."
    rows = "\n".join(
        f"|-\n| {y} || {ordinal((easter(y) - datetime.date(y, 1, 1)).days + 1)} || {_day(easter(y))} || {_day(easter(y) + datetime.timedelta(days=49))}"
        for y in cycle
        if 1900 <= y < 2100
    )
    table = f'{{| class="wikitable sortable"\n|+ Such years from 1900 to 2099\n! Year !! Easter is the … day !! Easter Sunday !! Whit Sunday\n{rows}\n|}}'
    facts = "\n\n".join(voice.order([friday, frequency, iso, dooms, months]))
    return Source(
        title,
        f"{lead} The most recent one from 1990 on was or will be {year}.\n\n== {voice.say('Facts', 'Characteristics', 'Days of the week')} ==\n{facts}\n\n== Calendar ==\n{_months(year)}\n\n== List ==\n{table}\n\n[[Category:Years by weekday]]".replace(
            "The most recent one from 1990 on was or will be",
            voice.say("An example is the year", "To this kind belongs the year", "One of them is"),
        ),
    )
