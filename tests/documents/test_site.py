"""The site of docs/: what its copy buttons copy, and its search in files on disk."""

import importlib.util
import shutil
import subprocess
import sys

import pytest
from documents import ROOT

from tools import console_blocks

pytest_plugins = ["browser"]

SHIM = ROOT / "docs" / "assets" / "iframe-worker.js"
WITH_MKDOCS = pytest.mark.skipif(
    importlib.util.find_spec("material") is None, reason="without the extra 'docs'"
)

BLOCK = (
    '<div class="language-{0} highlight"><pre><span></span><code>'
    '<span class="gp">$ </span>tracetime<span class="w"> </span>sql <span class="s2">&quot;a</span>\n'
    '<span class="go">  b&quot;</span>\n<span class="go">17 &lt; 18</span>\n'
    '<span class="gp">$ </span>true\n</code></pre></div>\n'
)


def test_a_console_block_is_copied_without_prompts_and_output():
    made = console_blocks.on_page_content("<p>a</p>" + BLOCK.format("console"), page=None)
    assert 'highlight" data-copy="tracetime sql &quot;a\n  b&quot;\ntrue"><pre>' in made
    assert made.startswith("<p>a</p>")


def test_a_command_is_coloured_in_all_its_lines_and_output_in_none():
    made = console_blocks.on_page_content(BLOCK.format("console"))
    assert '<span class="s2">"a</span>\n<span class="s2">  b"</span>\n' in made
    assert '<span class="go">17 &lt; 18</span>\n<span class="gp">$ </span>' in made


def test_a_block_of_output_has_no_copy_button_and_a_program_is_copied_whole():
    made = console_blocks.on_page_content(BLOCK.format("text") + BLOCK.format("python"))
    assert '<div class="language-text highlight no-copy">' in made
    assert made.endswith(BLOCK.format("python"))


def test_a_worker_runs_in_a_file_on_disk(tmp_path, chrome):
    """As Material for MkDocs uses it for the search: a message there, and the answer."""
    shutil.copy(SHIM, tmp_path)
    (tmp_path / "worker.js").write_text(
        "addEventListener('message', async event => postMessage(event.data.number + 1))"
    )
    (tmp_path / "page.html").write_text(
        "<html><head><script src='iframe-worker.js'></script></head><body></body></html>"
    )
    page = chrome.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    answer = page.evaluate(
        """() => new Promise(resolve => {
            const worker = new Worker(new URL("worker.js", location));
            worker.addEventListener("message", event => resolve(event.data));
            worker.postMessage({number: 41});
        })"""
    )
    assert answer == 42
    page.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, timeout=600)
    return folder


@WITH_MKDOCS
@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("recalibration", "vulkan.html"),
        ("calibrated timestamps", "vulkan.html"),
        ("slices", "reference/slices.html"),
        ("span", "howto/formats/spans.html"),
        ("to_clock", "howto/sql.html"),
        ("--tolerance", "findings"),
        ("realtime-set-back", "findings/realtime-set-back.html"),
    ],
)
def test_the_search_finds_a_page_from_disk(site, chrome, words, found):
    page = chrome.new_page()
    page.goto((site / "index.html").as_uri())
    page.locator(".md-search__input").first.fill(words)
    page.keyboard.press("End")  # the search listens to keys
    first = page.locator(".md-search-result__link").first
    first.wait_for(timeout=600_000)
    assert first.get_attribute("href").startswith((site / found).as_uri())
    page.close()


@WITH_MKDOCS
def test_the_copy_button_copies_commands_alone(site, chrome):
    context = chrome.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto((site / "howto" / "sql.html").as_uri())
    page.evaluate(
        "document.addEventListener('copy', () => { window.copied = String(getSelection()) })"
    )
    block = page.locator(".language-console.highlight").nth(1)
    block.hover()
    block.locator("[data-clipboard-target]").click()
    assert page.evaluate("window.copied") == (
        'echo "select kind, size_max_ns from discontinuities;" | tracetime sql demo/demo.pftrace'
    )
    context.close()
