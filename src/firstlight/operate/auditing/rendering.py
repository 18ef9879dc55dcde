"""What components really deploy, for rules that look at that; what could not be rendered is said, not raised."""

from collections.abc import Awaitable, Callable, Sequence

from firstlight.model.platform import Platform
from firstlight.model.remark import Grade
from firstlight.model.rendition import Rendition
from firstlight.render import rendering
from firstlight.render.rendering import Progress, Renderer

Opener = Callable[[Platform, Progress], Awaitable[Renderer]]


async def rendered(
    platform: Platform,
    *,
    clusters: Sequence[str] = (),
    open_renderer: Opener,
    say: Callable[[str], None] = lambda text: None,
) -> tuple[tuple[Rendition, ...], tuple[str, ...]]:
    """The renditions of all components, and which of them are not whole.

    Args:
        platform: What is rendered.
        clusters: Only these; all by default.
        open_renderer: How components are rendered.
        say: Told how far it is.

    Raises:
        errors.ToolError: A program is missing.
    """
    wanted = [each for each in platform.components if not clusters or each.cluster in clusters]
    total = sum(len(rendering.sides(each)) for each in wanted)
    done = 0

    def progress(component: object, side: object, outcome: object) -> None:
        nonlocal done
        if outcome is not None:
            done += 1
            say(f"rendering, {done} of {total}")

    say(f"rendering, 0 of {total}")
    async with await open_renderer(platform, progress) as renderer:
        outcomes = await renderer.render_all(wanted)
    found = tuple(each.rendition for each in outcomes)
    broken = [each for each in found if any(remark.grade is Grade.ERROR for remark in each.remarks)]
    return found, tuple(_said(each) for each in broken)


def _said(rendition: Rendition) -> str:
    why = next(each for each in rendition.remarks if each.grade is Grade.ERROR)
    return f"{rendition.component} in {rendition.cluster} is not rendered whole: {why.message} ({why.place})"
