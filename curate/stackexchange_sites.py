"""Which host a StackExchange dump comes from: the sites of the network, the names they had before, and their meta sites.

Dumps are named by host (``unix.stackexchange.com.7z``), those of before 2015 by the host of that time
(``programmers.stackexchange.com``, ``meta.beer.stackexchange.com``). The address of a post is that of today, so that the
same post has the same id in the dumps of all years.
"""

from __future__ import annotations

import re

_NAMES = """
    3dprinting academia ai alcohol android anime apple arduino astronomy aviation bicycles bioacoustics bioinformatics
    biology bitcoin blender boardgames bricks buddhism cardano chemistry chess chinese christianity civicrm codegolf
    codereview coffee communitybuilding computergraphics conlang cooking craftcms crafts crypto cs cs50 cseducators cstheory
    datascience dba devops diy drones drupal dsp earthscience ebooks economics electronics elementaryos ell emacs
    engineering english eosio esperanto ethereum expatriates expressionengine fitness freelancing french gamedev gaming
    gardening genai genealogy german gis graphicdesign ham hardwarerecs hermeneutics hinduism history homebrew hsm
    interpersonal iot iota islam italian japanese joomla judaism korean langdev languagelearning latin law lifehacks
    linguistics literature magento martialarts math mathematica matheducators mattermodeling mechanics medicalsciences
    monero money movies music musicfans mythology networkengineering opendata opensource or outdoors parenting patents pets
    philosophy photo physics pm poker politics portuguese productivity proofassistants psychology puzzling quant
    quantumcomputing raspberrypi retrocomputing reverseengineering robotics rpg rus russian salesforce scicomp scifi
    security sharepoint sitecore skeptics softwareengineering softwarerecs solana sound space spanish sports sqa startups
    stats stellar substrate sustainability tex tezos tor travel tridion ukrainian unix ux vegetarianism vi video webapps
    webmasters windowsphone woodworking wordpress workplace worldbuilding writing
"""
SITES = frozenset(_NAMES.split())
"""Sites at ``<name>.stackexchange.com``, closed ones included whose dumps are still handed on."""

OWN_HOSTS = {
    "stackoverflow": "stackoverflow.com",
    "serverfault": "serverfault.com",
    "superuser": "superuser.com",
    "askubuntu": "askubuntu.com",
    "mathoverflow": "mathoverflow.net",
    "stackapps": "stackapps.com",
}
"""Sites at a host of their own."""
LANGUAGES = ("es", "ja", "pt", "ru")
"""Stack Overflow in other languages: ``<language>.stackoverflow.com``."""

RENAMED = {
    "avp": "video",
    "beer": "alcohol",
    "bikes": "bicycles",
    "boardgame": "boardgames",
    "br.stackoverflow.com": "pt.stackoverflow.com",
    "cogsci": "psychology",
    "computerscience": "cs",
    "crossvalidated": "stats",
    "crossvalidated.com": "stats",
    "cryptography": "crypto",
    "deutsch": "german",
    "espanol": "spanish",
    "expats": "expatriates",
    "garage": "mechanics",
    "guitars": "music",
    "hashcode.ru": "ru.stackoverflow.com",
    "health": "medicalsciences",
    "homebrewing": "homebrew",
    "itsecurity": "security",
    "jp.stackoverflow.com": "ja.stackoverflow.com",
    "linguist": "linguistics",
    "linux": "unix",
    "materials": "mattermodeling",
    "mathematics": "math",
    "mathoverflow.com": "mathoverflow",
    "maths": "math",
    "moderators": "communitybuilding",
    "photography": "photo",
    "programmers": "softwareengineering",
    "sciencefiction": "scifi",
    "signals": "dsp",
    "sounddesign": "sound",
    "statistics": "stats",
    "stackoverflow.ru": "ru.stackoverflow.com",
    "thefinalfrontier": "space",
    "threedprinting": "3dprinting",
    "tv": "movies",
    "ubuntu": "askubuntu",
    "ui": "ux",
    "veg": "vegetarianism",
    "vim": "vi",
    "webmaster": "webmasters",
    "writers": "writing",
    "yodeya": "judaism",
}
"""Former and second names, of hosts or of sites, and the site they mean."""

SAMPLE = "sampleoverflow"
"""The fictional site of the sample dumps that come with Tootsie."""

_HOST = re.compile(r"^[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:com|net|org|ru)(?![a-z0-9])")
_TABLE = re.compile(r"-(?:posts|users|comments|tags|votes|badges|postlinks|posthistory)$")
_NETWORK = ".stackexchange.com"


def site_of(name: str) -> str | None:
    """Return the host of the site whose dump has this file or folder name, ``None`` where the name does not tell.

    ``Unix``, ``unix.7z``, ``unix.stackexchange.com_2014`` and ``linux.stackexchange.com`` are all ``unix.stackexchange.com``;
    ``meta.beer.stackexchange.com`` is ``alcohol.meta.stackexchange.com``. A host that is not in the table stands for itself
    (see :func:`is_known`); any other name that is not in the table tells nothing.
    """
    stem = _TABLE.sub("", re.sub(r"\.(7z|xml)$", "", name.lower()))
    if match := _HOST.match(stem):
        return current_host(match[0])
    for host in (stem + _NETWORK, f"{stem}.com", f"{stem}.net"):
        if is_known(found := current_host(host)):
            return found
    word = re.match(r"[a-z]+(?=[_ -])", stem)
    return OWN_HOSTS.get(word[0]) if word else None


def current_host(host: str) -> str:
    """Return the host that a site of the network has today, for its host of any year."""
    labels = host.split(".")
    if "meta" in labels[:-2] and host != f"meta{_NETWORK}":
        labels.remove("meta")
        return _meta_of(current_host(".".join(labels)))
    if host in RENAMED:
        return _host_of(RENAMED[host])
    name = host.removesuffix(_NETWORK)
    return _host_of(name) if name != host else host


def _host_of(name: str) -> str:
    name = RENAMED.get(name, name)
    return OWN_HOSTS.get(name) or (name if name.endswith(".com") else name + _NETWORK)


def _meta_of(host: str) -> str:
    """``math.stackexchange.com`` → ``math.meta.stackexchange.com``, ``superuser.com`` → ``meta.superuser.com``."""
    first, *rest = host.split(".")
    return f"{first}.meta.{'.'.join(rest)}" if len(rest) > 1 else f"meta.{host}"


def is_known(host: str) -> bool:
    """Return whether a host is that of a site, or of its meta site, in the table."""
    labels = host.split(".")
    if host == f"meta{_NETWORK}":
        return True
    if "meta" in labels:
        labels.remove("meta")
    main = ".".join(labels)
    if main in OWN_HOSTS.values():
        return True
    first, _, rest = main.partition(".")
    return (rest == _NETWORK[1:] and (first in SITES or first == SAMPLE)) or (
        rest == "stackoverflow.com" and first in LANGUAGES
    )
