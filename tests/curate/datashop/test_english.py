"""Questions of small models, as one wrote them: which go with their sentences."""

from __future__ import annotations

import pytest

from tootsie.curate.datashop.english import asks_for_another_definition, asks_twice, ill_formed, root


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (
            "What is agriculture?",
            "Agriculture is the cultivation of animals, plants and fungi for food and fiber.",
        ),
        ("What is alkali metal?", "The alkali metals are a group (column) in the periodic table."),
        ("What is an amphibian?", "Amphibians are ectothermic, tetrapod vertebrates of the class Amphibia."),
        ("What is asphalt?", "Asphalt (occasionally), also known as bitumen is a sticky, black liquid."),
        ("What is Helium?", "Helium: Colourless, odourless gaseous nonmetallic element."),
        ("What is the origin of the word?", "The use of the word dates from before 1387."),  # no definition
        ("Who is Alain Connes?", "Alain Connes (born 1 April 1947) is a French mathematician."),
        ("What is the name of the rock?", "The rock is called limestone."),
        ("What is paraffin?", "In chemistry, an alkane, or paraffin (a historical name), is a hydrocarbon."),
        ("What is carbon-14?", "Carbon-14, a radioactive isotope, is a clock of archaeologists."),
        ("What is silver used for?", "Used in alloys for jewelry."),
        ("How do plants breathe?", "Through small pores."),
        ("Was ist ein Molekül?", "Zwei Atome sind verbunden."),
    ],
)
def test_what_goes_together(question: str, answer: str) -> None:
    assert not asks_for_another_definition(question, answer)
    assert not ill_formed(question)
    assert not asks_twice(question)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is abacus?", "The use of the word abacus dates before 1387 AD, when English borrowed it."),
        ("What is ANOVA?", "ANOVAs are useful for comparing three or more means."),
        ("What is carbon-14?", "Carbon-14 is commonly used in radioactive dating."),
        ("What is autism?", "While autism is highly heritable, researchers suspect other causes, too."),
        ("What is algae?", "There is no generally accepted definition of algae."),
        ("What is alkali metal?", "The alkali metals have very similar properties: they are all shiny."),
        ("What is the definition of acid?", "An aqueous solution of an acid has a pH of less than 7."),
        ("Who is anthropology?", "Anthropology is the study of humans and their societies."),
        ("What is the name of the language?", "The name Austroasiatic comes from two Latin words."),
        ("Who is MDPI?", "The journal is published by MDPI and was established in 2008."),
        ("What is sodium?", "Sodium chloride (NaCl) is table salt."),
        ("What is cadmium?", "Boiling cadmium gives off a weird, yellow-colored vapor that is poisonous."),
        ("What is fluorine used for?", "Found in the minerals fluorite and cryolite."),
        ("What is alkali metals?", "The alkali metals are a group in the periodic table."),
    ],
)
def test_a_sentence_about_a_thing_does_not_say_what_it_is(question: str, answer: str) -> None:
    assert asks_for_another_definition(question, answer)


def test_articles_and_second_questions() -> None:
    for wrong in ("What is a astronaut?", "What does an cell do?"):
        assert ill_formed(wrong) == "a wrong article"
    assert ill_formed("What do these countries share?") == "the question points at something"
    for right in ("Is an acid a unit?", "What is an hour?", "What makes a one-way street a European one?"):
        assert not ill_formed(right)
    assert asks_twice("What is the ampere and how many units does it have?")


def test_forms_of_a_word_have_one_root() -> None:
    for forms in (
        ("study", "studies", "studied"),
        ("alkane", "alkanes"),
        ("reflect", "reflected", "reflecting"),
    ):
        assert len({root(form) for form in forms}) == 1
    assert root("alkene") != root("alkane")
    assert root("is") == "is"
