"""A plain protobuf wire reader, as lenient as Perfetto's protozero is."""

from __future__ import annotations

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
MAX_FIELD_ID = (1 << 24) - 1
MAX_LENGTH = 256 * 1024 * 1024 - 1

U64 = 1 << 64
INT64_MIN = -(1 << 63)
INT64_MAX = (1 << 63) - 1


def signed(value: int) -> int:
    """The int64 with the same low 64 bits."""
    value &= U64 - 1
    return value - U64 if value >> 63 else value


def fits(value: int) -> bool:
    return INT64_MIN <= value <= INT64_MAX


def saturate(value: int) -> int:
    return max(INT64_MIN, min(INT64_MAX, value))


def varint(data: bytes, pos: int, end: int) -> tuple[int, int] | None:
    """(value, next position), or None where it is cut off or longer than ten bytes."""
    value = 0
    for i in range(10):
        if pos + i >= end:
            return None
        byte = data[pos + i]
        value |= (byte & 0x7F) << (7 * i)
        if byte < 0x80:
            return value & (U64 - 1), pos + i + 1
    return None


class Message:
    """The fields of one message up to its first malformed field.

    `complete` tells whether the bytes were used up.
    """

    def __init__(self, data: bytes) -> None:
        self.fields: list[tuple[int, int, int | bytes]] = []
        self.by_id: dict[int, list[tuple[int, int | bytes]]] = {}
        pos, end = 0, len(data)
        while pos < end:
            tag = varint(data, pos, end)
            if tag is None:
                break
            number, wire = (tag[0] >> 3) & 0xFFFFFFFF, tag[0] & 7
            at = tag[1]
            if number == 0 or at >= end:
                break
            value: int | bytes
            if wire in (VARINT, BYTES):
                read = varint(data, at, end)
                if read is None:
                    break
                value, at = read
                if wire == BYTES:
                    if read[0] > end - at:
                        break
                    value, at = data[at : at + read[0]], at + read[0]
            elif wire in (FIXED64, FIXED32):
                size = 8 if wire == FIXED64 else 4
                if at + size > end:
                    break
                value, at = int.from_bytes(data[at : at + size], "little"), at + size
            else:
                break
            pos = at
            if number > MAX_FIELD_ID or (isinstance(value, bytes) and len(value) > MAX_LENGTH):
                continue
            self.fields.append((number, wire, value))
            self.by_id.setdefault(number, []).append((wire, value))
        self.complete = pos == end

    def has(self, number: int) -> bool:
        return number in self.by_id

    def uint64(self, number: int) -> int:
        found = self.by_id.get(number)
        return as_number(found[-1][1]) if found else 0

    def int64(self, number: int) -> int:
        return signed(self.uint64(number))

    def uint32(self, number: int) -> int:
        return self.uint64(number) & 0xFFFFFFFF

    def int32(self, number: int) -> int:
        value = self.uint32(number)
        return value - (1 << 32) if value >> 31 else value

    def flag(self, number: int) -> bool:
        return self.uint64(number) != 0

    def bytes(self, number: int) -> bytes:
        found = self.by_id.get(number)
        return as_bytes(found[-1][1]) if found else b""

    def message(self, number: int) -> Message:
        return Message(self.bytes(number))

    def messages(self, number: int) -> list[Message]:
        return [Message(as_bytes(value)) for _, value in self.by_id.get(number, [])]

    def numbers(self, number: int) -> list[int]:
        """A repeated field that is not packed."""
        return [as_number(value) for _, value in self.by_id.get(number, [])]

    def packed(self, number: int) -> list[int]:
        """A packed field: only its last occurrence counts, up to the first malformed varint."""
        found = self.by_id.get(number)
        if not found or not isinstance(found[-1][1], bytes):
            return []
        data, pos, values = found[-1][1], 0, []
        while pos < len(data):
            read = varint(data, pos, len(data))
            if read is None:
                break
            values.append(read[0])
            pos = read[1]
        return values


def as_number(value: int | bytes) -> int:
    return value if isinstance(value, int) else 0


def as_bytes(value: int | bytes) -> bytes:
    return value if isinstance(value, bytes) else b""
