"""Charts and files from real servers: resolved once, verified, kept, and to be had without them afterwards."""

import asyncio
import dataclasses
import json
import sys
from pathlib import Path

import pytest
from aiohttp import web

from firstlight import errors
from firstlight.clients import command, helm
from firstlight.lab.sources.declarations import Access, Credential
from firstlight.model.secret import Login, Secret
from firstlight.render.chart_fetch import ChartCredentials
from firstlight.render.chart_packages import FetchKind, FetchRequest
from tests.flux import chart
from tests.integration.render.repos import Kitchen
from tests.integration.render.shop import Shop

TEMPLATE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
READER = Credential("reader", "r-t0ken-of-it")
LOGIN = Login("reader", Secret("r-t0ken-of-it"))


def made(version: str, word: str = "one") -> bytes:
    return chart("hello", version, {"a.yaml": TEMPLATE}, f"word: {word}\n")


@pytest.fixture
def here(kitchen: Kitchen, shop: Shop) -> Kitchen:
    return shop.served(kitchen)


async def in_registry(shop: Shop, *versions: str, access: Access | None = None) -> FetchRequest:
    prefix = shop.fresh()
    for version in versions:
        await shop.sources.push_oci_chart(prefix, made(version))
    if access is not None:
        await shop.sources.set_oci_access(prefix, access)
    return FetchRequest(kind=FetchKind.OCI, url=f"{shop.oci(prefix)}/hello", version=versions[0])


async def in_repository(shop: Shop, *versions: str, access: Access | None = None) -> FetchRequest:
    name = shop.fresh()
    repository = await shop.sources.create_charts(name, access=access)
    for version in versions:
        await shop.sources.push_chart(name, made(version))
    return FetchRequest(kind=FetchKind.REPOSITORY, url=repository.url, name="hello", version=versions[0])


class TestResolving:
    async def test_a_range_is_resolved_once_a_run_and_kept_for_a_while(self, here: Kitchen, shop: Shop) -> None:
        exact = await in_registry(shop, "1.0.0", "1.1.0")
        ranged = dataclasses.replace(exact, version="1.x")
        store = here.store()
        first = await store.get(ranged)
        prefix = exact.url.removeprefix(f"oci://{shop.at.registry}/").removesuffix("/hello")
        await shop.sources.push_oci_chart(prefix, made("1.2.0"))

        assert first.version == "1.1.0"
        assert first.digest.startswith("sha256:")
        assert await store.get(ranged) == first
        assert (await here.store().get(ranged)).version == "1.1.0"
        assert (await here.store(refresh=True).get(ranged)).version == "1.2.0"

    async def test_a_repository_with_an_index(self, here: Kitchen, shop: Shop) -> None:
        wanted = await in_repository(shop, "1.0.0", "1.4.0", "2.0.0")
        store = here.store()
        found = await store.get(dataclasses.replace(wanted, version="~1"))

        assert (found.name, found.version) == ("hello", "1.4.0")
        assert (await store.files(found))["values.yaml"] == b"word: one\n"
        assert (await store.get(dataclasses.replace(wanted, version=""))).version == "2.0.0"

    async def test_a_digest_alone_decides(self, here: Kitchen, shop: Shop) -> None:
        wanted = await in_registry(shop, "1.0.0", "1.1.0")
        first = await here.store().get(wanted)
        pinned = FetchRequest(kind=FetchKind.OCI, url=wanted.url, digest=first.digest)

        assert (await here.store().get(pinned)).version == "1.0.0"

    async def test_a_registry_on_this_computer_is_for_the_user_to_name(
        self, kitchen: Kitchen, here: Kitchen, shop: Shop
    ) -> None:
        wanted = await in_registry(shop, "1.0.0")
        for insecure in (False, True):
            with pytest.raises(errors.Refused, match="nothing is fetched for a repo"):
                await kitchen.store().get(dataclasses.replace(wanted, insecure=insecure))

        assert (await here.store().get(wanted)).version == "1.0.0"

    async def test_a_commit_of_git(self, here: Kitchen, shop: Shop) -> None:
        name = shop.fresh("team/n")
        await shop.sources.create_git(name)
        moved = await shop.sources.commit(name, {"charts/a/Chart.yaml": b"name: a\n"}, message="a")
        wanted = FetchRequest(kind=FetchKind.GIT, url=f"{shop.at.git}{name}.git", version="main")
        found = await here.store().get(wanted)

        assert found.digest == moved.after
        assert await here.store(offline=True).files(found) == {"charts/a/Chart.yaml": b"name: a\n"}

    async def test_what_is_not_there_is_told(self, here: Kitchen, shop: Shop) -> None:
        wanted = await in_repository(shop, "1.0.0")
        with pytest.raises(helm.VersionNotFound):
            await here.store().get(dataclasses.replace(wanted, version="9.9.9"))
        with pytest.raises(helm.ChartNotFound):
            await here.store().get(dataclasses.replace(wanted, name="nobody"))


class TestFiles:
    async def test_a_file_of_the_web_is_kept_and_its_digest_insisted_on(self, here: Kitchen) -> None:
        async def answer(_: web.Request) -> web.Response:
            return web.Response(body=TEMPLATE.encode())

        application = web.Application()
        application.router.add_get("/crds.yaml", answer)
        runner = web.AppRunner(application)
        await runner.setup()
        await web.TCPSite(runner, "127.71.254.4", 0).start()
        address = "{}:{}".format(*runner.addresses[0])
        own = dataclasses.replace(here, plain_http=frozenset([address]))
        wanted = FetchRequest(kind=FetchKind.FILE, url=f"http://{address}/crds.yaml")
        try:
            found = await own.store().get(wanted)
            with pytest.raises(errors.Refused):
                await own.store().get(dataclasses.replace(wanted, digest=f"sha256:{'0' * 64}"))
            with pytest.raises(errors.UsageError):
                await here.store().get(dataclasses.replace(wanted, url=f"{wanted.url}?new"))  # not by TLS
        finally:
            await runner.cleanup()

        assert await here.store(offline=True).content(found) == TEMPLATE.encode()
        assert (await here.store(offline=True).get(wanted)).pin.digest == found.digest


class TestOffline:
    async def test_what_was_fetched_once_needs_no_server(self, here: Kitchen, shop: Shop) -> None:
        charts = [await in_registry(shop, "1.0.0"), await in_repository(shop, "1.3.0")]
        before = [await here.store().get(each) for each in charts]
        nowhere = dataclasses.replace(here, plain_http=frozenset())
        store = nowhere.store(offline=True)

        assert [await store.get(each) for each in charts] == before
        assert ["Chart.yaml" in await store.files(each) for each in before] == [True, True]

    async def test_what_was_not_is_refused_with_the_way_out(self, here: Kitchen, shop: Shop) -> None:
        wanted = await in_registry(shop, "1.0.0")
        with pytest.raises(errors.ClientError, match="not in the cache") as caught:
            await here.store(offline=True).get(wanted)
        assert "--offline" in caught.value.hint


class TestTrust:
    async def test_a_tag_that_was_moved_is_refused(self, here: Kitchen, shop: Shop) -> None:
        wanted = await in_registry(shop, "1.0.0")
        first = await here.store().get(wanted)
        prefix = wanted.url.removeprefix(f"oci://{shop.at.registry}/").removesuffix("/hello")
        await shop.sources.push_oci_chart(prefix, made("1.0.0", word="evil"), force=True)

        # As long as the content is there nobody asks the registry again.
        assert await here.store().get(wanted) == first
        (here.home / "charts" / "content" / first.sum).unlink()
        with pytest.raises(errors.Refused, match="was sha256"):
            await here.store().get(wanted)
        assert (await here.store(refresh=True).get(wanted)).digest != first.digest

    async def test_a_damaged_archive_is_fetched_again_and_never_used(self, here: Kitchen, shop: Shop) -> None:
        wanted = await in_registry(shop, "1.0.0")
        found = await here.store().get(wanted)
        place = here.home / "charts" / "content" / found.sum
        sound = place.read_bytes()
        place.write_bytes(sound[:-4] + b"evil")

        assert await here.store().content(found) == sound
        place.write_bytes(sound[:-4] + b"evil")
        with pytest.raises(errors.ClientError):
            await here.store(offline=True).content(found)

    async def test_files_and_directories_are_for_the_user_alone(self, here: Kitchen, shop: Shop) -> None:
        await here.store().get(await in_registry(shop, "1.0.0"))
        modes = {each.stat().st_mode & 0o077 for each in (here.home / "charts").rglob("*") if each.is_file()}
        assert modes == {0}


class TestCredentials:
    async def test_a_registry_gets_the_login_that_is_for_it(self, here: Kitchen, shop: Shop) -> None:
        wanted = await in_registry(shop, "1.0.0", access=Access((READER,)))
        with pytest.raises(helm.HelmUnauthorised) as caught:
            await here.store().get(wanted)
        assert f"helm registry login {shop.at.registry}" in caught.value.hint
        own = dataclasses.replace(here, credentials=ChartCredentials({shop.at.registry: LOGIN}))

        assert (await own.store().get(wanted)).version == "1.0.0"
        assert "r-t0ken" not in "".join(each.read_text() for each in (here.home / "charts/pins").iterdir())

    async def test_a_repository_gets_it_only_at_its_own_url(self, here: Kitchen, shop: Shop) -> None:
        wanted = await in_repository(shop, "1.0.0", access=Access((READER,)))
        other = dataclasses.replace(here, credentials=ChartCredentials({}, {f"{wanted.url}-other": LOGIN}))
        with pytest.raises(helm.HelmUnauthorised):
            await other.store().get(wanted)
        own = dataclasses.replace(here, credentials=ChartCredentials({}, {wanted.url.rstrip("/"): LOGIN}))

        assert (await own.store().get(wanted)).version == "1.0.0"

    async def test_a_program_that_keeps_logins_is_named_and_not_run(self, here: Kitchen, shop: Shop) -> None:
        wanted = await in_registry(shop, "1.0.0", access=Access((READER,)))
        own = dataclasses.replace(here, credentials=ChartCredentials(helpers={"": "docker-credential-pass"}))
        with pytest.raises(helm.HelmUnauthorised) as caught:
            await own.store().get(wanted)
        assert "docker-credential-pass" in caught.value.hint

    @pytest.mark.parametrize("how", ["the index names another host", "a redirect leads to another host"])
    async def test_another_host_never_sees_it(self, here: Kitchen, how: str) -> None:
        """A repository that is broken into must not get at the login by sending Helm elsewhere."""
        seen: list[tuple[str, str]] = []
        is_redirect = how.startswith("a redirect")

        async def answer(request: web.Request) -> web.Response:
            host = request.host.partition(":")[0]
            seen.append((host, request.headers.get("Authorization", "")))
            if request.path.endswith("index.yaml"):
                target = "hello-1.0.0.tgz" if is_redirect else f"http://127.71.254.3:{port}/hello-1.0.0.tgz"
                index = {
                    "apiVersion": "v1",
                    "entries": {"hello": [{"name": "hello", "version": "1.0.0", "urls": [target]}]},
                }
                return web.Response(text=json.dumps(index))
            if is_redirect and host == "127.71.254.2":
                raise web.HTTPFound(f"http://127.71.254.3:{port}/hello-1.0.0.tgz")
            return web.Response(body=made("1.0.0"))

        application = web.Application()
        application.router.add_get("/{path:.*}", answer)
        runner = web.AppRunner(application)
        await runner.setup()
        first = web.TCPSite(runner, "127.71.254.2", 0)
        await first.start()
        port = runner.addresses[0][1]
        await web.TCPSite(runner, "127.71.254.3", port).start()
        url = f"http://127.71.254.2:{port}"
        own = dataclasses.replace(
            here, plain_http=frozenset([f"127.71.254.2:{port}"]), credentials=ChartCredentials({}, {url: LOGIN})
        )
        try:
            await own.store().get(FetchRequest(kind=FetchKind.REPOSITORY, url=url, name="hello", version="1.0.0"))
        finally:
            await runner.cleanup()

        assert {host for host, shown in seen if shown} == {"127.71.254.2"}
        assert {host for host, shown in seen if not shown} == {"127.71.254.3"}


class TestTogether:
    async def test_two_processes_fetch_the_same_chart_at_the_same_time(
        self, here: Kitchen, shop: Shop, tmp_path: Path
    ) -> None:
        wanted = await in_registry(shop, "1.0.0")
        program = (
            "import asyncio, pathlib, sys\n"
            "from firstlight.render.chart_fetch import FetchClients\n"
            "from firstlight.render.chart_store import ChartStore\n"
            "from firstlight.render.chart_packages import FetchKind, FetchRequest\n"
            "helm, home, url, address = sys.argv[1:]\n"
            "means = FetchClients(pathlib.Path(helm), plain_http=frozenset([address]))\n"
            "async def run():\n"
            "    store = ChartStore(pathlib.Path(home), means)\n"
            "    found = await store.get(FetchRequest(kind=FetchKind.OCI, url=url, version='1.0.0'))\n"
            "    print(found.sum, len(await store.files(found)))\n"
            "asyncio.run(run())\n"
        )
        argv = [
            sys.executable, "-c", program, str(here.programs.helm), str(here.home / "charts"), wanted.url,
            shop.at.registry,
        ]  # fmt: skip
        done = await asyncio.gather(*(command.run(argv, cwd=tmp_path) for _ in range(3)))

        assert len({each.stdout for each in done}) == 1
        assert len(list((here.home / "charts/content").iterdir())) == 1

    async def test_many_who_ask_at_once_have_it_fetched_once(self, here: Kitchen, shop: Shop) -> None:
        wanted = await in_registry(shop, "1.0.0")
        store = here.store()
        found = await asyncio.gather(*(store.get(wanted) for _ in range(5)))
        assert len(set(found)) == 1
