"""Another machine over a network, simulated: its clock drifts, and messages take what a test says."""

from __future__ import annotations

from tracetime.hosts.messages import Epoch, OffsetBounds, read_reply
from tracetime.hosts.ping import Pinging
from tracetime.hosts.servers import Responder
from tracetime.hosts.transports import TimedReply

US = 1_000
MS = 1_000_000
S = 1_000_000_000
START = 1000 * S


def steady():
    return OffsetBounds(0, -100, 100)


class Network:
    """Another machine whose BOOTTIME drifts, over delays that a function gives; no real time."""

    def __init__(self, offset_ns, drift_ppm, delay, suspended=steady):
        self.now, self.delay = START, delay
        self.offset_ns, self.drift_ppm = offset_ns, drift_ppm
        self.responder = Responder(epoch=Epoch(suspended))

    def there(self):
        return self.now + self.offset_ns + round((self.now - START) * self.drift_ppm / 1e6)

    def here_at(self, there_ns):
        """What this machine's clock read when the other one's read `there_ns`."""
        gone = (there_ns - START - self.offset_ns) / (1 + self.drift_ppm / 1e6)
        return START + round(gone)

    def truth(self):
        return self.there() - self.now

    def exchange(self, request, take, timeout_s):
        sent = self.now
        self.now += self.delay()
        nonce = self.responder.take(request, "client", self.there())
        received = self.there()
        # No whole us: the readings would seem to be those of a clock that ticks.
        self.now += 3011
        data = self.responder.reply(nonce, received, self.there(), None)
        self.now += self.delay()
        if data is None or read_reply(data) is None:
            return None
        return TimedReply(take(data), sent, self.now)

    def close(self):
        pass


def pinged(network, bursts, pause_ns, epoch=None):
    pinging = Pinging(network, epoch=epoch or Epoch(steady))
    for _ in range(bursts):
        pinging.burst()
        network.now += pause_ns
    return pinging
