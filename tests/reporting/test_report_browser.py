"""The report in a real browser: it opens without complaint, draws, zooms, sorts, prints.

Screenshots are left in $TRACETIME_SCREENSHOTS for looking at.
"""

from random import Random

import pytest
from faults import FAULTS, GPU, Model
from places import ROOT

from tracetime import ClockDomain, open_trace, record, report

pytest_plugins = ["browser"]

DEMO = ROOT / "demo" / "demo.pftrace"
HOSTILE = "<img src=x onerror=alert(1)>"
RANGES = """name => {
    const views = Object.values(Bokeh.index).map(view => view.model);
    const at = document.querySelector(`#${name} .canvas`).firstElementChild;
    const model = views.find(m => Bokeh.index[m.id].el === at);
    const panel = (model.children ?? [model])[0];
    return [panel.x_range.start, panel.x_range.end, panel.y_range.start, panel.y_range.end];
}"""


def written(trace, path, **options):
    with open_trace(trace, partial=True, **options) as opened:
        report(opened, path)
    return path


def faulty(name, folder, called=None):
    model = Model()
    FAULTS[name](model, Random(3))
    trace = folder / (called or f"{name}.pftrace")
    trace.write_bytes(model.build())
    return trace


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    return written(DEMO, tmp_path_factory.mktemp("report") / "demo.html")


def colours(page, figure):
    """How many pixels of a picture are not empty."""
    return page.evaluate(
        """name => {
            const [view] = Object.values(Bokeh.index).filter(
                v => v.el === document.querySelector(`#${name} .canvas`).firstElementChild);
            const layer = view.export("png", false);
            const {width, height} = layer.canvas;
            const {data} = layer.canvas.getContext("2d").getImageData(0, 0, width, height);
            return data.filter((value, at) => at % 4 === 3 && value > 0).length;
        }""",
        figure,
    )


def unfold(page):
    """Open all that is folded, and wait until its pictures are drawn."""
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true;")
    for figure in page.locator("figure").all():
        figure.scroll_into_view_if_needed()
    page.wait_for_function("() => !document.querySelector('figure:not([data-drawn])')")


def test_it_opens_draws_and_zooms(visit, demo, screenshots):
    page = visit(demo)
    page.screenshot(path=screenshots / "demo-light.png", full_page=True)
    assert page.locator("figure[data-drawn]").count() == page.locator("figure:visible").count()
    unfold(page)
    for figure in page.locator("figure").all():
        assert colours(page, figure.get_attribute("id")) > 5_000
    name = "pair-1-picture"
    whole = page.evaluate(RANGES, name)
    buttons = page.locator(f"#{name} .tools button")
    buttons.nth(0).click()
    near = page.evaluate(RANGES, name)
    assert near[1] - near[0] == pytest.approx((whole[1] - whole[0]) / 2)
    page.locator(f"#{name} .frame").focus()
    page.keyboard.press("ArrowRight")
    moved = page.evaluate(RANGES, name)
    assert moved[0] > near[0]
    assert moved[1] - moved[0] == pytest.approx(near[1] - near[0])
    page.keyboard.press("0")
    assert page.evaluate(RANGES, name)[:2] == pytest.approx(whole[:2])
    # What a discontinuity's button shows: the zone is in sight, and little else.
    page.locator("#pair-1 td button.show").first.click()
    zoomed = page.evaluate(RANGES, name)
    assert whole[0] < zoomed[0] < zoomed[1] < whole[1]
    page.locator("#pair-1").screenshot(path=screenshots / "demo-zoomed.png")


def test_the_wheel_zooms_with_ctrl_and_scrolls_without(visit, demo):
    page = visit(demo)
    name = "pair-1-picture"
    page.locator(f"#{name}").scroll_into_view_if_needed()
    box = page.locator(f"#{name} .canvas").bounding_box()
    before = page.evaluate(RANGES, name)
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 100)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -300)
    page.keyboard.up("Control")
    page.wait_for_timeout(100)
    after = page.evaluate(RANGES, name)
    assert after[1] - after[0] < before[1] - before[0]
    top = page.evaluate("scrollY")
    page.mouse.wheel(0, 200)
    page.wait_for_timeout(200)
    assert page.evaluate("scrollY") > top
    assert page.evaluate(RANGES, name)[:2] == pytest.approx(after[:2])


def test_tables_sort_by_number_both_ways(visit, demo):
    page = visit(demo)
    page.locator("#snapshots > summary").click()
    table = page.locator("#snapshots table")
    head = table.get_by_role("button", name="packet")

    def column():
        return [
            int(text.replace(",", ""))
            for text in table.locator("tbody td:nth-child(2)").all_inner_texts()
        ]

    head.click()
    assert column() == sorted(column())
    assert table.locator("th[aria-sort=ascending]").count() == 1
    head.focus()
    page.keyboard.press("Enter")
    assert column() == sorted(column(), reverse=True)
    assert table.locator("th[aria-sort=descending]").inner_text().startswith("packet")


def test_hostile_names_stay_text(visit, tmp_path, screenshots):
    trace = faulty("outlier", tmp_path, f"{HOSTILE.replace('/', '')}$$\\href{{x}}$$.pftrace")
    names = [
        ClockDomain(GPU, name=HOSTILE + "</script><script>alert(2)</script>$$\\frac12$$"),
        ClockDomain("MONOTONIC_RAW", name="w" * 300),
    ]
    page = visit(written(trace, tmp_path / "hostile.html", domains=names))
    assert page.locator("img").count() == 0
    assert HOSTILE in page.locator("h1").inner_text()
    unfold(page)
    assert HOSTILE in page.locator("#clocks table").inner_text()
    assert HOSTILE[:14] in page.locator("#strip").inner_text()
    # BokehJS as text and as a script, and that of the page.
    assert page.locator("script").count() == 3 + page.locator("script.figure").count()
    page.screenshot(path=screenshots / "hostile.png", full_page=True)


def test_on_a_desktop_a_long_name_does_not_cut_the_table_of_clocks(visit, tmp_path):
    path = tmp_path / "run.pftrace"
    device = "com.example.laboratory.6d65736132322e332e36000000000000"
    with record(path, ["MONOTONIC", "REALTIME"], interval=None) as rec:
        for n in range(3):
            rec.snapshot({device: 10**9 + n * 10**9, "MONOTONIC": 2 * 10**9 + n * 10**9})
    page = visit(written(path, tmp_path / "run.html"), viewport={"width": 1280, "height": 900})
    unfold(page)
    box = page.locator("#clocks .wide:has(table)").first
    assert device in box.inner_text()
    assert box.evaluate("box => box.scrollWidth <= box.clientWidth")


def test_dark_phone_and_paper(visit, tmp_path, screenshots):
    path = written(faulty("suspend", tmp_path), tmp_path / "suspend.html")
    page = visit(path, color_scheme="dark")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert max(int(part) for part in dark[4:-1].split(",")) < 60
    page.screenshot(path=screenshots / "suspend-dark.png", full_page=True)
    page.pdf(path=screenshots / "suspend.pdf", format="A4")
    stills = page.locator("img.still")
    assert stills.count() == page.locator("figure:visible").count() > 0
    assert all(still.get_attribute("alt") for still in stills.all())
    phone = visit(path, viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True)
    phone.screenshot(path=screenshots / "suspend-phone.png", full_page=True)
    # Wide things scroll in boxes of their own, the page only down.
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390


def test_without_scripts_the_text_is_there_and_no_room_for_pictures(chrome, demo):
    page = chrome.new_page(java_script_enabled=False)
    page.goto(demo.resolve().as_uri())
    assert page.locator("noscript p").is_visible()
    assert page.locator("#finding-1").is_visible()
    assert page.get_by_role("table", name="Discontinuities").first.is_visible()
    for drawn in (".frame", ".tools", ".key", ".show"):
        assert page.locator(drawn).count()
        assert not page.locator(drawn).first.is_visible(), drawn
    page.close()


def test_everything_has_a_name_for_those_who_do_not_see_it(visit, demo):
    page = visit(demo)
    for picture in page.locator("[role=img]").all():
        assert len(picture.get_attribute("aria-label")) > 40
    for button in page.locator("button").all():
        assert (button.get_attribute("aria-label") or button.text_content()).strip()
    assert page.locator("h1").count() == 1
    assert page.locator("html").get_attribute("lang") == "en"
    # From the top, the keyboard comes to the findings and to the first picture's buttons.
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
