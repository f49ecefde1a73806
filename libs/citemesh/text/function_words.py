"""Words that hold sentences together, by language: they tell languages apart, and say nothing of a subject."""

from __future__ import annotations

from typing import Final

from citemesh.text.word_lists import word_set

FUNCTION_WORDS: Final[dict[str, frozenset[str]]] = {
    "en": word_set("""a an the this that these those some any each every either neither both all no not nor and or but
        if then than so as at by for from in into of off on onto out over per to under until up upon with within
        without about above after against along among around before behind below beneath beside besides between beyond
        down during except inside like near since through throughout toward towards via i me my mine we us our ours
        you your yours he him his she her hers it its they them their theirs myself itself themselves ourselves
        yourself one ones oneself someone somebody something anyone anybody anything everyone everybody everything
        nobody nothing who whom whose which what when where why how whether am is are was were be been being do does
        did done doing have has had having can could may might must shall should will would ought need needs isn't
        aren't wasn't weren't don't doesn't didn't haven't hasn't hadn't can't couldn't mustn't shouldn't won't
        wouldn't i'm i've i'd i'll we're we've we'd we'll you're you've you'd you'll he's she's it's they're they've
        they'd they'll that's there's here's what's who's where's when's how's why's let's there here now still yet
        already also too very just only even ever never again once twice more most less least much many few several
        such same other another else own quite rather really please maybe perhaps thus hence therefore however because
        while although though unless"""),
    "de": word_set("""der die das den dem des ein eine einen einem einer eines kein keine keinen und oder aber wenn
        dann als wie so nicht auch nur noch schon sehr hier da dort jetzt immer wieder mehr am an auf aus bei bis
        durch für gegen hinter im in ins mit nach neben ohne seit über um unter vom von vor während wegen zu zum zur
        zwischen ich mich mir mein meine wir uns unser unsere du dich dir dein deine er ihn ihm sein seine sie ihr
        ihre ihnen es man sich wer wen wem was welche welcher welches welchen wann wo woher wohin warum wieso weshalb
        wie viele viel wieviel ob dass ist sind war waren bin bist seid wird werden wurde wurden hat haben habe hatte
        hatten kann können könnte darf dürfen muss müssen soll sollen will wollen möchte dies diese dieser dieses jede
        jeder jedes alle alles etwas nichts doch denn mal bitte gibt"""),
    "fr": word_set("""le la les l' un une des du de d' au aux et ou mais si alors que qu' qui quoi dont où quand
        comment pourquoi combien quel quelle quels quelles ce cet cette ces cela ça c' c'est est sont était étaient
        être été suis es sommes êtes a ai as avons avez ont avait avoir fait peut peuvent pouvons puis doit doivent
        faut je j' me m' mon ma mes nous notre nos vous votre vos tu te t' ton ta tes il ils elle elles on se s' son
        sa ses leur leurs lui y en ne n' pas plus moins très trop aussi encore déjà toujours jamais ici là dans par
        pour sur sous avec sans chez entre vers avant après pendant depuis selon contre est-ce t-il t-elle tout tous
        toute toutes même comme"""),
    "es": word_set("""el la los las un una unos unas y e o u pero si entonces que qué quien quién quienes cual cuál
        cuáles cuando cuándo donde dónde como cómo por porque para con sin sobre entre hasta desde según contra de del
        al a en es son era eran ser sido soy eres somos está están estoy estar fue fueron ha han he hay había tiene
        tienen tengo tener puede pueden puedo poder debe deben debo hacer hace yo me mi mis nosotros nos nuestro
        nuestra tú te tu tus usted ustedes él ella ellos ellas lo le les se su sus no ni más menos muy también ya aún
        siempre nunca aquí allí este esta estos estas ese esa esos esas eso esto cuánto cuánta cuántos cuántas todo
        todos toda todas"""),
    "it": word_set("""il lo la i gli le un uno una e ed o ma se allora che chi cosa quale quali quando dove come
        perché quanto quanta quanti quante di del dello della dei degli delle a al allo alla ai agli alle da dal dalla
        in nel nella nei con su sul sulla per tra fra è sono era erano essere stato ho hai ha abbiamo hanno avere può
        possono posso deve devono devo fare io mi mio mia noi ci nostro tu ti tuo voi vi lui lei loro si suo sua non
        né più meno molto anche già ancora sempre mai qui questo questa questi queste quello quella"""),
    "pt": word_set("""o os a as um uma uns umas e ou mas se então que quem qual quais quando onde como porque por para
        com sem sobre entre até desde de do da dos das no na nos nas ao à em é são era eram ser sido sou está estão
        estar foi foram há tem têm tenho ter pode podem posso deve devem fazer eu me meu minha nós nosso você vocês
        ele ela eles elas lhe se seu sua não nem mais menos muito também já ainda sempre nunca aqui este esta esse
        essa isso isto quanto quanta quantos quantas"""),
    "nl": word_set("""de het een en of maar als dan dat die dit deze wat wie welke wanneer waar waarom hoe hoeveel van
        voor met zonder op in uit aan bij door naar over onder tussen tot tegen te ten ter is zijn was waren ben bent
        wordt worden werd heeft hebben heb had kan kunnen mag mogen moet moeten zal zullen zou wil willen ik me mij
        mijn wij we ons onze jij je jou jouw u uw hij hem zij ze haar hun er niet geen ook nog al alleen zeer veel
        meer minder hier daar nu"""),
}
"""By language (ISO 639-1): articles, pronouns, prepositions, conjunctions, auxiliaries, question words."""

ALL_FUNCTION_WORDS: Final = frozenset[str]().union(*FUNCTION_WORDS.values())
"""Those of every listed language."""


def is_function_word(word: str, language: str = "en") -> bool:
    """Whether `word` (lower case) is a function word of English or of `language`."""
    return word in FUNCTION_WORDS["en"] or word in FUNCTION_WORDS.get(language, frozenset())
