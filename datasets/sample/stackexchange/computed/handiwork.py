"""Kitchen, workshop and bicycle arithmetic."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

from computed.wording import Wording, fence, table


def doughs(rng: random.Random) -> Iterator[str]:
    """Baker's percentages."""
    w = Wording(rng)
    breads = [
        ("ciabatta", 80, 2, 1),
        ("baguettes", 68, 2, 1),
        ("pizza", 62, 2.5, 0.5),
        ("bagels", 55, 2, 1),
        ("rye bread", 75, 1.8, 1),
        ("rolls", 60, 2, 2),
        ("focaccia", 75, 2.2, 1),
        ("a tin loaf", 65, 2, 1.5),
        ("flatbread", 58, 1.5, 1),
    ]
    for bread, water, salt, yeast in breads:
        pieces, weight = rng.choice([(1, 900), (2, 750), (4, 250), (6, 110), (8, 90), (3, 400), (10, 85)])
        total = pieces * weight
        share = 100 + water + salt + yeast
        flour = total / share * 100
        rows = [
            [name, f"{pc:g}%", f"{flour * pc / 100:.0f} g"]
            for name, pc in (("flour", 100), ("water", water), ("salt", salt), ("fresh yeast", yeast))
        ]
        question = (
            w.opening(
                f'I want to make {bread}: {pieces} piece{"s" if pieces > 1 else ""} of {weight} g dough each. My recipe is in "baker\'s percentages" ({water}% water, {salt:g}% salt, {yeast:g}% yeast), and they add up to more than 100. How do I get grams?',
                f'What does "{water}% hydration" mean for {bread}, and how much flour do I need for {total} g of dough in all?',
                f"A recipe for {bread} gives flour, water, salt and yeast for some amount that isn't mine. I need {pieces} × {weight} g. How do bakers scale this?",
            )
            + " "
            + w.say(
                "My scales show whole grams.",
                "I've always done it by feel, with mixed results.",
                "The water is part of the dough weight, right?",
                "",
            )
        )
        answer = (
            w.say(
                "All percentages refer to the **flour**, not to the dough.",
                "Flour is 100% by definition, the rest is relative to it.",
                "Bakers set the flour to 100, because it is what the others depend on.",
            )
            + f" So the dough is $100 + {water} + {salt:g} + {yeast:g} = {share:g}$ percent of the flour, and\n\n$$\\text{{flour}} = \\frac{{{total}\\ \\mathrm g}}{{{share / 100:g}}} = {flour:.0f}\\ \\mathrm g .$$\n\n"
            + table(["", "percent", "amount"], rows, "lrr")
            + "\n\n"
            + w.say(
                f"Together {sum(round(flour * pc / 100) for pc in (100, water, salt, yeast))} g, which should be {total} up to rounding.",
                "Make 2–3% more, as something always sticks to the bowl.",
                "With dry yeast take a third of the amount of fresh yeast.",
            )
        )
        feel = {
            True: "soft and sticky; use wet hands and fold instead of kneading",
            False: "firm enough to knead on the table without extra flour",
        }[water >= 68]
        handling = w.say(f"To get an idea what {water}% feels like:", "A word about the handling:", "From experience:") + f" the dough is {feel}. " + w.say(
            "Hold back a tenth of the water and add it only when the dough has come together, because flours differ.",
            "Wholemeal takes up 5 to 10 percentage points more water than white flour.",
            "If it is too soft for you, go down by three points next time, not by ten.",
            "Note what you did. In a month you'll be grateful.",
        ) + "\n\n" + w.say("For the water temperature there's a rule of thumb for dough at 25 °C:", "If you want the dough at 25 °C, choose the water accordingly:", "How warm should the water be? For 25 °C in the dough,", "Bakers also compute the water temperature:") + " $T_\\text{water} = 3\\cdot25 - T_\\text{flour} - T_\\text{room} - 3$. " + (lambda room: f"With flour and room at {room} °C that's {75 - 2 * room - 3} °C.")(rng.choice([18, 19, 20, 21, 22, 23, 24]))  # fmt: skip
        code = w.say("As a little script, for those who bake and program:", "My kitchen calculator:", "Scaling for different sizes:") + "\n\n" + fence("py", f"""
percent = {{"flour": 100, "water": {water}, "salt": {salt:g}, "yeast": {yeast:g}}}
for dough in ({total // 2}, {total}, {total * 2}):
    unit = dough / sum(percent.values())
    print(dough, {{name: round(share * unit) for name, share in percent.items()}})
""")  # fmt: skip
        yield w.thread(
            w.title(f"Baker's percentages for {bread}: {pieces} × {weight} g", f"What does {water}% hydration mean for {bread}?", f"Scaling a recipe for {bread} to {pieces} × {weight} g"),
            ["bread", "dough", rng.choice(["baking", "scaling", "hydration"])], question, answer, handling, code,
        )  # fmt: skip


def gears(rng: random.Random) -> Iterator[str]:
    """Development, speed and cadence of bicycle gears."""
    w = Wording(rng)
    for front, cogs, mm, wheel in [
        ((50, 34), (11, 32), 2.105, "700×25C"), ((42,), (11, 46), 2.17, "700×38C"), ((44, 28), (11, 36), 2.155, "700×35C"), ((32,), (10, 51), 2.29, "29×2.2"),
        ((48, 38, 28), (11, 32), 2.05, "26×1.95"), ((39, 53), (12, 25), 2.096, "700×23C"), ((38,), (14, 28), 2.2, "28×1.75"), ((46, 30), (11, 34), 2.168, "650B×48"), ((24,), (11, 34), 1.52, "20×1.5"),
    ]:  # fmt: skip
        cadence = rng.choice([60, 70, 75, 80, 90])
        low, high = min(front) / cogs[1], max(front) / cogs[0]
        spread = high / low
        rows = [
            [
                f"{f} × {c}",
                f"{f / c:.2f}",
                f"{f / c * mm:.2f} m",
                f"{f / c * mm * cadence * 60 / 1000:.1f} km/h",
            ]
            for f in sorted(front)
            for c in cogs
        ]
        rings = "/".join(map(str, sorted(front, reverse=True)))
        question = w.opening(
            f"My bike has {rings} in front, {cogs[0]}–{cogs[1]} at the back and {wheel} tyres. How fast do I go in the highest gear at {cadence} revolutions a minute, and how slow can I get in the lowest?",
            f'I\'m comparing a bike with {rings} × {cogs[0]}–{cogs[1]} to my old one. People talk about "development", "gear inches" and "spread". How are these calculated? (Tyres: {wheel}.)',
            f"Is {min(front)} × {cogs[1]} low enough for a climb of {rng.choice([8, 10, 12, 14])}%? With {wheel} tyres, if this matters.",
        ) + w.say(
            "",
            " I'm no racer, I just like to spin.",
            ' The bike shop only said "it depends".',
            " My knees are 60 years old.",
        )
        answer = (
            w.say(
                "Everything follows from the ratio of teeth.",
                "Start with teeth in front divided by teeth at the back.",
                "One turn of the cranks turns the wheel (front ÷ rear) times.",
            )
            + f" Times the circumference of the wheel, which is about {mm:.3f} m for {wheel}, that's the *development*, the distance per turn of the cranks. Times {cadence} turns a minute and 60 minutes you have the speed:\n\n"
            + table(["gear", "ratio", "development", f"at {cadence} rpm"], rows, "lrrr")
            + "\n\n"
            + w.say(
                f"The *spread* is highest ÷ lowest = {high:.2f} ÷ {low:.2f} = {spread:.2f}, usually quoted as {spread * 100:.0f}%.",
                f"*Gear inches* are ratio × wheel diameter in inches: {low * mm / math.pi / 0.0254:.0f} to {high * mm / math.pi / 0.0254:.0f}.",
                "Measure the circumference by rolling the loaded bike through one turn; tables are only good to one percent.",
            )
        )
        mass, grade, power = (
            rng.choice([80, 88, 95, 102]),
            rng.choice([6, 8, 10, 12]),
            rng.choice([120, 150, 180, 220]),
        )
        speed = power / (mass * 9.81 * math.sin(math.atan(grade / 100)))
        climb = (
            w.say(
                "For climbing, the power decides:",
                "Whether it's low enough depends on you, and one can estimate it.",
                "On the climb:",
            )
            + f" at {grade}% nearly all power goes into lifting. With bike and rider of {mass} kg and {power} W,\n\n$$v \\approx \\frac{{P}}{{m\\,g\\,\\sin\\alpha}} = \\frac{{{power}}}{{{mass}\\cdot 9.81\\cdot {math.sin(math.atan(grade / 100)):.4f}}} \\approx {speed:.2f}\\ \\mathrm{{m/s}} = {speed * 3.6:.1f}\\ \\mathrm{{km/h}}.$$\n\nIn the lowest gear, {low * mm:.2f} m per turn, that's {speed * 60 / (low * mm):.0f} turns a minute. "
            + (
                "That is comfortable."
                if speed * 60 / (low * mm) >= 70
                else "That's slow but rideable."
                if speed * 60 / (low * mm) >= 50
                else "Below 50 it becomes hard on the knees; I'd look for a smaller chainring or a larger sprocket."
            )
        )
        steps = w.say("To see the gaps between gears, list them all:", "A script for all combinations:", "If you want to compare two bikes:") + "\n\n" + fence("py", f"""
front, rear, wheel = {tuple(sorted(front))}, {cogs}, {mm}
for ring in front:
    for cog in rear:
        print(ring, cog, round(ring / cog, 2), f"{{ring / cog * wheel * {cadence} * 0.06:.1f}} km/h")
""")  # fmt: skip
        yield w.thread(
            w.title(f"Top and lowest speed with {rings} × {cogs[0]}–{cogs[1]} at {cadence} rpm", f"Development and spread of {rings} × {cogs[0]}–{cogs[1]}", f"Is {min(front)} × {cogs[1]} low enough for steep hills?"),
            ["gears", "drivetrain", rng.choice(["cadence", "climbing", "speed"])], question, *((climb, answer, steps) if w.title("", "", "climb") else (answer, climb, steps)),
        )  # fmt: skip


def rooms(rng: random.Random) -> Iterator[str]:
    """Paint, tiles and stairs."""
    w = Wording(rng)
    for _ in range(8):
        length, width, height = (
            rng.randrange(28, 60) / 10,
            rng.randrange(22, 45) / 10,
            rng.choice([2.4, 2.5, 2.6, 2.75]),
        )
        doors, windows = rng.choice([(2.0, 1.8), (1.8, 2.4), (3.6, 1.2), (2.0, 4.2)])
        cover, can = rng.choice([(7, 2.5), (8, 5), (10, 2.5), (6, 5), (9, 10)])
        walls = 2 * (length + width) * height
        net = walls - doors - windows
        litres = 2 * net / cover
        tile_a, tile_b = rng.choice([(30, 30), (20, 20), (30, 60), (45, 45), (60, 60)])
        floor = length * width
        nx, ny = math.ceil(length * 100 / tile_a), math.ceil(width * 100 / tile_b)
        question = w.opening(
            f'I\'m going to paint the walls of a room of {length} × {width} m, {height} m high, with a door of {doors} m² and windows of {windows} m². The can says "{cover} m² per litre". How many cans of {can:g} litres do I have to buy for two coats?',
            f'How many tiles of {tile_a} × {tile_b} cm do I need for a floor of {length} × {width} m? The shop says "area plus ten percent", but does that cover the cut ones at the edges?',
            f"We're renovating a room of {length} × {width} × {height} m: walls painted twice, floor tiled ({tile_a} × {tile_b} cm). What should be on the shopping list, without buying twice as much as necessary?",
        ) + w.say(
            "",
            " It's my first flat.",
            " The shop takes back unopened packages only.",
            " I'd like to see the calculation, so that I can redo it for the next room.",
        )
        paint = (
            w.say("Paint:", "For the walls:", "The walls first.")
            + f" the perimeter is $2\\cdot({length} + {width}) = {2 * (length + width):.1f}$ m, times {height} m makes {walls:.1f} m². Minus door and windows: {net:.1f} m². Two coats at {cover} m² per litre:\n\n$$\\frac{{2\\cdot{net:.1f}}}{{{cover}}} \\approx {litres:.1f}\\ \\text{{litres}},$$\n\nso {math.ceil(litres / can)} can{'s' if litres > can else ''} of {can:g} litres. "
            + w.say(
                "The first coat on bare plaster takes up to a third more, unless you prime it.",
                "Many don't subtract small windows and have a reserve for repairs that way.",
                "Buy cans of the same batch, or mix them in a bucket; shades differ.",
                f"The ceiling would be another {floor:.1f} m².",
            )
        )
        tiles = (
            w.say("Tiles:", "Now the floor.", "For the tiles count rows, not square metres:")
            + f" along {length} m there fit {length * 100 / tile_a:.2f} tiles, so {nx} columns (the last one cut), and along {width} m {width * 100 / tile_b:.2f}, so {ny} rows. That's ${nx}\\cdot{ny} = {nx * ny}$ tiles if every offcut is thrown away.\n\n"
            + table(
                ["method", "tiles"],
                [
                    ["area only", math.ceil(floor * 10000 / tile_a / tile_b)],
                    ["area + 10%", math.ceil(floor * 11000 / tile_a / tile_b)],
                    ["rows × columns", nx * ny],
                    ["rows × columns + 3 spare", nx * ny + 3],
                ],
                "lr",
            )
            + "\n\n"
            + w.say(
                "The larger the tile, the more the two differ.",
                "Start from the middle of the room, so that the cut tiles on both sides have the same width and none is a sliver.",
                "Keep three tiles in the cellar. In ten years you won't find them any more.",
                "Offcuts of more than half a tile can often be used on the other side.",
            )
        )
        rise = height + 0.3
        risers = round(rise / 0.175)
        stairs = w.say("Not asked, but it belongs to renovating:", "While you have the tape measure in hand:", "As a bonus, for those who came here for stairs:") + f" to climb {rise:.2f} m (room plus ceiling) you need about {rise:.2f} / 0.175 ≈ {risers} steps of {rise / risers * 100:.1f} cm. By the rule *twice the rise plus the tread is 63 cm* the tread is {63 - 2 * rise / risers * 100:.1f} cm, and the flight takes {(risers - 1) * (63 - 2 * rise / risers * 100) / 100:.2f} m on the floor."  # fmt: skip
        wanted = {"paint": (paint, stairs), "tiles": (tiles, stairs), "both": (paint, tiles, stairs)}[
            w.title("paint", "tiles", "both")
        ]
        yield w.thread(
            w.title(f"How much paint for a room of {length} × {width} m?", f"How many {tile_a} × {tile_b} cm tiles for {length} × {width} m?", f"Shopping list for a room of {length} × {width} × {height} m"),
            ["renovation", rng.choice(["painting", "tiles"]), "estimation"], question, *wanted,
        )  # fmt: skip


def ovens(rng: random.Random) -> Iterator[str]:
    """Old recipes: Fahrenheit, cups, ounces."""
    w = Wording(rng)
    grams = {
        "flour": 125,
        "sugar": 200,
        "butter": 227,
        "oats": 90,
        "milk": 244,
        "honey": 340,
        "cocoa": 85,
        "ground almonds": 95,
    }
    for dish in [
        "brownies",
        "scones",
        "banana bread",
        "oat biscuits",
        "cornbread",
        "carrot cake",
        "pancakes",
        "shortbread",
    ]:
        items = rng.sample(sorted(grams), 4)
        cups = [rng.choice([0.25, 0.5, 0.75, 1, 1.5, 2, 2.25]) for _ in items]
        fahrenheit = rng.choice([325, 350, 375, 400, 425])
        celsius = (fahrenheit - 32) * 5 / 9
        ounces = rng.choice([4, 6, 8, 10, 12])
        listed = ", ".join(
            f"{c:g} cup{'s' if c > 1 else ''} of {i}" for c, i in zip(cups, items, strict=True)
        )
        question = w.opening(
            f"An American friend sent me her recipe for {dish}: {listed}, {ounces} oz of chocolate, bake at {fahrenheit} °F. What is that in grams and °C?",
            f'How many grams is a "cup"? For my {dish} I need {listed}, and every table on the internet says something else.',
            f"My oven only knows Celsius. Is {fahrenheit} °F for {dish} the same with the fan on? And while we're at it: {listed}, please, in sensible units.",
        )
        rows = [
            [i, f"{c:g}", f"{round(c * grams[i] / 5) * 5} g", f"{c * 236.6:.0f} ml"]
            for c, i in zip(cups, items, strict=True)
        ]
        answer = (
            w.say(
                "A cup is a *volume*, 236.6 ml.",
                "Cups measure volume, so the grams depend on what's in them.",
                "The trouble is that a cup of one thing doesn't weigh what a cup of another does.",
            )
            + " With usual densities, rounded to 5 g:\n\n"
            + table(["ingredient", "cups", "weight", "volume"], rows, "lrrr")
            + "\n\n"
            + w.say(
                "Flour is the worst: scooped from the bag, a cup may weigh 150 g; spooned in loosely, 120 g.",
                "For liquids the volume is good enough.",
                "A stick of butter is half a cup, 113 g.",
                "Write the grams into your copy and forget about the cups.",
            )
            + " "
            + w.say(
                f"The {ounces} oz (by weight) are {ounces} × 28.35 = {ounces * 28.35:.0f} g.",
                f"An ounce of weight is 28.35 g, so {ounces} oz ≈ {round(ounces * 28.35 / 5) * 5} g. A *fluid* ounce is something else, 29.6 ml.",
            )
        )
        oven = (
            w.say("The temperature:", "For the oven,", "As for Fahrenheit:")
            + f" subtract 32, then take five ninths:\n\n$$\\frac{{5}}{{9}}({fahrenheit} - 32) = {celsius:.1f} \\approx {round(celsius / 5) * 5}\\ °\\mathrm C .$$\n\n"
            + w.say(
                f"With the fan on, about 20 °C less: {round(celsius / 5) * 5 - 20} °C.",
                f"Gas mark {round((fahrenheit - 250) / 25)}, if somebody needs that.",
                "Home ovens are off by 10 degrees anyway, so don't worry about the decimals. A cheap oven thermometer helps more than any table.",
                f"In the head: remember 350 °F ≈ 175 °C and add or subtract 14 °C per 25 °F; {fahrenheit} is {abs(fahrenheit - 350) // 25} step{'s' if abs(fahrenheit - 350) != 25 else ''} away.",
            )
        )
        code = w.say("I've a tiny script pinned to the kitchen wall (as a printout):", "For the programmers:", "Converting a whole list:") + "\n\n" + fence("py", f"""
density = {{{', '.join(f'"{i}": {grams[i]}' for i in items)}}}  # grams per cup
recipe = {{{', '.join(f'"{i}": {c:g}' for c, i in zip(cups, items, strict=True))}}}
for name, cups in recipe.items():
    print(f"{{name:15}} {{cups * density[name]:5.0f}} g")
print("oven", round(({fahrenheit} - 32) * 5 / 9), "C")
""")  # fmt: skip
        yield w.thread(
            w.title(f"Converting an American recipe for {dish} to grams and Celsius", f"How many grams is a cup? ({dish})", f"{fahrenheit} °F for {dish}, in Celsius and with a fan"),
            ["conversion", "baking", rng.choice(["measurements", "oven"])], question, answer, oven, code,
        )  # fmt: skip
