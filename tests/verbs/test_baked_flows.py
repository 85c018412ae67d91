"""Arrows and ends of slices of other formats, baked: those that trace_processor has of the source."""

import pytest
from baked_events import bake_file, packets_of, slices_of
from json_slicing import document, event
from span_files import otlp, simulated_world


@pytest.fixture
def bake(tmp_path):
    def baked(content, policy="floor"):
        path = tmp_path / "trace"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return bake_file(path, tmp_path / "baked.pftrace", policy)

    return baked


class TestFlows:
    def arrows(self, made):
        """(from, to, name, category) of each arrow, as packets say it: each has a flow of its own."""
        begun, found, last = {}, [], None
        for one in (p.track_event for p in packets_of(made.data) if p.HasField("track_event")):
            legacy = one.legacy_event
            if legacy.phase:
                found_id = legacy.unscoped_id
                said = (one.name or None, ",".join(one.categories) or None)
            else:
                last = one.name
                found_id, said = None, (None, None)
            for flow in [found_id] if legacy.phase == ord("s") else one.flow_ids:
                assert flow not in begun
                begun[flow] = last
            for flow in [found_id] if legacy.phase == ord("t") else one.terminating_flow_ids:
                found.append((begun.pop(flow), last, *said))
        assert not begun
        return found

    def test_an_arrow_joins_the_slices_around_its_ends(self, bake):
        made = bake(
            document(
                event("X", 10, "outer", dur=90),
                event("X", 20, "sender", dur=10),
                event("X", 60, "receiver", dur=10, tid=2),
                event("s", 25, "go", id=7, cat="c"),
                event("f", 65, "go", id=7, cat="c", tid=2, bp="e"),
            )
        )
        assert self.arrows(made) == [("sender", "receiver", "go", "c")]
        assert made.summary.left_out_by == {}

    @pytest.mark.parametrize("at", [55, 21])
    def test_an_end_that_does_not_bind_around_is_of_the_next_slice(self, bake, at):
        made = bake(
            document(
                event("X", 10, "sender", dur=5),
                event("X", 20, "before", dur=10, tid=2),
                event("X", 60, "receiver", dur=10, tid=2),
                event("s", 12, "go", id=7),
                event("f", at, "go", id=7, tid=2),
            )
        )
        assert self.arrows(made) == [("sender", "receiver", "go", None)]

    def test_tid_0_is_the_main_thread(self, bake):
        made = bake(
            document(
                event("X", 10, "call", dur=5, pid=9, tid=9),
                event("X", 20, "kernel", dur=5, pid=2, tid=0),
                event("s", 10, "go", id=7, pid=9, tid=9),
                event("f", 20, "go", id=7, pid=2, tid=0, bp="e"),
            )
        )
        assert self.arrows(made) == [("call", "kernel", "go", None)]

    def test_one_begin_may_have_two_ends(self, bake):
        made = bake(
            document(
                *(event("X", t, f"slice {t}", dur=5, tid=t) for t in (10, 20, 30)),
                event("s", 11, "go", id=7, tid=10),
                *(event("f", t + 1, "go", id=7, tid=t, bp="e") for t in (20, 30)),
            )
        )
        assert [one[:2] for one in self.arrows(made)] == [
            ("slice 10", "slice 20"),
            ("slice 10", "slice 30"),
        ]

    def test_a_step_ends_one_arrow_and_begins_the_next(self, bake):
        made = bake(
            document(
                *(event("X", t, f"slice {t}", dur=5, tid=t) for t in (10, 20, 30)),
                *(
                    event(p, t + 1, "go", id=7, tid=t, bp="e")
                    for p, t in zip("stf", (10, 20, 30), strict=True)
                ),
            )
        )
        assert [one[:2] for one in self.arrows(made)] == [
            ("slice 10", "slice 20"),
            ("slice 20", "slice 30"),
        ]

    def test_an_id_that_begins_again_goes_on_from_where_it_began_first(self, bake):
        made = bake(
            document(
                *(event("X", t, f"slice {t}", dur=5, tid=t) for t in (10, 20, 30)),
                *(event("s", t + 1, "go", id=7, tid=t) for t in (10, 20)),
                event("f", 31, "go", id=7, tid=30, bp="e"),
            )
        )
        assert [one[:2] for one in self.arrows(made)] == [("slice 10", "slice 30")]
        assert made.summary.left_out_by == {"flow_begun_before": 1}

    def test_a_slice_that_is_over_has_flows_until_the_next_one_begins(self, bake):
        made = bake(
            document(
                event("X", 10, "over", dur=5),
                event("s", 18, "go", id=7),
                event("X", 20, "a", dur=5, tid=2),
                event("f", 28, "go", id=7, tid=2, bp="e"),
            )
        )
        assert [one[:2] for one in self.arrows(made)] == [("over", "a")]

    def test_slices_bound_by_bind_id_are_joined(self, bake):
        made = bake(
            document(
                event("X", 10, "a", dur=5, bind_id="0x77", flow_out=True),
                event("B", 20, "b", bind_id="0x77", flow_in=True, flow_out=True, tid=2),
                event("n", 30, "c", bind_id="0x77", flow_in=True, id=1),
                event("X", 40, "d", dur=5, bind_id="0x77"),
            )
        )
        assert self.arrows(made) == [("a", "b", None, None), ("b", "c", None, None)]
        assert made.summary.left_out_by == {"flow_without_direction": 1}

    @pytest.mark.parametrize(
        ("fields", "why"),
        [
            ({"ph": "s", "ts": 12, "id": 7, "tid": 5}, "flow_outside_slices"),
            ({"ph": "f", "ts": 12, "id": 8, "bp": "e"}, "flow_not_begun"),
            ({"ph": "t", "ts": 12, "id": 8}, "flow_not_begun"),
            ({"ph": "s", "ts": 12, "id": "no number"}, "flow_without_id"),
            ({"ph": "s", "ts": 12}, "flow_without_id"),
        ],
    )
    def test_what_makes_no_arrow_is_counted_with_its_reason(self, bake, fields, why):
        phase, ts = fields.pop("ph"), fields.pop("ts")
        made = bake(document(event("X", 10, "a", dur=9), event(phase, ts, "go", **fields)))
        assert (made.summary.left_out, made.summary.left_out_by) == (1, {why: 1})
        assert self.arrows(made) == []

    def test_an_arrow_back_is_not_written_but_counted(self, bake):
        made = bake(
            document(
                event("X", 10, "into", dur=5, tid=1),
                event("X", 10, "out", dur=5, tid=2),
                event("s", 10, "go", id=7, tid=2),
                event("f", 10, "go", id=7, tid=1, bp="e"),
            )
        )
        assert made.summary.left_out_by == {"arrow_back": 1}

    def test_spans_are_joined_to_parents_elsewhere(self, bake):
        made = bake(otlp(*simulated_world(1, hosts=2, calls=5).groups), "tube")
        arrows = self.arrows(made)
        assert arrows
        assert made.summary.left_out_by == {}


class TestEnds:
    """An end is of the slice that it is of in the source."""

    def test_an_end_may_name_an_outer_slice(self, bake):
        made = bake(
            document(event("B", 10, "A"), event("B", 12, "B"), event("E", 20, "A", args={"q": 1}))
        )
        assert [one[:4] for one in made.slices] == [("A", 10_000, 10_000, 0), ("B", 12_000, -1, 1)]

    def test_or_have_its_category(self, bake):
        made = bake(
            document(
                event("B", 10, "d", cat="c1"),
                event("B", 12, "d", cat="c2"),
                event("E", 20, "d", cat="c1"),
            )
        )
        assert [one[:4] for one in made.slices] == [("d", 10_000, 10_000, 0), ("d", 12_000, -1, 1)]

    def test_a_complete_event_may_hold_one_that_does_not_end(self, bake):
        made = bake(document(event("X", 10, "outer", dur=10), event("B", 12, "lost")))
        assert [one[1:4] for one in made.slices] == [(12_000, -1, 1), (10_000, 10_000, 0)]

    def test_one_of_the_same_name_ends_with_it(self, bake):
        made = bake(
            document(
                event("X", 10, "f", dur=10),
                event("B", 12, "f"),
                event("B", 13, "g"),
                event("B", 14, "f"),
            )
        )
        assert [one[:4] for one in made.slices] == [
            ("f", 10_000, 10_000, 0),
            ("f", 12_000, 8_000, 1),
            ("f", 14_000, 6_000, 3),
            ("g", 13_000, -1, 2),
        ]

    def test_what_a_later_event_cuts_off_has_no_arguments_of_the_outer_end(self, tmp_path):
        path = tmp_path / "t.json"
        path.write_text(
            document(
                event("B", 10, "A"),
                event("B", 12, "B"),
                event("E", 20, "A", args={"q": 1}),
                event("i", 30, "later", s="t"),
            )
        )
        assert [(one[0], one[2], one[-1]) for one in slices_of(path)] == [
            ("A", 10_000, '{"q": 1}'),
            ("B", 8_000, None),
            ("later", 0, None),
        ]
