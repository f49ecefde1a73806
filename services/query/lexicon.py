"""Word lists that several rules share: nouns and verbs too general to search for, and what numbers measure."""

from __future__ import annotations

from typing import Final

from citemesh.text.word_lists import word_set

_SAYS_LITTLE_EN = """
    accept action add adjust affect allow allowed amount answer apply approach approve area ask available avoid bad
    become begin big bigger biggest bit break bring call called case cause certain change check choose close come
    common complete configure configured consider contain control correct cost count create current date day days
    deadline deal decide default define defined delete deliver depend describe detail details difference different
    disable do document documents due easy effect element enable end enough enter example exist expect explain factor
    far fast field file fill find first fix flag flags follow following form full general get give given go going good
    great guide guys handle happen happens help high higher highest hour hours idea important include included
    increase info information interval item items job keep kind kinds know large larger largest last late later latest
    leave left length let level limit limits list little local long longer look lot low lower lowest main make manage
    matter max maximum mean meaning means method minimum minute minutes mode month months move name names new next
    normal note number numbers often old open option options order page pages parameter part parts pay people percent
    percentage period person place point policy possible process problem procedure provide purpose put question
    questions quick range rate reach read ready reason reasons receive recommended remove replace report request
    require required requirement requirements result results return right rule rules run say says second seconds
    section see select send set sets setting settings setup share short show shows simple single situation size small
    some sort soon special specific specify standard start state status stay step steps stop store stuff style submit
    suggest support supposed sure system take takes talk tell term terms test thing things think third threshold time
    times title today tomorrow total true try turn type types understand update use used useful user using usual
    usually valid value values version versions view want way ways week weeks went word words work works worth write
    wrong year years yes yesterday
"""
_SAYS_LITTLE_OTHER = """
    tage tag stunden stunde frist limit grenze wert werte zahl höhe hoch lange oft groß größe einstellung option
    wochen monate jahre machen tun geben nehmen setzen stellen aktivieren gilt gelten brauche jours jour heures délai
    limite valeur valeurs nombre montant taille option réglage semaines mois ans faire mettre activer días día horas
    plazo límite valor valores número cantidad tamaño opción semanas meses años hacer poner activar
"""
GENERIC_WORDS: Final = word_set(_SAYS_LITTLE_EN) | word_set(_SAYS_LITTLE_OTHER)
"""Words that name no topic: a question made of them alone can be about anything."""

UNIT_WORDS: Final = word_set("""second seconds minute minutes hour hours day days week weeks month months quarter
    quarters year years decade decades percent points dollars euros pounds cents bytes bits bit kb mb gb tb kilobytes
    megabytes gigabytes ms times meters metres miles kilometers kilometres km kg grams people employees users nodes
    members respondents bps tokens characters pages pair pairs""")
"""Nouns that a number measures rather than enumerates."""
