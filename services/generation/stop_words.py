"""Words that say nothing of a subject by themselves, by language."""

from __future__ import annotations

_ENGLISH = (
    "a about above after again all also am an and any are as at be because been before being below between both but "
    "by can could did do does doing done during each either else ever every for from further get gets got had has "
    "have having he her here hers him his how i if in into is it its itself just let like may me might more most "
    "much many must my no nor not now of off on once one only onto or other our ours out over own per please s said "
    "same say says shall she should so some such t tell than that the their theirs them then there these they this "
    "those through to too under until up upon us very was we were what when where whether which while who whom "
    "whose why will with within would you your yours happen happens happened mean means according give given want "
    "need needs make makes made take takes use used using long old big large high often come comes go goes"
)
_GERMAN = (
    "aber alle als also am an auch auf aus bei bin bis bitte da damit dann das dass dein dem den der des dich die "
    "dies diese dieser doch dort du durch ein eine einem einen einer eines er es euch für gibt hat habe haben hatte "
    "hier ich ihm ihn ihr ihre im in ist ja jede jeder kann kein keine können man mein mich mir mit muss nach nicht "
    "noch nun nur ob oder ohne sein seine sich sie sind so soll sollen über um und uns unser unter vom von vor war "
    "was weil welche welcher welches wenn wer werden wie wieviel wird wo woher wurde zu zum zur wann warum"
)
_FRENCH = (
    "à au aux avec avoir ce ces cet cette comment combien dans de des du donc elle elles en est et être eux fait "
    "faire faut il ils je la le les leur lui ma mais me mes moi mon ne nos notre nous on ou où par pas peut plus "
    "pour pourquoi qu quand que quel quelle quelles quels qui quoi sa sans se ses si son sont sur ta te tes toi ton "
    "tu un une vos votre vous y a-t-il est-ce"
)
_SPANISH = (
    "a al algo como con cuál cuáles cuando cuándo cuánto cuánta de del dónde donde el ella ellos en entre es esa "
    "ese eso esta este esto está están fue ha hay la las le les lo los más me mi muy no nos o para pero por porque "
    "puede que qué quien quién se ser si sin sobre son su sus también te tiene tu un una uno unos y ya yo"
)

STOP_WORDS: dict[str, frozenset[str]] = {
    "en": frozenset(_ENGLISH.split()),
    "de": frozenset(_GERMAN.split()),
    "fr": frozenset(_FRENCH.split()),
    "es": frozenset(_SPANISH.split()),
}
ALL_STOP_WORDS: frozenset[str] = frozenset[str]().union(*STOP_WORDS.values())
