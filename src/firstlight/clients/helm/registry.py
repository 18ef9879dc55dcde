"""The files in which Helm looks for credentials, made for one run and kept in memory.

Nothing but names and passwords goes into them: no helper that would have to be run is ever named.
"""

import base64
import json
from collections.abc import Mapping

from firstlight.model import credentials, remote_url
from firstlight.model.secret import Secret

NAME = "firstlight"
"""What a repository is called for the time of a run."""


def config(logins: Mapping[str, credentials.Login]) -> Secret:
    """The logins of registries, by address, as Docker writes them down."""
    auths = {}
    for address, login in logins.items():
        pair = login.username.encode() + b":" + login.password.reveal()
        auths[address] = {"auth": base64.b64encode(pair).decode()}
    return Secret(json.dumps({"auths": auths}))


def repositories(url: remote_url.RemoteUrl, login: credentials.Login) -> Secret:
    """A list of the one repository, with its login."""
    entry = {
        "name": NAME,
        "url": url.text,
        "username": login.username,
        "password": login.password.reveal().decode(errors="surrogateescape"),
        "pass_credentials_all": False,
    }
    return Secret(json.dumps({"apiVersion": "", "repositories": [entry]}))
