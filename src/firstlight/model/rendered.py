"""What a renderer made."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Rendered:
    """Manifests as text; they are not shown, since there may be Secrets among them."""

    text: str = dataclasses.field(repr=False)
    warnings: tuple[str, ...] = ()
    """What the renderer said besides."""
