import contextlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from firstlight import errors
from firstlight.model import remote_url
from firstlight.model.remote_url import RemoteUrl

ALL = ("https", "http", "ssh", "oci", "file")


@pytest.mark.parametrize(
    ("text", "scheme", "address", "path"),
    [
        ("https://git.example.org/a/b.git", "https", "git.example.org", "/a/b.git"),
        ("https://git.example.org:8443/a%20b/~c", "https", "git.example.org:8443", "/a%20b/~c"),
        ("http://127.71.1.1:3000/git/a/b.git", "http", "127.71.1.1:3000", "/git/a/b.git"),
        ("https://[fd00::1]:1/x", "https", "[fd00::1]:1", "/x"),
        ("ssh://git@h/x", "ssh", "h", "/x"),
        ("ssh://h:22/x", "ssh", "h:22", "/x"),
        ("git@github.com:me/home-ops.git", "ssh", "github.com", "me/home-ops.git"),
        ("git@h:/srv/x", "ssh", "h", "/srv/x"),
        ("oci://ghcr.io/charts/x", "oci", "ghcr.io", "/charts/x"),
        ("oci://localhost:5000", "oci", "localhost:5000", ""),
        ("file:///srv/a b".replace(" ", "_"), "file", "", "/srv/a_b"),
    ],
)
def test_urls(text: str, scheme: str, address: str, path: str) -> None:
    url = RemoteUrl.parse(text, schemes=ALL)

    assert (url.scheme, url.address, url.path, str(url)) == (scheme, address, path, text)


@pytest.mark.parametrize(
    "text",
    ["", "x", "/srv/x", "-x", "--upload-pack=x", "ext::sh -c x", "ext::x", "fd::3", "git::https://h/x", "https://",
     "https:///x",
     "https://u:p@h/x", "https://u@h/x",
     "ssh://u:p@h/x", "ssh://-oProxyCommand=x/y", "ssh://-x@h/y", "-x@h:y", "git@-h:x",
     "git@h:-x", "h:x", "https://h/x?token=1", "https://h/x#y", "https://h/a b", "https://h/a\nb", "https://h:0/x",
     "https://h:70000/x", "https://h:x/", "https://h..i/x", "https://-h/x", "file://h/x", "file://", "file:///",
     "ftp://h/x",
     "HTTPS://h/x", "https://h\\@i/x", "https://[::g]/x", "transport::https://h", "git@h:x:y", "https://" + "h" * 2048,
     " https://h/x", "https://h/x\0", "https://h/`x`", "https://ex\u0430mple.org/x"],
)  # fmt: skip
def test_what_is_refused(text: str) -> None:
    with pytest.raises(errors.UsageError):
        RemoteUrl.parse(text, schemes=ALL)


@pytest.mark.parametrize("text", ["http://h/x", "file:///x", "git@h:x", "ssh://h/x", "oci://h/x"])
def test_only_allowed_schemes(text: str) -> None:
    with pytest.raises(errors.UsageError, match="not allowed here") as caught:
        RemoteUrl.parse(text, schemes=["https"])

    assert caught.value.hint == "write a URL of https"


def test_a_refused_password_is_not_shown() -> None:
    with pytest.raises(errors.UsageError) as caught:
        RemoteUrl.parse("https://ada:hunter2@h/x", schemes=ALL)

    assert "hunter2" not in caught.value.message
    assert "apart" in caught.value.hint


@given(
    st.one_of(
        st.text(max_size=40),
        st.text(alphabet="htps:/@-[].?#oci ext\n%", max_size=30),
        st.builds(
            lambda a, b, c: a + b + c,
            st.sampled_from(["https://", "ssh://", "git@", "oci://", "file://", "-", "ext::"]),
            st.text(alphabet="ab-.:@/[]%", max_size=12),
            st.text(max_size=5),
        ),
    )
)
@example("ssh://-oProxyCommand=touch x/y")
@example("http://@0")
def test_a_strange_string_is_refused_or_is_harmless(text: str) -> None:
    with contextlib.suppress(errors.UsageError):
        url = RemoteUrl.parse(text, schemes=ALL)
        assert not text.startswith("-")
        assert "::" not in text.split("/")[0]
        assert not url.host.startswith("-")
        assert not url.user.startswith("-")
        assert text.isprintable()
        assert " " not in text
        if url.scheme != "ssh":
            assert url.user == ""
            assert "@" not in text.split("/")[2]


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("https://ada:hunter2@h/x", "https://h/x"),
        ("https://token@h/x", "https://h/x"),
        ("at https://a:p@ss@h/x and http://b:q@i", "at https://h/x and http://i"),
        ("ssh://git@h/x", "ssh://git@h/x"),
        ("ssh://git:pw@h/x", "ssh://h/x"),
        ("git@h:x", "git@h:x"),
        ("https://h/a@b", "https://h/a@b"),
        ("https://a:b@h/x?token=hunter2", "https://h/x?token=***"),
        ("https://h/x?page=2&api_key=hunter2&sort=up", "https://h/x?page=2&api_key=***&sort=up"),
        ("https://h/x?tokenName=mine", "https://h/x?tokenName=mine"),
    ],
)
def test_credentials_are_taken_out_of_a_text(text: str, bare: str) -> None:
    assert remote_url.without_credentials(text) == bare
