"""The orders that a supervisor takes, over a unix socket: HTTP in, JSON out."""

import shutil
from collections.abc import Awaitable, Callable
from typing import Protocol

import msgspec
from aiohttp import web

from firstlight import errors
from firstlight.lab import lab_directory, lab_settings
from firstlight.lab.lab_status import LabStatus
from firstlight.lab.part_keeper import Keeper


class OrderHandler(Protocol):
    """Who carries them out."""

    home: lab_directory.LabDirectory
    keepers: dict[str, Keeper]

    @property
    def is_stopping(self) -> bool:
        """Whether it takes no orders any more."""

    def status(self) -> LabStatus:
        """All parts, now."""

    async def save(self, name: str) -> None:
        """Keep the state under a name."""

    async def restore(self, name: str) -> None:
        """Put a state back."""

    async def change(self, wanted: lab_settings.LabSettings) -> None:
        """Take new settings."""

    def retry(self) -> None:
        """Try again what was given up."""

    def stop(self) -> None:
        """End the lab."""


class SupervisorOrders:
    """The requests, and what each means."""

    def __init__(self, supervisor: OrderHandler) -> None:
        self._lab = supervisor

    def app(self) -> web.Application:
        """What listens."""
        app = web.Application(middlewares=[self._answer_for_errors])
        app.router.add_get("/status", self._get_status)
        app.router.add_post("/parts/{part}/{action}", self._post_part)
        app.router.add_post("/machines/{machine}/{action}", self._post_machine)
        app.router.add_post("/save/{name}", self._named(self._lab.save))
        app.router.add_post("/restore/{name}", self._named(self._lab.restore))
        app.router.add_post("/settings", self._post_settings)
        app.router.add_post("/retry", self._post_retry)
        app.router.add_post("/stop", self._post_stop)
        return app

    @web.middleware
    async def _answer_for_errors(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        if self._lab.is_stopping:
            return _refused(503, f"lab {self._lab.home.name} is stopping")
        try:
            return await handler(request)
        except shutil.Error as error:
            reasons = error.args[0]
            return _refused(500, f"{reasons[0][2] if reasons else error}; nothing was changed")
        except OSError as error:
            return _refused(500, str(error))
        except (ValueError, errors.UsageError) as error:
            return _refused(400, str(error))

    async def _get_status(self, request: web.Request) -> web.Response:
        return _json(self._lab.status())

    async def _post_part(self, request: web.Request) -> web.Response:
        keepers = self._lab.keepers
        each = keepers.get(request.match_info["part"])
        if each is None:
            return _refused(404, f"no part {request.match_info['part']!r}; there are {', '.join(keepers)}")
        match request.match_info["action"]:
            case "kill" | "stop" | "continue" | "slow" if not each.status().pid:
                return _refused(409, f"{each.part.name} has no process now")
            case "kill":
                each.kill()
            case "stop":
                each.pause()
            case "continue":
                each.unpause()
            case "slow":
                each.slow(float(request.query.get("share", "0.1")))
            case other:
                return _refused(400, f"no action {other!r}; there are kill, stop, continue and slow")
        return _json(each.status())

    async def _post_machine(self, request: web.Request) -> web.Response:
        machines = {name: each for name, each in self._lab.keepers.items() if each.part.switch is not None}
        each = machines.get(request.match_info["machine"])
        if each is None:
            there = f"there are {', '.join(machines)}" if machines else "the lab has none"
            return _refused(404, f"no machine {request.match_info['machine']!r}; {there}")
        match request.match_info["action"]:
            case "on":
                each.switch_on()
            case "off":
                each.switch_off("switched off")
            case other:
                return _refused(400, f"no action {other!r}; there are on and off")
        return _json(each.status())

    def _named(self, action: Callable[[str], Awaitable[None]]) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def handle(request: web.Request) -> web.Response:
            name = request.match_info["name"]
            if not lab_directory.LAB_NAME.fullmatch(name):
                return _refused(400, f"{name!r} cannot be a name")
            await action(name)
            return _json(self._lab.status())

        return handle

    async def _post_settings(self, request: web.Request) -> web.Response:
        await self._lab.change(msgspec.json.decode(await request.read(), type=lab_settings.LabSettings))
        return _json(self._lab.status())

    async def _post_retry(self, request: web.Request) -> web.Response:
        self._lab.retry()
        return _json(self._lab.status())

    async def _post_stop(self, request: web.Request) -> web.Response:
        self._lab.stop()
        return _json(self._lab.status())


def _json(value: object) -> web.Response:
    return web.Response(body=msgspec.json.encode(value), content_type="application/json")


def _refused(code: int, message: str) -> web.Response:
    return web.Response(status=code, text=message)
