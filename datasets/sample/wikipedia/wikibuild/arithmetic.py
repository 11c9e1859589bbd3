"""Elementary number theory for the computed articles."""

from __future__ import annotations

from functools import cache
from math import gcd, isqrt


def factors(number: int) -> list[tuple[int, int]]:
    """Prime factors with their exponents."""
    found, divisor = [], 2
    while divisor * divisor <= number:
        exponent = 0
        while number % divisor == 0:
            number, exponent = number // divisor, exponent + 1
        if exponent:
            found.append((divisor, exponent))
        divisor += 1
    return found + ([(number, 1)] if number > 1 else [])


def is_prime(number: int) -> bool:
    """Trial division."""
    return number > 1 and all(number % d for d in range(2, isqrt(number) + 1))


def divisors(number: int) -> list[int]:
    """All divisors in rising order."""
    return [d for d in range(1, number + 1) if number % d == 0]


def totient(number: int) -> int:
    """How many of 1 … n are prime to n."""
    return sum(gcd(number, k) == 1 for k in range(1, number + 1))


@cache
def partitions(number: int, largest: int | None = None) -> int:
    """Ways to write a number as an unordered sum."""
    largest = number if largest is None else min(largest, number)
    if number == 0:
        return 1
    return sum(partitions(number - part, part) for part in range(1, largest + 1))


def in_base(number: int, base: int) -> str:
    """The digits of a number in a base up to 36."""
    digits = ""
    while number:
        number, digit = divmod(number, base)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit].upper() + digits
    return digits or "0"


def fraction_digits(numerator: int, denominator: int, base: int) -> tuple[str, str]:
    """The digits behind the point: those that come once, and those that repeat for ever."""
    seen: dict[int, int] = {}
    digits = ""
    while numerator and numerator not in seen:
        seen[numerator] = len(digits)
        digit, numerator = divmod(numerator * base, denominator)
        digits += in_base(digit, base)
    if not numerator:
        return digits, ""
    return digits[: seen[numerator]], digits[seen[numerator] :]


def two_squares(number: int) -> list[tuple[int, int]]:
    """Ways to write a number as a sum of two squares, a ≤ b."""
    return [
        (a, isqrt(number - a * a))
        for a in range(isqrt(number // 2) + 1)
        if isqrt(number - a * a) ** 2 == number - a * a
    ]


def collatz(number: int) -> list[int]:
    """The trajectory under n → n/2 or 3n + 1 down to 1."""
    path = [number]
    while path[-1] != 1:
        path.append(path[-1] // 2 if path[-1] % 2 == 0 else 3 * path[-1] + 1)
    return path


def roman(number: int) -> str:
    """Roman numerals."""
    out = ""
    for value, sign in zip(
        (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1),
        ["M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I"],
        strict=True,
    ):
        count, number = divmod(number, value)
        out += sign * count
    return out


def chinese(number: int) -> str:
    """Chinese numerals below ten thousand."""
    signs = "零一二三四五六七八九"
    out, gap = "", False
    for value, unit in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit, number = divmod(number, value)
        if digit:
            out += (
                ("零" if gap and out else "")
                + ("" if unit == "十" and digit == 1 and not out else signs[digit])
                + unit
            )
            gap = False
        else:
            gap = True
    return out


def hebrew(number: int) -> str:
    """Hebrew numerals; thousands stand before a mark of their own."""
    if number >= 1000:
        return hebrew(number // 1000) + "׳" + hebrew(number % 1000)
    out = ""
    for value, sign in zip((400, 300, 200, 100), "תשרק", strict=True):
        while number >= value:
            out, number = out + sign, number - value
    if number in (15, 16):
        return out + ("טו" if number == 15 else "טז")
    tens, ones = divmod(number, 10)
    return out + ("", *"יכלמנסעפצ")[tens] + ("", *"אבגדהוזחט")[ones]
