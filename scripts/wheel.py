"""Builds the wheel that is shipped, into a folder: linked by zig against the oldest C library that is still common, and deflated by zopfli.

    python scripts/wheel.py dist [words for maturin]

`pip` reads deflated archives alone, so the search for the shortest such stream is all that can be done about their size; it takes a minute
or two, and three to four parts of a hundred off.
"""

import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

#: More of them find hardly anything.
ITERATIONS = 15
LOCAL, CENTRAL, END = struct.Struct("<4s5H3I2H"), struct.Struct("<4s6H3I5H2I"), struct.Struct("<4s4H2IH")


def deflated(content: bytes) -> bytes:
    """The shortest stream found: a zlib stream without its two bytes before and its checksum behind."""
    import zopfli.zlib

    stream: bytes = zopfli.zlib.compress(content, numiterations=ITERATIONS)
    return stream[2:-4]


def recompress(source: Path, goal: Path) -> None:
    """The same members in the same order, each in fewer bytes."""
    with zipfile.ZipFile(source) as old, goal.open("wb") as new:
        members = b""
        count = 0
        for info in old.infolist():
            content = old.read(info)
            packed = deflated(content) if info.compress_type == zipfile.ZIP_DEFLATED else content
            year, month, day, hour, minute, second = info.date_time
            day, time = (year - 1980) << 9 | month << 5 | day, hour << 11 | minute << 5 | second // 2
            name = info.filename.encode()
            # Of the flags, that the name is UTF-8; sizes stand before the bytes and not behind them.
            facts = (20, info.flag_bits & 0x800, info.compress_type, time, day, info.CRC, len(packed), len(content))
            place = new.tell()
            new.write(LOCAL.pack(b"PK\x03\x04", *facts, len(name), 0) + name + packed)
            attributes = (len(name), 0, 0, 0, info.internal_attr, info.external_attr, place)
            members += CENTRAL.pack(b"PK\x01\x02", info.create_system << 8 | 20, *facts, *attributes) + name
            count += 1
        new.write(members + END.pack(b"PK\x05\x06", 0, 0, count, count, len(members), new.tell(), 0))
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(goal) as new_:
        if broken := new_.testzip():
            raise SystemExit(f"{goal.name}: {broken} is not what was put in")
        if [(member.filename, member.CRC) for member in old.infolist()] != [
            (member.filename, member.CRC) for member in new_.infolist()
        ]:
            raise SystemExit(f"{goal.name} does not hold what {source.name} holds")


def main(folder: Path, words: list[str]) -> None:
    """Build, recompress, tell the size."""
    build = ["maturin", "build", "--profile", "shipped", "--zig", "--compatibility", "manylinux_2_28"]
    with tempfile.TemporaryDirectory() as built:
        subprocess.run([*build, *words, "--out", built], check=True)
        (wheel,) = Path(built).glob("*.whl")
        folder.mkdir(parents=True, exist_ok=True)
        # Under its name when it is whole: the search takes a while.
        draft = folder / f".{wheel.name}"
        recompress(wheel, draft)
        draft.replace(folder / wheel.name)
        before, after = (path.stat().st_size / 1e6 for path in (wheel, folder / wheel.name))
        print(f"{wheel.name}: {after:.1f} MB, {before:.1f} as it was built")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
