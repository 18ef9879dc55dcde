"""The API of OCI's distribution specification 1.1, over plain HTTP."""

import asyncio
import re
import urllib.parse
from collections.abc import AsyncIterator, Sequence

import msgspec
from aiohttp import web

from firstlight.lab import http_serving
from firstlight.lab.sources import declarations, oci_artifacts, registry_store, source_names
from firstlight.lab.sources.declarations import DeclaredSources, SealedAccess
from firstlight.lab.sources.registry_store import BlobUpload, BlobUploads, RegistryStore
from firstlight.lab.sources.source_faults import ServerName

IDLE = 60
"""Seconds without a byte from the client, after which a request is over."""
PAGE = 1000
"""Names in an answer, if the client does not say how many it wants."""
_CHALLENGE = 'Basic realm="firstlight lab registry", charset="UTF-8"'
_VERSION = {"Docker-Distribution-Api-Version": "registry/2.0"}
_PATH = re.compile(
    r"/v2/(?P<name>[^%]+)/(?:(?P<manifests>manifests|referrers)/(?P<reference>[^/]+)"
    r"|blobs/uploads/(?P<upload>[0-9a-f-]{36})|(?P<start>blobs/uploads/?)|blobs/(?P<blob>[^/]+)|(?P<tags>tags/list))"
)
_RANGE = re.compile(r"(?:bytes[ =])?(\d+)-(\d+)")
_FALLBACK = re.compile(r"sha256-[0-9a-f]{64}")
_STATUS = {
    "BLOB_UNKNOWN": 404, "MANIFEST_UNKNOWN": 404, "NAME_UNKNOWN": 404, "BLOB_UPLOAD_UNKNOWN": 404,
    "RANGE_INVALID": 416, "TOOMANYREQUESTS": 429, "DENIED": 403, "UNAUTHORIZED": 401, "UNSUPPORTED": 405,
    "UNAVAILABLE": 503,
}  # fmt: skip
"""Those that are not 400."""


class RegistryRefusal(Exception):
    """A request that is answered with an error of the specification."""

    def __init__(self, code: str, message: str, *, status: int = 0, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status or _STATUS.get(code, 400)
        self.headers = headers or {}


class RegistryServer:
    """Serves a store."""

    name: ServerName = "registry"

    def __init__(self, declared: DeclaredSources, store: RegistryStore, under_way: BlobUploads) -> None:
        self._declared = declared
        self._store = store
        self._uploads = under_way

    def repository(self, path: str) -> str:
        """The repository of a path."""
        match = _PATH.fullmatch(path)
        return match["name"] if match else ""

    def refusal(self, status: int, message: str) -> web.Response:
        """An error in the specification's form."""
        code = next((code for code, known in _STATUS.items() if known == status), "UNKNOWN")
        return _error(RegistryRefusal(code, message, status=status))

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Whatever the specification has."""
        try:
            response = await self._answer(request)
        except RegistryRefusal as error:
            return _error(error)
        except registry_store.TooLargeError as error:
            return _error(RegistryRefusal("SIZE_INVALID", str(error), status=413))
        response.headers.extend(_VERSION)
        return response

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        path = request.rel_url.raw_path
        if path in ("/v2", "/v2/"):
            return self._ping(request)
        if path == "/v2/_catalog":
            return self._catalog(request)
        match = _PATH.fullmatch(path)
        if not match:
            raise RegistryRefusal("NAME_UNKNOWN", "not found")
        name = match["name"]
        if not source_names.is_oci(name):
            raise RegistryRefusal("NAME_INVALID", "no repository can have this name")
        self._admit(request, name)
        if match["manifests"]:
            reference = urllib.parse.unquote(match["reference"])
            return await self._of_manifest(request, name, match["manifests"], reference)
        if match["tags"]:
            return self._tags(request, name)
        if match["blob"]:
            return self._of_blob(request, name, urllib.parse.unquote(match["blob"]))
        if match["start"]:
            return await self._start(request, name)
        return await self._of_upload(request, name, match["upload"])

    # -- who may ask

    def _admit(self, request: web.Request, name: str) -> None:
        wanted: declarations.Level = "read" if request.method in ("GET", "HEAD") else "write"
        self._judge(request, self._declared.oci(name), wanted, f"{wanted} {name}")

    def _judge(self, request: web.Request, sealed: SealedAccess, wanted: declarations.Level, what: str) -> None:
        header = request.headers.get("Authorization", "")
        verdict = declarations.judge(header, wanted, sealed, self._declared.registry.values())
        request[http_serving.USER] = verdict.user
        if verdict.status == 401:
            problem = "wrong credentials" if header else f"credentials are needed to {what}"
            raise RegistryRefusal("UNAUTHORIZED", problem)
        if verdict.status == 403:
            raise RegistryRefusal("DENIED", f"{verdict.user or 'this token'} may not {what}")

    def _may_read(self, request: web.Request, name: str) -> bool:
        header = request.headers.get("Authorization", "")
        return (
            declarations.judge(header, "read", self._declared.oci(name), self._declared.registry.values()).status == 200
        )

    def _ping(self, request: web.Request) -> web.Response:
        """Open unless the whole registry is closed: clients of public repositories ask here without credentials."""
        _expect(request, "GET", "HEAD")
        root = self._declared.registry.get("", SealedAccess())
        self._judge(request, root, "none", "use this registry")
        if root.anonymous == "none" and not request.headers.get("Authorization"):
            raise RegistryRefusal("UNAUTHORIZED", "credentials are needed to use this registry")
        return _json({})

    # -- names

    def _catalog(self, request: web.Request) -> web.Response:
        _expect(request, "GET")
        self._judge(request, self._declared.registry.get("", SealedAccess()), "none", "list repositories")
        seen = [name for name in self._store.repositories() if self._may_read(request, name)]
        page, headers = _page(request, seen)
        return _json({"repositories": page}, headers)

    def _tags(self, request: web.Request, name: str) -> web.Response:
        _expect(request, "GET")
        if not self._store.exists(name):
            raise RegistryRefusal("NAME_UNKNOWN", f"no repository {name}")
        page, headers = _page(request, self._store.tags(name))
        return _json({"name": name, "tags": page}, headers)

    # -- manifests

    async def _of_manifest(self, request: web.Request, name: str, what: str, reference: str) -> web.Response:
        if what == "referrers":
            _expect(request, "GET")
            return self._referrers(request, name, _digest(reference))
        if not source_names.DIGEST.fullmatch(reference) and not source_names.TAG.fullmatch(reference):
            code = "DIGEST_INVALID" if ":" in reference else "TAG_INVALID"
            raise RegistryRefusal(code, "this is neither a tag nor a sha256 digest")
        match request.method:
            case "GET" | "HEAD":
                return self._get_manifest(request, name, reference)
            case "PUT":
                return await self._put_manifest(request, name, reference)
            case "DELETE":
                is_tag = source_names.TAG.fullmatch(reference)
                delete = self._store.delete_tag if is_tag else self._store.delete_manifest
                if not delete(name, reference):
                    raise RegistryRefusal("MANIFEST_UNKNOWN", f"{name} has no manifest {reference}")
                return web.Response(status=202)
        raise _not_for(request)

    def _get_manifest(self, request: web.Request, name: str, reference: str) -> web.Response:
        stored = self._store.manifest(name, reference)
        if stored is not None:
            content, media_type = stored.content, stored.media_type
        elif _FALLBACK.fullmatch(reference) and (found := self._store.referrers(name, reference.replace("-", ":", 1))):
            # For clients that know only the tag which stands for referrers where there is no such API.
            content, media_type = oci_artifacts.manifest_index(found), oci_artifacts.OCI_INDEX
        else:
            raise RegistryRefusal("MANIFEST_UNKNOWN", f"{name} has no manifest {reference}")
        digest = oci_artifacts.content_digest(content)
        headers = {"Docker-Content-Digest": digest, "ETag": f'"{digest}"', "Content-Type": media_type}
        if request.headers.get("If-None-Match") == headers["ETag"]:
            return web.Response(status=304, headers=headers)
        return web.Response(body=content, headers=headers)

    async def _put_manifest(self, request: web.Request, name: str, reference: str) -> web.Response:
        content = b""
        async for chunk in _body(request):
            content += chunk
            if len(content) > oci_artifacts.MANIFEST_LIMIT:
                raise RegistryRefusal(
                    "MANIFEST_INVALID", f"more than {oci_artifacts.MANIFEST_LIMIT >> 20} MiB", status=413
                )
        digest = oci_artifacts.content_digest(content)
        is_tag = not source_names.DIGEST.fullmatch(reference)
        if not is_tag and digest != reference:
            raise RegistryRefusal("DIGEST_INVALID", f"a manifest with digest {digest} came")
        try:
            parsed = oci_artifacts.parse_manifest(content, request.content_type)
        except oci_artifacts.InvalidManifestError as error:
            raise RegistryRefusal("MANIFEST_INVALID", str(error)) from error
        if missing := self._store.missing(name, parsed):
            raise RegistryRefusal("MANIFEST_BLOB_UNKNOWN", f"{name} does not have {missing[:100]}, or of another size")
        self._store.put_manifest(name, content, request.content_type, tag=reference if is_tag else "")
        headers = {"Location": f"/v2/{name}/manifests/{digest}", "Docker-Content-Digest": digest}
        if parsed.subject is not None:
            headers["OCI-Subject"] = parsed.subject.digest
        return web.Response(status=201, headers=headers)

    def _referrers(self, request: web.Request, name: str, digest: str) -> web.Response:
        found = self._store.referrers(name, digest)
        headers = {"Content-Type": oci_artifacts.OCI_INDEX}
        if wanted := request.query.get("artifactType"):
            found = tuple(each for each in found if each.artifact_type == wanted)
            headers["OCI-Filters-Applied"] = "artifactType"
        return web.Response(body=oci_artifacts.manifest_index(found), headers=headers)

    # -- blobs

    def _of_blob(self, request: web.Request, name: str, reference: str) -> web.StreamResponse:
        digest = _digest(reference)
        path = self._store.blob(name, digest)
        if path is None:
            raise RegistryRefusal("BLOB_UNKNOWN", f"{name} has no blob {digest}")
        if request.method == "DELETE":
            if not self._store.delete_blob(name, digest):
                raise RegistryRefusal("BLOB_UNKNOWN", f"{digest} of {name} is a manifest")
            return web.Response(status=202)
        _expect(request, "GET", "HEAD", "DELETE")
        headers = {"Content-Type": "application/octet-stream", "Docker-Content-Digest": digest}
        return web.FileResponse(path, headers=headers)

    async def _start(self, request: web.Request, name: str) -> web.Response:
        _expect(request, "POST")
        mount, source = request.query.get("mount", ""), request.query.get("from", "")
        is_named = source_names.DIGEST.fullmatch(mount) and source_names.is_oci(source)
        if is_named and self._may_read(request, source) and self._store.blob(source, mount) is not None:
            self._store.link(name, mount)
            return _created(name, mount)
        upload = self._uploads.start(name)
        if upload is None:
            raise RegistryRefusal("TOOMANYREQUESTS", f"{registry_store.MOST_UPLOADS} uploads are under way")
        if "digest" in request.query:
            try:
                return await self._complete(request, upload)
            finally:
                if self._uploads.get(name, upload.id) is not None:
                    self._uploads.drop(upload)
        return web.Response(status=202, headers=_progress(upload))

    async def _of_upload(self, request: web.Request, name: str, identity: str) -> web.Response:
        upload = self._uploads.get(name, identity)
        if upload is None:
            raise RegistryRefusal("BLOB_UPLOAD_UNKNOWN", "no such upload is under way")
        if upload.is_busy:
            raise RegistryRefusal("BLOB_UPLOAD_INVALID", "another request goes on with this upload", status=409)
        match request.method:
            case "GET":
                return web.Response(status=204, headers=_progress(upload))
            case "PATCH":
                await self._append(request, upload)
                return web.Response(status=202, headers=_progress(upload))
            case "PUT":
                return await self._complete(request, upload)
            case "DELETE":
                self._uploads.drop(upload)
                return web.Response(status=204)
        raise _not_for(request)

    async def _append(self, request: web.Request, upload: BlobUpload) -> None:
        given = request.headers.get("Content-Range")
        if given is not None:
            match = _RANGE.fullmatch(given.strip())
            if not match or int(match[1]) != upload.size:
                raise RegistryRefusal(
                    "RANGE_INVALID", f"the next byte is {upload.size}", headers=_progress(upload), status=416
                )
            length = int(match[2]) - int(match[1]) + 1
            if request.content_length not in (None, length):
                raise RegistryRefusal("SIZE_INVALID", f"{given} is not {request.content_length} bytes")
        await upload.append(_body(request))

    async def _complete(self, request: web.Request, upload: BlobUpload) -> web.Response:
        digest = _digest(request.query.get("digest", ""))
        await self._append(request, upload)
        try:
            content = await self._uploads.complete(upload, digest)
        except registry_store.WrongDigestError as error:
            raise RegistryRefusal("DIGEST_INVALID", str(error)) from error
        self._store.adopt(upload.repository, digest, content)
        return _created(upload.repository, digest)


async def _body(request: web.Request) -> AsyncIterator[bytes]:
    try:
        while True:
            async with asyncio.timeout(IDLE):
                chunk = await request.content.readany()
            if not chunk:
                return
            yield chunk
    except TimeoutError as error:
        raise RegistryRefusal("SIZE_INVALID", f"nothing came for {IDLE} s", status=408) from error
    except web.RequestPayloadError as error:
        raise RegistryRefusal("SIZE_INVALID", "the body broke off") from error


def _page(request: web.Request, found: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """A part of a sorted list, and where the next part is."""
    wanted = request.query.get("n", str(PAGE))
    if not wanted.isdecimal() or len(wanted) > 9:
        raise RegistryRefusal("PAGINATION_NUMBER_INVALID", "n is a number")
    count, last = int(wanted), request.query.get("last", "")
    rest = [name for name in found if name > last]
    page = rest[:count]
    if not page or len(rest) <= count:
        return page, {}
    query = urllib.parse.urlencode({"n": count, "last": page[-1]})
    return page, {"Link": f'<{request.rel_url.raw_path}?{query}>; rel="next"'}


def _digest(text: str) -> str:
    if not source_names.DIGEST.fullmatch(text):
        raise RegistryRefusal("DIGEST_INVALID", "this is no sha256 digest")
    return text


def _expect(request: web.Request, *methods: str) -> None:
    if request.method not in methods:
        raise _not_for(request)


def _not_for(request: web.Request) -> RegistryRefusal:
    return RegistryRefusal("UNSUPPORTED", f"this is not for {http_serving.shown(request.method)}")


def _progress(upload: BlobUpload) -> dict[str, str]:
    return {
        "Location": f"/v2/{upload.repository}/blobs/uploads/{upload.id}",
        "Range": f"0-{max(upload.size - 1, 0)}",
        "Docker-Upload-UUID": upload.id,
    }


def _created(name: str, digest: str) -> web.Response:
    headers = {"Location": f"/v2/{name}/blobs/{digest}", "Docker-Content-Digest": digest}
    return web.Response(status=201, headers=headers)


def _json(value: object, headers: dict[str, str] | None = None) -> web.Response:
    return web.Response(body=msgspec.json.encode(value), content_type="application/json", headers=headers)


def _error(error: RegistryRefusal) -> web.Response:
    challenge = {"WWW-Authenticate": _CHALLENGE} if error.status == 401 else {}
    return web.Response(
        status=error.status, body=msgspec.json.encode({"errors": [{"code": error.code, "message": error.message}]}),
        content_type="application/json", headers={**_VERSION, **challenge, **error.headers},
    )  # fmt: skip
