"""The adapters of docs/python.md, as they stand there, asked for what every library is asked for.

Says each step on a line of its own. The upstream sends a stream's next part once the one before it was said.
"""

import json
import os
import re
import sys
import tempfile
from pathlib import Path

library, page, base_url, token, grant_id, api = sys.argv[1:]


def say(step, value):
    print(json.dumps([step, value]), flush=True)


blocks = re.findall(r"^```python\n(.*?)^```", Path(page).read_text(), re.S | re.M)
folder = tempfile.mkdtemp()
sys.path.insert(0, folder)
for block in blocks:
    named = re.match(r"# (\w+\.py)\n", block)
    if named:
        Path(folder, named[1]).write_text(block)
usage = next(block for block in blocks if "\nimport " + library + "\nfrom sallyport_" in block)
for theirs, ours in {"http://localhost:8787": base_url, "https://api.github.com/issues": api + "/items"}.items():
    assert theirs in usage, theirs
    usage = usage.replace(theirs, ours)
os.environ["SALLYPORT_AGENT_TOKEN"], os.environ["SALLYPORT_GRANT_ID"] = token, grant_id
example = {"print": lambda *_: None}
exec(usage, example)
say("example", example["issues"].json())
session = example.get("session") or example["client"]

found, url = [], api + "/items"
while url:
    answer = session.get(url)
    found += [item["name"] for item in answer.json()]
    url = answer.links.get("next", {}).get("url")
say("list", found)

say("upload", session.post(api + "/upload", files={"file": ("a.txt", b"hello")}).json()["uploaded"])
say("text", session.post(api + "/upload", data="hello").json()["uploaded"])
if library == "requests":
    say("joined", session.post(api + "/upload", data=iter([b"hel", b"lo"])).json()["uploaded"])

if library == "requests":
    with session.get(api + "/stream", stream=True) as answer:
        for line in answer.iter_lines(chunk_size=1):
            if line:
                say("part", line.decode())
    moved = session.get(api + "/moved#there")
else:
    with session.stream("GET", api + "/stream") as answer:
        for line in answer.iter_lines():
            if line.strip():
                say("part", line.strip())
    moved = session.get(api + "/moved#there", follow_redirects=True)
say("moved", [moved.status_code, str(moved.url).split("#")[0].removeprefix(api), moved.json()[0]["name"]])

try:
    session.get(api + "/hang", timeout=1)
    say("hang", "answered")
except Exception as error:
    say("hang", type(error).__name__)

refused = session.get("https://elsewhere.example/")
say("refused", [refused.status_code, refused.json()["error"]["code"], refused.headers["x-sallyport-error"]])
limited = session.get(api + "/limited")
say("limited", [limited.status_code, limited.headers["retry-after"]])

if library == "httpx":
    import asyncio

    async def ask():
        async with example["httpx"].AsyncClient(transport=type(session._transport)(base_url, token, grant_id)) as client:
            return (await client.get(api + "/items")).json()[0]["name"]

    say("async", asyncio.run(ask()))
