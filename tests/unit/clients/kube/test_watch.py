from hypothesis import given
from hypothesis import strategies as st

from firstlight.clients.kube import watch


@given(st.lists(st.binary(max_size=20)))
def test_lines_do_not_depend_on_where_chunks_end(chunks: list[bytes]) -> None:
    splitter = watch.LineSplitter(keep_empty=True)

    found = [line for chunk in chunks for line in splitter.feed(chunk)]

    assert [*found, splitter.rest()] == b"".join(chunks).split(b"\n")


def test_empty_lines_are_left_out_of_events() -> None:
    assert watch.LineSplitter().feed(b"\n{}\r\n\n \n[]\n") == [b"{}\r", b"[]"]
