"""What a scheduler does is no late waking, whatever is lost of it; a CPU that is ahead shows."""

from random import Random

from building import BOOTTIME, snapshot, trace
from hypothesis import example, given, settings
from hypothesis import strategies as st
from reading import opened
from scheduling import Switch, Waking, bundle

S = 10**9


class Scheduler:
    """Threads that sleep, are woken, preempted and moved between CPUs, at random."""

    def __init__(self, seed, cpus, threads):
        self.random = Random(seed)
        self.now = S
        self.running = dict.fromkeys(range(cpus), 0)
        self.last_cpu = {10 + k: k % cpus for k in range(threads)}
        self.sleeping = set(self.last_cpu)
        self.ready = set()
        self.events = []

    def run(self, steps):
        for _ in range(steps):
            self.now += self.random.randrange(1, 100)
            cpu = self.random.choice(list(self.running))
            thread = self.running[cpu]
            choice = self.random.random()
            if choice < 0.35 and self.sleeping:
                self.wake(cpu)
            elif choice < 0.4:
                self.wake_running(cpu)
            elif choice < 0.6 and thread:
                self.switch(cpu, state=self.random.choice([1, 2, 0x80]))
            elif choice < 0.7 and thread:
                self.switch(cpu, state=self.random.choice([0, 0x100, 0x1000]))
            elif not thread and self.ready:
                self.switch(cpu, state=0)
        return self.events

    def wake(self, cpu):
        thread = self.random.choice(sorted(self.sleeping))
        self.sleeping.remove(thread)
        self.ready.add(thread)
        self.events.append(Waking(self.now, cpu, thread, self.last_cpu[thread]))

    def wake_running(self, cpu):
        """Between its decision to sleep and its switch: it goes on."""
        running = [(on, thread) for on, thread in self.running.items() if thread and on != cpu]
        if running:
            on, thread = self.random.choice(running)
            self.events.append(Waking(self.now, cpu, thread, on))

    def switch(self, cpu, state):
        before = self.running[cpu]
        if before:
            (self.sleeping if state & 0xFF else self.ready).add(before)
        now = self.random.choice([0, *sorted(self.ready - {before})])
        self.ready.discard(now)
        if now:
            self.last_cpu[now] = cpu
        self.running[cpu] = now
        self.events.append(Switch(self.now, cpu, before, now, state))


def read(events, chosen, *, compact, keep=lambda: True, each=40):
    """What is found in the events, in bundles of so many; those not kept are lost."""
    packets = []
    cpus = sorted({one.cpu for one in events})
    lost = dict.fromkeys(cpus, False)
    for start in range(0, len(events), each * len(cpus)):
        part = events[start : start + each * len(cpus)]
        chosen.shuffle(cpus)
        for cpu in cpus:
            own = [one for one in part if one.cpu == cpu]
            if not own or not keep():
                lost[cpu] = lost[cpu] or bool(own)
                continue
            packets.append(bundle(cpu, own, compact=compact, lost_events=lost[cpu]))
            lost[cpu] = False
    data = trace(snapshot({BOOTTIME: S}, 1), *packets)
    with opened(data) as opened_trace:
        reading = opened_trace.columns(written=100)
        for _ in reading:
            pass
    return reading.late_wakings


seeds = st.integers(0, 2**32)


def whole(cpu, ns):
    return True


def not_recorded(cpu, ns):
    return cpu != 1


def ends_early(cpu, ns):
    return cpu != 1 or ns < S + 5_000


def begins_late(cpu, ns):
    return cpu != 1 or ns > S + 12_000


@settings(max_examples=60)
@example(88, 5, 3, True, 0.6, 5, whole)
@example(183, 4, 5, True, 0.2, 5, whole)
@example(904, 5, 5, False, 0.6, 5, whole)
@given(
    seeds,
    st.integers(1, 5),
    st.integers(1, 8),
    st.booleans(),
    st.sampled_from([0, 0.2, 0.6, 0.9]),
    st.integers(1, 5),
    st.sampled_from([whole, not_recorded, ends_early, begins_late]),
)
def test_a_scheduler_wakes_before_it_switches(seed, cpus, threads, compact, lost, each, has):
    """Whatever is lost: bundles, a CPU's last events or its first, all of one CPU."""
    events = [one for one in Scheduler(seed, cpus, threads).run(400) if has(one.cpu, one.ns)]
    chosen = Random(seed)
    found = read(events, chosen, compact=compact, keep=lambda: chosen.random() >= lost, each=each)
    assert found.shape == (11, 0)


@settings(max_examples=20)
@given(seeds, st.booleans(), st.integers(20, 200))
def test_certain_ones_are_never_further_apart_than_the_cpus(seed, compact, ahead):
    events = Scheduler(seed, 3, 5).run(600)
    ahead_of = [0, ahead, -ahead]
    events = [one._replace(ns=one.ns + ahead_of[one.cpu]) for one in events]
    found = read(events, Random(seed), compact=compact)
    certain = found[:, found[10] == 1]
    assert (certain[9] - certain[6] <= 2 * ahead).all()
    assert (found[9] > found[6]).all()
    assert (found[8] != found[5]).all()


def test_a_cpu_that_is_ahead_shows():
    n = 0
    for seed in range(20):
        events = [
            one._replace(ns=one.ns + 150 * (one.cpu == 1)) for one in Scheduler(seed, 3, 5).run(600)
        ]
        n += read(events, Random(seed), compact=True).shape[1] > 0
    assert n >= 18
