"""Owners of a cluster's objects as data, for JSON: keys are added, never renamed or removed."""

import collections
from typing import Any

from firstlight.model.component import ObjectId
from firstlight.model.owner import Flaw, ObjectOwner, OwnedObject, OwnerMap


def data(whole: OwnerMap, shown: OwnerMap) -> dict[str, Any]:
    """Everything that was found.

    Args:
        whole: What is counted: every object, or those of a namespace, kind or owner that is asked for.
        shown: Those that are asked for.
    """
    alone = collections.Counter(each.owner for each in whole.objects if each.under is None)
    brought = collections.Counter(each.owner for each in whole.objects if each.under is not None)
    flaws = collections.Counter(one.flaw for each in whole.objects for one in each.flaws)
    return {
        "cluster": whole.cluster,
        "owners": [
            {**_owner(each), "objects": alone[each], "brought": brought[each]} for each in sorted({*alone, *brought})
        ],
        "flaws": {each: flaws[each] for each in Flaw},
        "objects": [_object(each) for each in shown.objects],
        "unread": list(whole.unread),
        "notes": list(whole.notes),
    }


def _object(each: OwnedObject) -> dict[str, Any]:
    return {
        **_id(each.id),
        "apiVersion": each.api_version,
        "owner": _owner(each.owner),
        "coOwners": [_owner(one) for one in each.co_owners],
        "flaws": [{"flaw": one.flaw, "says": one.says} for one in each.flaws],
        "component": each.component,
        "broughtBy": _id(each.under) if each.under else None,
        **({"fields": {path: list(managers) for path, managers in each.fields.items()}} if each.fields else {}),
    }


def _owner(owner: ObjectOwner) -> dict[str, str]:
    return {"party": owner.party, "name": owner.name}


def _id(id: ObjectId) -> dict[str, str]:
    return {"group": id.group, "kind": id.kind, "namespace": id.namespace, "name": id.name}
