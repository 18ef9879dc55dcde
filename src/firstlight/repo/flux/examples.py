"""Files that show how something could be written, and deploy nothing."""

from firstlight.repo.manifest import Manifest

_NAMES = {"template", "templates", "example", "examples", "sample", "samples", "archive", "archived", "testdata"}


def is_example_path(path: str) -> bool:
    """Whether a file is in a directory of templates, examples or things that were put away."""
    return any(part.strip("._").lower() in _NAMES for part in path.split("/")[:-1])


def is_example(manifest: Manifest) -> bool:
    """Whether an object is written in such a file."""
    return is_example_path(manifest.place.path)
