"""Which sites a list of inputs consists of: archives, folders and tables, put together by site."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence

from fsspec.core import url_to_fs

from tootsie.curate.corpus import Unit
from tootsie.curate.stackexchange_dump import table_of
from tootsie.curate.stackexchange_sites import is_known, site_of
from tootsie.datasets import storage
from tootsie.datasets.errors import InputError, SpecError


def site_units(inputs: Sequence[str], site: str | None) -> list[Unit]:
    """Return a unit for each site.

    Args:
      inputs: URLs of archives, tables, and folders of either.
      site: host of all of them; by default their names tell.

    Raises:
      InputError: an input is no dump, a table is missing, or there are two of one.
      SpecError: a name does not tell the site.
    """
    sites: dict[str, list[str]] = {}
    for url in inputs:
        filesystem, path = url_to_fs(url)
        name = url.rstrip("/").rsplit("/", 1)[-1]
        if filesystem.isdir(path):
            _add_folder(url, name, sites, site)
        elif name.lower().endswith(".7z"):
            sites.setdefault(_site(url, site, name), []).append(url)
        elif table_of(name):
            parent = url.rstrip("/").rsplit("/", 2)[-2] if url.count("/") else ""
            sites.setdefault(_site(url, site, name, parent), []).append(url)
        else:
            raise InputError("not a 7z archive, folder or Posts.xml", file=url)
    return [_unit(host, urls) for host, urls in sites.items()]


def _unit(site: str, urls: Sequence[str]) -> Unit:
    seen = Counter(table_of(url.rsplit("/", 1)[-1]) or "archive" for url in urls)
    twice = [table for table, count in seen.items() if count > 1]
    if twice:
        raise InputError(
            f"two inputs are {twice[0]} of one site", file=urls[0], value=site, remedy="Name one of them"
        )
    if not any(url.lower().endswith(".7z") or table_of(url.rsplit("/", 1)[-1]) == "posts" for url in urls):
        raise InputError("no Posts.xml", file=urls[0], remedy="Name the posts of the site as well")
    if not is_known(site):
        print(
            f"warning: {urls[0]}: {site} is not in the table of sites; it is taken as it is written (--site names another)",
            file=sys.stderr,
        )
    return Unit(site, tuple(sorted(urls)), sum(storage.size(url) for url in urls), {"site": site})


def _add_folder(url: str, name: str, sites: dict[str, list[str]], site: str | None) -> None:
    names = storage.list_files(url)
    archives = [storage.join(url, one) for one in names if one.lower().endswith(".7z")]
    tables = [storage.join(url, one) for one in names if one.lower().endswith(".xml") and table_of(one)]
    if tables:
        sites.setdefault(_site(url, site, name), []).extend(tables)
    for archive in archives:
        sites.setdefault(_site(archive, site, archive.rsplit("/", 1)[-1]), []).append(archive)
    if not tables and not archives:
        filesystem, path = url_to_fs(url)
        inner = sorted(
            found.rstrip("/").rsplit("/", 1)[-1]
            for found in filesystem.ls(path, detail=False)
            if filesystem.isdir(found)
        )
        if not inner:
            raise InputError("no dump in this folder", file=url, remedy="It has a Posts.xml, or 7z archives")
        for one in inner:
            _add_folder(storage.join(url, one), one, sites, site)


def _site(url: str, site: str | None, *names: str) -> str:
    found = site or next((host for name in names if (host := site_of(name))), None)
    if found is None:
        raise SpecError(
            "the name does not tell the site",
            file=url,
            remedy="Give it with --site, as in --site=math.stackexchange.com",
        )
    return found
