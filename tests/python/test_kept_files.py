"""Files that clients keep with a server, by the stubs of the Core API."""

import grpc
import pytest
from deephaven_core.proto import storage_pb2 as asks
from deephaven_core.proto import storage_pb2_grpc

import tickframe as tf
from deephaven_clients import port_of

CALLS = ["ListItems", "FetchFile", "SaveFile", "MoveItem", "CreateDirectory", "DeleteItem"]


class Files:
    """A client of a server."""

    def __init__(self, srv):
        self.channel = grpc.insecure_channel(f"127.0.0.1:{port_of(srv)}")
        self.stub = storage_pb2_grpc.StorageServiceStub(self.channel)
        self.metadata = [("authorization", f"Bearer {srv.token}")]

    def call(self, method, request):
        return getattr(self.stub, method)(request, metadata=self.metadata, timeout=20)

    def save(self, path, contents, **how):
        return self.call("SaveFile", asks.SaveFileRequest(path=path, contents=contents, **how)).etag

    def fetch(self, path, **how):
        return self.call("FetchFile", asks.FetchFileRequest(path=path, **how))

    def names(self, path, **how):
        return [item.path for item in self.call("ListItems", asks.ListItemsRequest(path=path, **how)).items]

    def refused(self, method, request):
        with pytest.raises(grpc.RpcError) as caught:
            self.call(method, request)
        return caught.value.code().name, caught.value.details()


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "files").mkdir()
    (tmp_path / "secret").write_text("nobody's")
    return tmp_path / "files"


@pytest.fixture
def files(folder):
    with tf.serve(storage=folder) as srv:
        files = Files(srv)
        yield files
        files.channel.close()


def test_a_client_keeps_files(files, folder):
    files.call("CreateDirectory", asks.CreateDirectoryRequest(path="/notebooks"))
    etag = files.save("/notebooks/a.py", b"x = 1\n")
    assert (folder / "notebooks" / "a.py").read_bytes() == b"x = 1\n"
    found = files.fetch("/notebooks/a.py")
    assert (found.contents, found.etag) == (b"x = 1\n", etag)
    assert files.fetch("/notebooks/a.py", etag=etag).contents == b""
    assert files.refused("SaveFile", asks.SaveFileRequest(path="/notebooks/a.py")) == (
        "ALREADY_EXISTS",
        'there is a "/notebooks/a.py" already',
    )
    assert files.save("/notebooks/a.py", b"x = 2\n", allow_overwrite=True) != etag
    files.save("/notebooks/b.md", b"")
    listed = files.call("ListItems", asks.ListItemsRequest(path="/notebooks/"))
    assert listed.canonical_path == "/notebooks"
    assert [(item.path, item.type, item.size) for item in listed.items] == [
        ("a.py", asks.FILE, 6),
        ("b.md", asks.FILE, 0),
    ]
    assert files.names("/notebooks", filter_glob="*.{py,ipynb}") == ["a.py"]
    assert files.names("/") == ["notebooks"]
    files.call("MoveItem", asks.MoveItemRequest(old_path="/notebooks/a.py", new_path="/a.py"))
    files.call("DeleteItem", asks.DeleteItemRequest(path="/notebooks/b.md"))
    files.call("DeleteItem", asks.DeleteItemRequest(path="/notebooks"))
    assert [path.name for path in folder.iterdir()] == ["a.py"]


@pytest.mark.parametrize(
    "path", ["/../secret", "../secret", "/a/../../secret", "secret", "//secret", "/a\\..\\..\\secret", "/\x01"]
)
@pytest.mark.parametrize("call", CALLS)
def test_a_path_leads_nowhere_else(files, folder, call, path):
    kind = {"MoveItem": {"old_path": path, "new_path": "/b"}}.get(call, {"path": path})
    request = getattr(asks, f"{call}Request")(**kind)
    code, told = files.refused(call, request)
    assert code == "INVALID_ARGUMENT"
    assert str(folder.parent) not in told
    if call == "MoveItem":
        files.save("/a", b"")
        code, _ = files.refused(call, asks.MoveItemRequest(old_path="/a", new_path=path, allow_overwrite=True))
        assert code == "INVALID_ARGUMENT"
    assert (folder.parent / "secret").read_text() == "nobody's"


def test_a_link_is_not_there(files, folder):
    (folder / "out").symlink_to(folder.parent)
    (folder / "file").symlink_to(folder.parent / "secret")
    assert files.names("/") == []
    assert files.refused("ListItems", asks.ListItemsRequest(path="/out")) == ("NOT_FOUND", 'there is no "/out"')
    for path in ("/out/secret", "/file"):
        assert files.refused("FetchFile", asks.FetchFileRequest(path=path)) == ("NOT_FOUND", f'there is no "{path}"')
        code, told = files.refused("SaveFile", asks.SaveFileRequest(path=path, contents=b"x", allow_overwrite=True))
        assert code in {"NOT_FOUND", "ALREADY_EXISTS"}
        assert str(folder.parent) not in told
    assert (folder.parent / "secret").read_text() == "nobody's"


def test_a_file_is_as_long_as_the_limit_and_no_longer(files, folder):
    with tf.serve(storage=folder) as srv:
        most = srv.limits["storage_file"]
    files.save("/a", b"x" * most)
    assert len(files.fetch("/a").contents) == most
    code, told = files.refused("SaveFile", asks.SaveFileRequest(path="/b", contents=b"x" * (most + 1)))
    assert (code, str(most) in told) == ("RESOURCE_EXHAUSTED", True)
    (folder / "long").write_bytes(b"x" * (most + 1))
    assert files.refused("FetchFile", asks.FetchFileRequest(path="/long"))[0] == "RESOURCE_EXHAUSTED"


def test_a_server_without_a_folder_keeps_nothing():
    with tf.serve() as srv:
        files = Files(srv)
        for call in CALLS:
            told = files.refused(call, getattr(asks, f"{call}Request")())
            assert told == ("UNIMPLEMENTED", "this server keeps no files")
        files.channel.close()


def test_who_has_no_token_reaches_no_file(files):
    files.metadata = []
    for call in CALLS:
        assert files.refused(call, getattr(asks, f"{call}Request")())[0] == "UNAUTHENTICATED"


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        (7, tf.errors.TypeMismatchError, "serve: storage is a path of a folder, not int"),
        ("", ValueError, "serve: storage: an empty text is no path"),
        ("there/is/none", tf.errors.MissingFileError, "cannot keep files"),
        (__file__, tf.errors.StorageError, "cannot keep files"),
    ],
)
def test_a_mistake_at_the_call_is_told(given, kind, words):
    with pytest.raises(kind, match=words):
        tf.serve(storage=given)
