"""What came out of a renderer, before what the engine does to all objects alike."""

import dataclasses

from firstlight.model.component import ObjectId
from firstlight.model.remark import Grade, Remark
from firstlight.model.rendition import Object


@dataclasses.dataclass(frozen=True)
class Raw:
    """Objects and remarks."""

    objects: tuple[Object, ...] = ()
    remarks: tuple[Remark, ...] = ()
    namespace: str = ""
    """Where objects go that name no namespace; empty where they must name one."""
    release: str = ""
    """The name of the Helm release that they are part of; empty if they are part of none."""
    unreleased: tuple[ObjectId, ...] = ()
    """Those that are in no release all the same: Helm applies the chart's directory ``crds`` by itself."""

    @property
    def is_whole(self) -> bool:
        """Whether nothing is wrong with it."""
        return all(each.grade != Grade.ERROR for each in self.remarks)


def joined(*parts: Raw) -> Raw:
    """Several as one, all of which go to the namespace of the first."""
    objects = tuple(each for part in parts for each in part.objects)
    remarks = tuple(each for part in parts for each in part.remarks)
    return Raw(objects, remarks, parts[0].namespace if parts else "")
