"""What ``op`` prints of items, as JSON and for people."""

import json
from typing import Any

from firstlight.lab.standins import op_session, standin_vaults


def as_json(shape: object) -> str:
    """JSON with the indentation of ``op``."""
    return json.dumps(shape, indent=2, ensure_ascii=False) + "\n"


def whoami(mine: op_session.LocalSession, *, as_json: bool) -> str:
    """Who is signed in."""
    is_human = mine.kind == "HUMAN"
    shape = {
        "url": mine.url,
        **({"email": mine.email} if is_human else {}),
        "user_uuid": mine.identifier,
        "account_uuid": mine.identifier,
        "user_type": mine.kind,
    }
    if as_json:
        return json.dumps(shape, indent=2) + "\n"
    if is_human:
        rows = [("URL:", mine.url), ("Email:", mine.email), ("User ID:", mine.identifier)]
    else:
        rows = [("URL:", mine.url), ("Integration ID:", mine.identifier), ("User Type:", mine.kind)]
    width = max(len(name) for name, _ in rows) + 4
    return "".join(f"{name:<{width}}{value}\n" for name, value in rows)


def item(vault: standin_vaults.StandinVault, item: standin_vaults.VaultItem) -> dict[str, Any]:
    """An item with all that it has."""
    return {
        "id": item.id,
        "title": item.title,
        **({"tags": list(item.tags)} if item.tags else {}),
        "version": item.version,
        "vault": {"id": vault.id, "name": vault.name},
        "category": item.category,
        "last_edited_by": "FIRSTLIGHTLABSTANDIN",
        "created_at": item.created,
        "updated_at": item.updated,
        **({"sections": [_section(each) for each in item.sections]} if item.sections else {}),
        "fields": [field(vault, item, each) for each in item.fields],
        **({"files": [_file(vault, item, each) for each in item.files]} if item.files else {}),
    }


def field(
    vault: standin_vaults.StandinVault, item: standin_vaults.VaultItem, field: standin_vaults.VaultField
) -> dict[str, Any]:
    """A field, with its value and its reference; an empty value is left out."""
    section = field.section.label if field.section else ""
    path = [vault.name, item.title, *([section] if section else []), field.label]
    return {
        "id": field.id,
        **({"section": _section(field.section)} if field.section else {}),
        "type": field.type,
        **({"purpose": field.purpose} if field.purpose else {}),
        "label": field.label,
        **({"value": field.value} if field.value else {}),
        "reference": f"op://{'/'.join(path)}",
    }


def as_text(vault: standin_vaults.StandinVault, item: standin_vaults.VaultItem, *, reveal: bool) -> str:
    """An item for people."""
    head = {
        "ID": item.id, "Title": item.title, "Vault": f"{vault.name} ({vault.id})", "Created": item.created,
        "Updated": item.updated, "Favorite": "false", **({"Tags": ",".join(item.tags)} if item.tags else {}),
        "Version": str(item.version), "Category": item.category,
    }  # fmt: skip
    lines = [f"{name + ':':<13}{value}" for name, value in head.items()]
    width = max((len(each.label) for each in item.fields), default=0) + 5
    fields = [f"  {each.label + ':':<{width}}{shown(item, each, reveal=reveal)}" for each in item.fields if each.value]
    return "\n".join([*lines, *(["Fields:", *fields] if fields else [])]) + "\n"


def shown(item: standin_vaults.VaultItem, field: standin_vaults.VaultField, *, reveal: bool) -> str:
    """The value of a field for people, who have to ask for what is concealed."""
    if field.type == "CONCEALED" and not reveal:
        return f"[use 'op item get {item.id} --reveal' to reveal]"
    return field.value


def _section(section: standin_vaults.VaultSection) -> dict[str, str]:
    return {"id": section.id, "label": section.label}


def _file(
    vault: standin_vaults.StandinVault, item: standin_vaults.VaultItem, file: standin_vaults.VaultAttachment
) -> dict[str, Any]:
    return {
        "id": file.id,
        "name": file.name,
        "size": len(file.content),
        "content_path": f"/v1/vaults/{vault.id}/items/{item.id}/files/{file.id}/content",
        **({"section": _section(file.section)} if file.section else {}),
    }
