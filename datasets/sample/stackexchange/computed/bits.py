"""Bits and bytes: UTF-8, network addresses, fields of registers."""

from __future__ import annotations

import ipaddress
import random
import unicodedata
from collections.abc import Iterator

from computed.wording import Wording, fence, table


def encodings(rng: random.Random) -> Iterator[str]:
    """UTF-8 by hand."""
    w = Wording(rng)
    for text in ["Zoë", "naïve", "€9", "東京", "Øl", "日本", "π≈3", "🚲!", "сыр", "Ελλάς"]:
        data = text.encode()
        mojibake = data.decode("latin-1", "replace")
        visible = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in mojibake)
        char = next(c for c in text if ord(c) > 127)
        bits = f"{ord(char):b}"
        encoded = char.encode()
        patterns = {
            2: ("110xxxxx 10xxxxxx", 11),
            3: ("1110xxxx 10xxxxxx 10xxxxxx", 16),
            4: ("11110xxx 10xxxxxx 10xxxxxx 10xxxxxx", 21),
        }
        pattern, width = patterns[len(encoded)]
        rows = [
            [f"`{c}`", f"U+{ord(c):04X}", unicodedata.name(c, "?").lower(), f"`{c.encode().hex(' ')}`"]
            for c in text
        ]
        question = (
            w.opening(
                f"Our import writes `{text}` to the database and later shows `{visible}`. The text is {len(text)} characters long and the garbage {len(mojibake)}. Where do the others come from?",
                f'`len("{text}")` is {len(text)}, but the file that contains just this word has {len(data)} bytes. How do I find out which character takes how many?',
                f'How is `{text}` stored in UTF-8? I\'ve read that UTF-8 is "variable-length" and would like to see it done by hand once, for `{char}` at least.',
            )
            + " "
            + w.say(
                "I work with Python, but the language shouldn't matter.",
                "The file was written on Linux.",
                "A hex dump shows `" + data.hex(" ") + "`.",
                "I'd rather understand it than paste a fix.",
            )
        )
        answer = w.say("Character by character:", "This table should make it clear:", "Here's what is in those bytes:") + "\n\n" + table(["character", "code point", "name", "bytes"], rows, "cllr") + "\n\n" + w.say(
            f"Plain ASCII takes one byte, all others take two to four. In sum: {len(data)}.", f"Decode the {len(data)} bytes as Latin-1, where every byte is one character, and you get the {len(mojibake)} characters of `{visible}`.",
            "The bytes of a multi-byte character all have the highest bit set, so they are never mistaken for ASCII.",
        ) + "\n\n" + w.say("To reproduce it:", "Try it yourself:", "The whole story in three lines:") + "\n\n" + fence("py", f"""
text = "{text}"
data = text.encode("utf-8")
print(len(text), len(data), data.hex(" "))
print(ascii(data.decode("latin-1")))
print(data.decode("latin-1").encode("latin-1").decode("utf-8") == text)
""") + "\n\n" + w.say("The last line is also the repair, if the wrong text has already been stored. Run it on a copy.", "So nothing is lost as long as nobody \"corrects\" the garbage by hand.", "Cure the cause: declare the encoding where the file is *read*.")  # fmt: skip
        padded = bits.zfill(width)
        manual = (
            w.say(
                "By hand, then.",
                "The encoding itself is a matter of filling in a form.",
                "How the bytes are made:",
            )
            + f" `{char}` is U+{ord(char):04X}, in binary `{bits}` ({len(bits)} bits). That needs {len(encoded)} bytes, and the form for {len(encoded)} bytes is `{pattern}`. Pad the number to {width} bits, `{padded}`, and fill them in from the left:\n\n```none\n{pattern}\n{' '.join(f'{b:08b}' for b in encoded)}\n{'  '.join(f'     {b:02x}' for b in encoded).rstrip()}\n```\n\n"
            + w.say(
                "The leading byte tells by its number of ones how long the sequence is, and each continuation byte begins with `10`.",
                "This is why one can jump into the middle of a file and find the next character: skip bytes that begin with `10`.",
                "Sorting the bytes sorts the code points, a property that UTF-16 doesn't have.",
            )
        )
        yield w.thread(
            w.title(f"`{text}` turns into garbage after the import".replace("`", "'"), f"Why does {text} have {len(data)} bytes and not {len(text)}?", f"UTF-8 by hand: {text}"),
            ["unicode", "utf-8", rng.choice(["encoding", "python", "mojibake"])], question, answer, manual,
        )  # fmt: skip


def subnets(rng: random.Random) -> Iterator[str]:
    """Address arithmetic for IPv4 networks."""
    w = Wording(rng)
    for _ in range(8):
        prefix = rng.choice([20, 21, 22, 23, 25, 26, 27, 28, 29])
        address = (
            f"{rng.choice(['10.20', '172.16', '192.168'])}.{rng.randrange(4, 250)}.{rng.randrange(5, 250)}"
        )
        net = ipaddress.ip_interface(f"{address}/{prefix}").network
        octet = (prefix - 1) // 8
        block = 2 ** (8 * (octet + 1) - prefix)
        value = int(address.split(".")[octet])
        other = str(net.broadcast_address + rng.choice([1, -3, 7]))
        same = ipaddress.ip_address(other) in net
        question = (
            w.opening(
                f"My interface is configured as `{address}/{prefix}`. Is `{other}` in the same network, and how do I see that without a calculator on some web page?",
                f"I'm given `{address}/{prefix}` and have to name the network address, the broadcast address and the number of hosts. What's the quickest way in the head?",
                f"What does the `/{prefix}` in `{address}/{prefix}` mean, and which addresses belong to it?",
            )
            + " "
            + w.say(
                "I know that it has to do with binary.",
                "I once learnt it for /24 only, where everything is easy.",
                "It is for a firewall rule, so off by one would be embarrassing.",
            )
        )
        ordinal = ["first", "second", "third", "fourth"][octet]
        quick = (
            w.say("Quick way:", "In the head:", "There's a trick with block sizes.")
            + f" the prefix {prefix} ends within the *{ordinal}* byte. {8 * (octet + 1) - prefix} bits of that byte are left for hosts, so networks start at multiples of $2^{{{8 * (octet + 1) - prefix}}} = {block}$ there. {value} lies between {value // block * block} and {value // block * block + block - 1}. Therefore:\n\n"
            + table(
                ["", "address"],
                [
                    ["network", f"`{net.network_address}`"],
                    ["first host", f"`{net.network_address + 1}`"],
                    ["last host", f"`{net.broadcast_address - 1}`"],
                    ["broadcast", f"`{net.broadcast_address}`"],
                    ["netmask", f"`{net.netmask}`"],
                ],
                "ll",
            )
            + f"\n\nThere are $2^{{{32 - prefix}}} - 2 = {net.num_addresses - 2}$ host addresses. "
            + w.say(
                f"`{other}` {'is' if same else 'is not'} one of them.",
                f"So `{other}` {'belongs to it' if same else 'is outside'}.",
                f"And `{other}`? {'Inside.' if same else 'Outside, so it needs a router.'}",
            )
        )
        mask = int(net.netmask)
        rows = "\n".join(
            ".".join(f"{int(b):08b}" for b in a.split(".")) + "  " + label
            for a, label in (
                (address, address),
                (str(net.netmask), "mask"),
                (str(net.network_address), "network = both combined by AND"),
            )
        )
        binary = (
            w.say(
                "In binary it's no trick at all.", "If you want to see why:", "The binary picture behind it:"
            )
            + f" /{prefix} means that the first {prefix} bits name the network.\n\n```none\n{rows}\n```\n\n"
            + w.say(
                "Two addresses are in the same network if and only if they agree in the bits under the ones of the mask.",
                "Set the host bits to 0 for the network, to 1 for the broadcast address.",
                f"As a number the mask is {mask}, or `{mask:#x}`.",
            )
        )
        code = w.say("And for scripts:", "Python has it built in:", "So that nobody has to trust my arithmetic:") + "\n\n" + fence("py", f"""
import ipaddress

net = ipaddress.ip_interface("{address}/{prefix}").network
print(net, net.num_addresses)
print(ipaddress.ip_address("{other}") in net)
print([str(part) for part in net.subnets(prefixlen_diff=1)])
""")  # fmt: skip
        yield w.thread(
            w.title(f"Is {other} in the network of {address}/{prefix}?", f"Network and broadcast address of {address}/{prefix}", f"What does /{prefix} mean in {address}/{prefix}?"),
            ["networking", "subnet", rng.choice(["ipv4", "cidr", "python"])], question, quick, binary, code,
        )  # fmt: skip


def masks(rng: random.Random) -> Iterator[str]:
    """Fields in registers, with C expressions and their values."""
    w = Wording(rng)
    for _ in range(8):
        word = rng.randrange(0x1000, 0xFFFF)
        low, width = rng.choice([(3, 4), (5, 3), (2, 6), (8, 5), (4, 7), (6, 2), (9, 4), (1, 5)])
        mask = (1 << width) - 1
        old = word >> low & mask
        new = (old + rng.randrange(1, mask)) & mask
        result = word & ~(mask << low) & 0xFFFF | new << low
        chip = w.say(
            "temperature sensor",
            "motor driver",
            "real-time clock",
            "display controller",
            "battery monitor",
            "radio module",
            "A/D converter",
            "LED driver",
        )
        question = (
            w.opening(
                f"A 16-bit register of a {chip} contains `{word:#06x}`. According to the data sheet the field *mode* is in bits {low} to {low + width - 1}. How do I extract it in C?",
                f"I have to write {new} into bits {low}…{low + width - 1} of a 16-bit register ({chip}) without disturbing the other bits. At the moment it reads `{word:#06x}`. My attempt `reg = reg | ({new} << {low})` only works sometimes.",
                f"Could someone explain `(reg >> {low}) & {mask:#x}` to me? I found it in the driver of a {chip}.",
            )
            + " "
            + w.say(
                "I count bits from 0.",
                "Does the order of bytes matter here?",
                "I'm a mechanical engineer, so be gentle.",
                "",
            )
        )
        picture = f"{word:016b}"
        marks = " " * (16 - low - width) + "^" * width
        read = (
            w.say(
                "Shift, then mask.",
                "Two steps: move the field to the right end, cut off the rest.",
                "Draw the bits first; it's worth the paper.",
            )
            + f"\n\n```none\nbit  15            0\n     {picture}   {word:#06x}\n     {marks}\n```\n\n```c\nunsigned mode = (reg >> {low}) & {mask:#x};   /* {mask:#x} is {width} ones */\n```\n\n"
            + f"`{word:#06x} >> {low}` is `{word >> low:#x}`, and `& {mask:#x}` leaves `{old:#x}`, that is **{old}**. "
            + w.say(
                "A mask of $n$ ones is `(1u << n) - 1`.",
                "Use unsigned types; shifting negative numbers to the right is implementation-defined.",
                "No byte order is involved as long as you work on the value and not on its bytes in memory.",
            )
        )
        write = w.say("For writing you need three operations:", "Writing is read-modify-write:", "Setting a field takes *clear* and *set*:") + f"\n\n```c\nreg &= ~({mask:#x}u << {low});          /* clear the field */\nreg |= ({new}u & {mask:#x}u) << {low};   /* put in the new value */\n```\n\n" + table(
            ["step", "binary", "hex"],
            [["before", f"`{word:016b}`", f"`{word:#06x}`"], ["clear with", f"`{~(mask << low) & 0xFFFF:016b}`", f"`{~(mask << low) & 0xFFFF:#06x}`"], ["cleared", f"`{word & ~(mask << low) & 0xFFFF:016b}`", f"`{word & ~(mask << low) & 0xFFFF:#06x}`"], ["new value", f"`{new << low:016b}`", f"`{new << low:#06x}`"], ["after", f"`{result:016b}`", f"`{result:#06x}`"]], "lll",
        ) + "\n\n" + w.say(f"An OR alone can only set bits. It would have given `{word | new << low:#06x}`, in which the field reads {(word | new << low) >> low & mask}" + (", by luck the right value." if (word | new << low) == result else f" instead of {new}."), "If an interrupt may write the same register in between, protect the two lines.", "Name the constants; in half a year nobody knows what they meant.")  # fmt: skip
        yield w.thread(
            w.title(f"Extract bits {low} to {low + width - 1} of {word:#06x}", f"Write {new} into bits {low} to {low + width - 1} without changing the rest of {word:#06x}", f"What does (reg >> {low}) & {mask:#x} do to {word:#06x}?"),
            ["c", "bit-manipulation", rng.choice(["embedded", "registers"])], question, read, write,
        )  # fmt: skip
