"""The pixels of a PNG as browsers write it, without a library."""
import struct
import zlib


def pixels(png):
    """Rows of brightnesses, 0 to 255, of a PNG of 8 bits a channel, RGB or RGBA, not interlaced."""
    at, data, header = 8, b"", None
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at : at + 8])
        body = png[at + 8 : at + 8 + size]
        if kind == b"IHDR":
            header = struct.unpack(">IIBBBBB", body)
        elif kind == b"IDAT":
            data += body
        at += size + 12
    width, height, depth, colour, _, _, interlaced = header
    assert depth == 8 and colour in (2, 6) and not interlaced, header
    channels, raw = 3 if colour == 2 else 4, zlib.decompress(data)
    before, rows = bytearray(width * channels), []
    for y in range(height):
        start = y * (width * channels + 1)
        kind, row = raw[start], bytearray(raw[start + 1 : start + 1 + width * channels])
        for i in range(len(row)):
            a, b, c = (
                (row[i - channels] if i >= channels else 0),
                before[i],
                (before[i - channels] if i >= channels else 0),
            )
            if kind == 4:
                p = a + b - c
                guess = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
            else:
                guess = (0, a, b, (a + b) // 2)[kind]
            row[i] = (row[i] + guess) & 255
        before = row
        rows.append([sum(row[x : x + 3]) // 3 for x in range(0, len(row), channels)])
    return rows
