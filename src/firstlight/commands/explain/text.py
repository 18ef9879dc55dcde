"""Explanations as text that fits a terminal, and as data."""

from collections.abc import Iterator, Sequence

from firstlight.cli import diagnostic_data
from firstlight.commands.explain.explanation import Chain, ChainLink, Explanation, Sentence
from firstlight.commands.explain.output_form import ChainsData, MeaningsData
from firstlight.drawing import safe, table
from firstlight.model.component import Phase, Side

_SIGNS = {Side.BOOTSTRAP: "■", Side.HYBRID: "◧", Side.GITOPS: "○"}
_LEGEND = "■ bootstrap   ◧ bootstrap, then GitOps   ○ GitOps"
_WIDEST = 100
"""Sentences are not read in longer lines, however wide the terminal is."""
_NARROWEST = 20
_PROMPT = "  $ "
_NAMED = 8
"""Components of one link that are named."""


def text(explanations: Sequence[Explanation], *, columns: int) -> str:
    """Every meaning, one below the other."""
    return "\n\n".join("\n".join(_lines(each, min(columns, _WIDEST))) for each in explanations)


def _lines(explanation: Explanation, columns: int) -> Iterator[str]:
    of = f" of {', '.join(explanation.clusters)}" if explanation.clusters else ""
    of = "" if of == f" of {explanation.name}" else of
    yield table.cut(_one_line(f"{explanation.name} \N{MIDDLE DOT} {explanation.sort}{of}"), columns)
    parts = [(part.name, [*_said(part.sentences)]) for part in explanation.parts]
    if explanation.see:
        parts.append(("see", [_one_line(", ".join(explanation.see))]))
    left = 2 + max(len(name) for name, _ in parts) + len(table.GAP)
    for name, said in parts:
        # Where there are several things to say, what goes on in the next line stands further right.
        further = 2 if len(said) > 1 else 0
        yield ""
        head = f"  {name}".ljust(left)
        for each in said:
            first, *rest = _wrapped(each, columns - left, further)
            yield f"{head}{first}"
            yield from (" " * left + line for line in rest)
            head = " " * left


def _wrapped(text: str, cells: int, further: int) -> list[str]:
    """Lines of one thing; a command stays on one, since it is there to be copied."""
    if text.startswith(_PROMPT):
        return [text]
    room = max(cells - further, _NARROWEST)
    first, *rest = table.wrap(" ".join(_pieces(text, room)), max(cells, _NARROWEST))
    return [first, *(" " * further + line for line in table.wrap(" ".join(rest), room) if rest)]


def _pieces(text: str, cells: int) -> Iterator[str]:
    """Words; one that no line can hold, such as a path, in pieces that end where it has a slash, comma or dash."""
    for word in text.split():
        rest = word
        while table.width(rest) > cells and (end := max(map(rest[: cells - 1].rfind, "/,-")) + 1) > 0:
            yield rest[:end]
            rest = rest[end:]
        yield rest


def _said(sentences: Sequence[Sentence]) -> Iterator[str]:
    for each in sentences:
        yield _sentence(each)
        if each.command:
            yield f"{_PROMPT}{_one_line(each.command)}"


def _sentence(sentence: Sentence) -> str:
    if sentence.command:
        return _one_line(f"{sentence.text.removesuffix('.')}:")
    if sentence.place is None:
        return _one_line(sentence.text)
    stop = "." if sentence.text.endswith(".") else ""
    return _one_line(f"{sentence.text.removesuffix('.')}, at {sentence.place}{stop}")


def _one_line(value: str) -> str:
    return " ".join(safe.text(value).split())


def chain_text(chains: Sequence[Chain], *, columns: int) -> str:
    """The chain of each cluster, drawn from the machines down to the apps."""
    drawn = ["\n".join(_chain(each, min(columns, _WIDEST))) for each in chains]
    return "\n\n".join([*drawn, f"{_LEGEND}   each stands on what is above"])


def _chain(chain: Chain, columns: int) -> Iterator[str]:
    yield table.cut(f"{_one_line(chain.cluster)}   what stands on what", columns)
    yield ""
    widest = max((table.width(_name(each)) for each in chain.links), default=0)
    rows = [[_SIGNS[each.side], _name(each).ljust(widest), _says(each)] for each in chain.links]
    lines = table.wrapped(rows, indent="  ", columns=columns)
    before: ChainLink | None = None
    for link, mine in zip(chain.links, lines, strict=True):
        if before is not None and (before.phase == Phase.GITOPS) != (link.phase == Phase.GITOPS):
            yield from ["  │", *_boundary(chain, columns), "  │"]
        elif before is not None and before.level != link.level:
            yield "  │"
        yield from mine
        before = link


def _boundary(chain: Chain, columns: int) -> list[str]:
    follows = f": {chain.engine} follows {chain.url or 'Git'}" if chain.engine else ""
    path = f" in {chain.path}" if chain.path and follows else ""
    lines = table.wrap(_one_line(f"bootstrap ends here, Git begins{follows}{path}"), max(columns - 6, 20))
    return [f"  ┄┄┄ {lines[0]}", *(f"      {each}" for each in lines[1:])]


def _name(link: ChainLink) -> str:
    return _one_line(link.name)


def _says(link: ChainLink) -> str:
    if link.members in ((), (link.name,)):
        return _one_line(link.says)
    more = f" and {len(link.members) - _NAMED} more" if len(link.members) > _NAMED else ""
    names = f"{', '.join(link.members[:_NAMED])}{more}"
    return _one_line(f"{names}: {link.says}" if link.side == Side.GITOPS else f"{link.says}: {names}")


def data(explanations: Sequence[Explanation]) -> MeaningsData:
    """Every meaning, with stable names."""
    return {
        "meanings": [
            {
                "sort": each.sort,
                "name": each.name,
                "clusters": each.clusters,
                "parts": [
                    {
                        "name": part.name,
                        "sentences": [
                            {"text": one.text, "place": diagnostic_data.place(one.place), "command": one.command}
                            for one in part.sentences
                        ],
                    }
                    for part in each.parts
                ],
                "see": each.see,
            }
            for each in explanations
        ]
    }


def chain_data(chains: Sequence[Chain]) -> ChainsData:
    """The chain of each cluster."""
    return {
        "chains": [
            {
                "cluster": chain.cluster,
                "engine": chain.engine,
                "url": chain.url,
                "path": chain.path,
                "links": [
                    {
                        "name": each.name,
                        "says": each.says,
                        "phase": each.phase,
                        "side": each.side,
                        "level": each.level,
                        "members": each.members,
                    }
                    for each in chain.links
                ],
            }
            for chain in chains
        ]
    }
