"""The part of ``firstlight change start`` that renders the network plugin anew where a machine config has it inline."""

import contextlib
import sys
from typing import TYPE_CHECKING

from firstlight import errors

if TYPE_CHECKING:
    from firstlight.model.platform import Platform
    from firstlight.operate.deciding.deciding import Decided


async def regenerated(platform: "Platform", found: "Decided", *, offline: bool = False) -> bool:
    """Render what a change of the work tree has left behind; whether any file is another one now.

    What is committed or staged is the user's word: it is left as it is, and the walk says what is missing in it.

    Args:
        platform: The repo as it is on the disk.
        found: The change.
        offline: Fetch no charts.

    Raises:
        errors.Refused: It cannot be embedded.
    """
    from firstlight.cli import render_inline
    from firstlight.operate.changing import cni_choosing
    from firstlight.render.inline import file

    if found.states.is_committed or not found.states.is_checked_out:
        return False
    is_new = False
    for component in cni_choosing.inline(found):
        paths = dict.fromkeys(each.place.path for each in component.origins if cni_choosing.is_inline(each))
        for path in paths:
            before = file.read(platform.root, path)
            options = render_inline.Options(file=path)
            with contextlib.redirect_stdout(sys.stderr):
                code = await render_inline.embed(platform, component, options, offline=offline)
            if code:
                raise errors.Refused(
                    f"{component.name} cannot be rendered into {path}",
                    hint=f"See why: firstlight render {component.name} --cluster {component.cluster} --inline {path}",
                )
            is_new |= file.read(platform.root, path) != before
    return is_new
