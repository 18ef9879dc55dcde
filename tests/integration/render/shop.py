"""A place where charts are to be had, for tests."""

import dataclasses
import itertools

from firstlight.lab.sources.control_messages import SourcesStatus
from firstlight.lab.sources.sources_client import SourcesClient
from tests.integration.render import repos
from tests.integration.render.repos import Kitchen

_numbers = itertools.count(1)


@dataclasses.dataclass(frozen=True)
class Shop:
    """The servers, and names in them that nobody else uses."""

    sources: SourcesClient
    at: SourcesStatus

    def fresh(self, prefix: str = "shelf") -> str:
        return f"{prefix}{next(_numbers)}"

    def oci(self, prefix: str) -> str:
        return f"oci://{self.at.registry}/{prefix}"

    def served(self, kitchen: Kitchen) -> Kitchen:
        """A kitchen that may speak to the servers without TLS."""
        return dataclasses.replace(kitchen, plain_http=repos.plain([self.at.registry, self.at.charts, self.at.git]))
