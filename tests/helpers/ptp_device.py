"""A PTP hardware clock byte by byte, as include/uapi/linux/ptp_clock.h has its calls."""

import errno
import struct

from tracetime.sources.ptp import HostOffset

S = 10**9
PRECISE, EXTENDED, PLAIN = 0xC0403D08, 0xC4C03D09, 0x43403D05
SIZES = {PRECISE: 64, EXTENDED: 1216, PLAIN: 832}


def ptp_time(ns):
    """struct ptp_clock_time: __s64 sec, __u32 nsec, __u32 reserved."""
    return struct.pack("=qII", ns // S, ns % S, 0)


class World:
    """True time is MONOTONIC_RAW; each reading of a clock takes the next of some delays.

    Args:
        delays_ns: taken in turn, again and again.
        device_ns, device_ppm: by how much the device is ahead at 0, and runs faster.
        real_ns, real_ppm: the same of REALTIME.
        supported: the calls that the driver has.
    """

    def __init__(
        self,
        delays_ns=(40,),
        device_ns=1_700_000_037 * S,
        device_ppm=0,
        real_ns=1_700_000_000 * S,
        real_ppm=0,
        supported=(PLAIN, EXTENDED, PRECISE),
    ):
        self.now_ns, self.delays, self.turn = 1_000 * S, delays_ns, 0
        self.device_0, self.device_ppm = device_ns, device_ppm
        self.real_0, self.real_ppm = real_ns, real_ppm
        self.supported, self.calls, self.steps = supported, [], []

    def tick(self):
        self.now_ns += self.delays[self.turn % len(self.delays)]
        self.turn += 1
        return self.now_ns

    def device(self, at_ns):
        return self.device_0 + at_ns + at_ns * self.device_ppm // 10**6

    def real(self, at_ns):
        if self.steps and self.turn >= self.steps[0][0]:
            self.real_0 += self.steps.pop(0)[1]
        return self.real_0 + at_ns + at_ns * self.real_ppm // 10**6

    def pair(self):
        before = self.tick()
        real_ns = self.real(self.tick())
        width = self.tick() - before
        raw_ns = before + width // 2
        return HostOffset(raw_ns, real_ns - raw_ns, width - width // 2 + 1)

    def ioctl(self, fd, request, data):
        self.calls.append(request)
        if request not in self.supported:
            raise OSError(errno.EOPNOTSUPP, "Operation not supported")
        assert len(data) == SIZES[request] == request >> 16 & 0x3FFF
        assert not any(data[4:])
        if request == PRECISE:
            at = self.tick()
            data[:48] = b"".join(map(ptp_time, (self.device(at), self.real(at), at)))
            return 0
        (samples,) = struct.unpack_from("=I", data)
        assert samples == 25
        per_sample = (self.real, self.device, self.real)[: 3 if request == EXTENDED else 2]
        times = [read(self.tick()) for _ in range(samples) for read in per_sample]
        if request == PLAIN:
            times.append(self.real(self.tick()))
        data[16 : 16 + 16 * len(times)] = b"".join(map(ptp_time, times))
        return 0
