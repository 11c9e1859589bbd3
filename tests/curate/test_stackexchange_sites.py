from __future__ import annotations

import pytest

from tootsie.curate.stackexchange_sites import OWN_HOSTS, RENAMED, SITES, current_host, is_known, site_of


@pytest.mark.parametrize(
    ("name", "site"),
    [
        ("unix.stackexchange.com.7z", "unix.stackexchange.com"),
        ("Unix", "unix.stackexchange.com"),
        ("english.stackexchange.com", "english.stackexchange.com"),
        ("mathematica.7z", "mathematica.stackexchange.com"),
        ("3dprinting.stackexchange.com.7z", "3dprinting.stackexchange.com"),
        ("stackoverflow.com-Posts.7z", "stackoverflow.com"),
        ("stackoverflow.com-PostLinks.7z", "stackoverflow.com"),
        ("stackoverflow.stackexchange.com", "stackoverflow.com"),
        ("stackoverflow_first_posts", "stackoverflow.com"),
        ("serverfault.com.7z", "serverfault.com"),
        ("superuser.com.7z", "superuser.com"),
        ("askubuntu.com.7z", "askubuntu.com"),
        ("stackapps.com.7z", "stackapps.com"),
        ("mathoverflow.net.7z", "mathoverflow.net"),
        ("mathoverflow", "mathoverflow.net"),
        ("es.stackoverflow.com.7z", "es.stackoverflow.com"),
        ("pt.stackoverflow.com.7z", "pt.stackoverflow.com"),
        ("ru.stackoverflow", "ru.stackoverflow.com"),
        ("br.stackoverflow.com", "pt.stackoverflow.com"),
        ("conlang.meta.stackexchange.com_2020", "conlang.meta.stackexchange.com"),
        ("meta.stackexchange.com.7z", "meta.stackexchange.com"),
        ("meta.stackoverflow.com.7z", "meta.stackoverflow.com"),
        ("meta.superuser.com.7z", "meta.superuser.com"),
        ("meta.mathoverflow.net.7z", "meta.mathoverflow.net"),
        ("meta.pt.stackoverflow.com", "pt.meta.stackoverflow.com"),
        ("es.meta.stackoverflow.com.7z", "es.meta.stackoverflow.com"),
        ("stats.meta", "stats.meta.stackexchange.com"),
        # Sites that have another name today.
        ("beer.stackexchange.com_2014", "alcohol.stackexchange.com"),
        ("meta.beer.stackexchange.com_2014", "alcohol.meta.stackexchange.com"),
        ("programmers.stackexchange.com.7z", "softwareengineering.stackexchange.com"),
        ("meta.programmers.stackexchange.com.7z", "softwareengineering.meta.stackexchange.com"),
        ("health.stackexchange.com.7z", "medicalsciences.stackexchange.com"),
        ("writers.stackexchange.com.7z", "writing.stackexchange.com"),
        ("crossvalidated.com", "stats.stackexchange.com"),
        ("CrossValidated", "stats.stackexchange.com"),
        ("ubuntu.stackexchange.com", "askubuntu.com"),
    ],
)
def test_site_of(name: str, site: str) -> None:
    assert site_of(name) == site
    assert is_known(site)


@pytest.mark.parametrize("name", ["holiday", "dump", "math-2024-backup", "", "posts", "history of beer"])
def test_names_that_tell_nothing(name: str) -> None:
    assert site_of(name) is None


def test_a_host_that_is_not_in_the_table_stands_for_itself() -> None:
    assert site_of("brandnew.stackexchange.com.7z") == "brandnew.stackexchange.com"
    assert not is_known("brandnew.stackexchange.com")
    assert not is_known("example.com")
    assert not is_known("meta.example.com")


def test_the_table_has_the_whole_network_and_every_name_leads_into_it() -> None:
    assert len(SITES) + len(OWN_HOSTS) > 180
    for name in SITES:
        host = f"{name}.stackexchange.com"
        assert site_of(f"{host}.7z") == site_of(name) == host
        assert (
            site_of(f"meta.{host}")
            == site_of(f"{name}.meta.stackexchange.com.7z")
            == f"{name}.meta.stackexchange.com"
        )
        assert is_known(f"{name}.meta.stackexchange.com")
    for old in RENAMED:
        host = old if "." in old else f"{old}.stackexchange.com"
        assert is_known(current_host(host)), old
        assert current_host(current_host(host)) == current_host(host)
    assert not SITES & RENAMED.keys()
