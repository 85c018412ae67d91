"""The kind of machine that a trace was recorded on, by what its first packets say."""

import pytest
from building import event, packet, pb, trace

import tracetime as tt

UNAME = pb.Utsname(sysname="Linux", machine="aarch64", release="5.10.1", version="#1 SMP")
PRINT = "google/oriole/oriole:13/TQ1A/900:user/release-keys"


def info(**fields):
    return packet(system_info=pb.SystemInfo(**fields))


def cpus(*names):
    return packet(cpu_info=pb.CpuInfo(cpus=[pb.CpuInfo.Cpu(processor=name) for name in names]))


def facts(tmp_path, *packets):
    path = tmp_path / "t.pftrace"
    path.write_bytes(trace(*packets, event(5)))
    with tt.open_trace(path) as opened:
        return opened.machine_facts()


@pytest.mark.parametrize(
    ("packets", "model"),
    [
        ((), "unknown"),
        ((info(utsname=UNAME),), "Linux aarch64"),
        ((info(utsname=UNAME), cpus("A78", "A55", "A55")), "A55"),
        ((cpus("", "A78", "A55"), info(utsname=UNAME)), "A78"),
        ((cpus(""), info(utsname=UNAME)), "Linux aarch64"),
        ((info(utsname=UNAME, android_build_fingerprint=PRINT), cpus("A78")), "google/oriole"),
        (
            (info(android_build_fingerprint=PRINT, android_soc_model="GS101"),),
            "google/oriole GS101",
        ),
        ((info(android_device_manufacturer="Acme", android_soc_model="X1"),), "Acme X1"),
        ((info(android_build_fingerprint="nonsense"),), "unknown"),
    ],
)
def test_the_model_is_what_says_most(tmp_path, packets, model):
    assert facts(tmp_path, *packets).model == model


def test_kernel_and_host_are_those_of_the_first_machine(tmp_path):
    guest = packet(system_info=pb.SystemInfo(utsname=pb.Utsname(release="9")), machine=7)
    first, later = info(utsname=UNAME, machine_name="ci-7"), info(utsname=pb.Utsname(release="8"))
    assert facts(tmp_path, guest, first, later)[:3] == ("Linux aarch64", "5.10.1", "ci-7")


def test_foreign_text_is_one_short_line(tmp_path):
    found = facts(tmp_path, packet(system_info=pb.SystemInfo()), cpus("a\n b\t" + "c" * 5000))
    assert found.model == "a b " + "c" * 96
    # A field that is text holds bytes that are none.
    bad = trace(pb.TracePacket(cpu_info=pb.CpuInfo(cpus=[pb.CpuInfo.Cpu(processor="xy")])))
    (tmp_path / "bad").write_bytes(bad.replace(b"xy", b"x\xff") + trace(event(5)))
    with tt.open_trace(tmp_path / "bad") as opened:
        assert opened.machine_facts().model == "x\\xff"
